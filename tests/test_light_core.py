"""What works with the base package alone, and what a missing extra says."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from mmconvert.storage import object_store

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
HIDDEN = (
    "scipy",
    "nltk",
    "jieba",
    "rapidfuzz",
    "tabulate",
    "xlsxwriter",
    "torch",
    "transformers",
    "plotly",
    "ray",
    "av",
)
HIDE = f"import sys; sys.modules.update(dict.fromkeys({HIDDEN!r}));"


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-W", "ignore", "-c", f"{HIDE}\n{code}"], capture_output=True, text=True)


def command(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return run(f"sys.argv = {[program, *map(str, arguments)]!r}\nfrom {program}.cli import main\nmain()")


def test_everything_is_listed_and_loaded_without_extras() -> None:
    code = """
from mmconvert.plugins.registry import GROUPS, load, find_plugins
for group in GROUPS:
    for name in find_plugins(group):
        if name not in ("ray", "transformers"):
            load(group, name)
"""
    done = run(code)
    assert (done.returncode, done.stderr) == (0, "")


def test_choices_are_converted_predicted_and_scored_without_extras(tmp_path: Path) -> None:
    for program, *arguments in (
        ("mmconvert", "demo", "--files-only", tmp_path / "demo"),
        ("mmconvert", "convert", tmp_path / "demo/files/vmcq/colours.tsv", "-o", tmp_path / "data"),
        ("mmconvert", "preview", tmp_path / "data", "-o", tmp_path / "page.html"),
        (
            "mmscore",
            "predict",
            tmp_path / "data",
            "-o",
            tmp_path / "p.parquet",
            "--backend",
            "echo",
            "--model",
            "answer",
        ),
        ("mmscore", "score", tmp_path / "p.parquet", "--recipe", "vlmevalkit_mcq"),
    ):
        done = command(program, *arguments)
        assert done.returncode == 0, done.stderr
    assert "100.0 %" in done.stdout


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("from mmscore.nlp.edit_distance import compute_edit_distance as f; f('a', 'b')", "rapidfuzz"),
        ("from mmscore.nlp.evalscope_tokens import split_english_words as f; f('it isn\\'t; so.')", "nltk"),
        ("from mmscore.nlp.evalscope_tokens import split_chinese_words as f; f('一只猫')", "jieba"),
        ("from mmscore.kits.evalscope.text_grid import draw_table as f; f([['a']])", "tabulate"),
    ],
)
def test_a_missing_package_names_the_extra(code: str, message: str) -> None:
    done = run(code)
    assert f'needs the package {message}. Install it: pip install "mmconvert[score]"' in done.stderr
    assert message in {need.partition(">")[0] for need in PROJECT["optional-dependencies"]["score"]}


@pytest.mark.parametrize("scheme", object_store.EXTRAS)
def test_a_store_names_its_extra(scheme: str) -> None:
    extra = object_store.EXTRAS[scheme]
    [need] = PROJECT["optional-dependencies"][extra]
    hidden = f"sys.modules[{need.partition('>')[0]!r}] = None"
    arguments = ["mmconvert", "inspect", f"{scheme}://bucket/in.tsv"]
    done = run(f"{hidden}\nsys.argv = {arguments!r}\nfrom mmconvert.cli import main\nmain()")
    message = f'in.tsv: the package for such URLs is missing. Install it: pip install "mmconvert[{extra}]"'
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr


def test_a_workbook_names_its_extra(tmp_path: Path) -> None:
    assert command("mmconvert", "demo", "--files-only", tmp_path / "demo").returncode == 0
    source, target = tmp_path / "demo/files/vmcq/colours.tsv", tmp_path / "out.xlsx"
    assert command("mmconvert", "convert", source, "-o", tmp_path / "data").returncode == 0
    done = command("mmconvert", "export", tmp_path / "data", "--to", "mmbench", "-o", target)
    assert 'needs the package xlsxwriter. Install it: pip install "mmconvert[xlsx]"' in done.stderr
    assert (done.returncode, target.exists()) == (2, False)
