"""What users import: names and signatures. A change here is a change for users, and stands in the CHANGELOG."""

import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

from mmconvert.core.signature_checks import read_keywords

PUBLIC = Path(__file__).parent / "data" / "public_names.txt"
USER = """
from pathlib import Path

import mmconvert
import mmscore


def main(table: Path) -> None:
    summary: mmconvert.Summary = mmconvert.convert(table, "data", format="lmudata", image_root=["a", "b"])
    rows: int = summary.rows_written
    problems: list[str] = mmconvert.check([table]).problems
    written: mmconvert.Exported = mmconvert.export("data", "again.tsv", to="lmudata", images="inline")
    faults: list[str] = mmconvert.verify("data")
    dataset: mmconvert.Dataset = mmconvert.open_dataset("data")
    detected: str = mmconvert.inspect(table, format="lmudata")[0].format
    plugins: list[str] = [one.name for one in mmconvert.list_plugins("formats")["formats"]]
    page_of: str = mmconvert.preview(table, "page.html", rows=3).output
    for record in dataset.records():
        record.id.upper()
    answered: mmscore.Summary = mmscore.predict("data", "p.parquet", model="m", backend="echo", max_new_tokens=8)
    report: mmscore.Report = mmscore.score("p.parquet", "own_choice", by="category")
    judged: mmscore.Report = mmscore.judge("p.parquet", mmscore.JudgeRequest("own"), average="macro")
    for entry in report.entries:
        number: float = entry.metrics["accuracy"].value
    difference: mmscore.Comparison = mmscore.compare("p.parquet", "q.parquet", recipe="own_choice", resamples=500)
    rules: mmscore.Explanation = mmscore.explain("p.parquet", recipe=["own_choice"])
    ranked: mmscore.Ranking = mmscore.rank(["p.parquet", "q.parquet"], by="dataset")
    complete: bool = mmscore.submit("p.parquet", "s.xlsx", to="mmbench").complete
    made: mmscore.Bundle = mmscore.bundle("p.parquet", "bundle", recipe="own_choice")
    wrong: tuple[str, ...] = mmscore.verify("bundle").faults
    report.to_pandas("groups")
    report.plot(by="category")
    page: str = mmscore.push("p.parquet", "USER/REPO", "own_choice", by="category", dry_run=True)["repo"]
    for outcome in mmscore.run({"datasets": ["data"]}):
        status: str = outcome.status
    try:
        mmconvert.push("data", "USER/REPO", dry_run=True)
    except mmconvert.Error as error:
        str(error)
"""
UNREAD = (
    "torch transformers accelerate tokenizers datasets scipy nltk PIL huggingface_hub plotly fsspec httpx2 rich yaml"
)
"""Packages whose types nobody needs to check a program of a user, and which take mypy most of its time."""
WRONG = {
    'mmconvert.convert("a", "b", fromat="x")': "fromat",
    'mmconvert.convert("a", "b", limit="x")': "limit",
    'mmconvert.convert("a", "b", view="stf")': "view",
    'mmconvert.preview("a", "b", row=3)': "row",
    'mmscore.predict("a", "b", temprature=1)': "temprature",
    'mmscore.score("a").to_pandas("row")': "to_pandas",
    'mmscore.judge("a", "own", by=3)': "by",
    "mmscore.run(3)": "run",
    'mmscore.compare("a", "b", seed="x")': "seed",
}


def described(package: str) -> list[str]:
    """One line for each public name: of a function what it takes, of a class its public members."""
    module = importlib.import_module(package)
    lines = []
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.isclass(thing):
            members = sorted(member for member in dir(thing) if not member.startswith("_") or member == "_repr_html_")
            fields = [] if issubclass(thing, Exception) else [m for m in members if m not in dir(Exception)]
            lines.append(f"{package}.{name}: {', '.join(fields)}".rstrip(": "))
        else:
            parameters = [p for p in inspect.signature(thing).parameters.values() if p.kind is not p.VAR_KEYWORD]
            own = [f"{p.name}" + ("" if p.default is p.empty else f"={p.default!r}") for p in parameters]
            more = [key for key in read_keywords(thing) if key not in {p.name for p in parameters}]
            lines.append(f"{package}.{name}({', '.join([*own, *more])})")
    return lines


def test_names_and_signatures_are_those_that_users_know() -> None:
    current = "\n".join([*described("mmconvert"), *described("mmscore")]) + "\n"
    assert PUBLIC.read_text() == current, f"public names have changed: if that is meant, write {PUBLIC.name} again"


@pytest.mark.parametrize("package", ["mmconvert", "mmscore"])
@pytest.mark.slow
def test_the_package_loads_nothing_and_knows_its_names(package: str) -> None:
    code = (
        f"import sys, {package}\n"
        "assert not {'pyarrow', 'click', 'rich'} & set(sys.modules), 'loaded too early'\n"
        f"assert set({package}.__all__) <= set(dir({package}))\n"
        f"assert all(getattr({package}, name) is not None for name in {package}.__all__)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        importlib.import_module(package).nothing_of_the_kind  # noqa: B018


@pytest.mark.parametrize("package", ["mmconvert", "mmscore"])
def test_no_module_takes_the_place_of_a_public_name(package: str) -> None:
    module = importlib.import_module(package)
    assert not {found.name for found in pkgutil.iter_modules(module.__path__)} & set(module.__all__)


@pytest.mark.slow
@pytest.mark.release
def test_a_program_of_a_user_is_typed(tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(USER)
    wrong = "\n".join(WRONG)
    (tmp_path / "wrong.py").write_text(f"import mmconvert\nimport mmscore\n{wrong}\n")
    unread = ",".join(f"{name}.*" for name in UNREAD.split())
    (tmp_path / "mypy.ini").write_text(f"[mypy]\nstrict = true\n[mypy-{unread}]\nfollow_imports = skip\n")
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "user.py", "wrong.py"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    said = ended.stdout.splitlines()
    assert [line for line in said if line.startswith("user.py")] == []
    for number, (code, word) in enumerate(WRONG.items(), 3):
        found = [line for line in said if line.startswith(f"wrong.py:{number}:")]
        assert found, f"mypy lets pass: {code}"
        assert any(word in line for line in found)
