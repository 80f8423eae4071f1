"""`--benchmark NAME` stands for the recipe of the catalogue, the dataset's name and the references."""

import base64
import json
from pathlib import Path

import pytest

import mmscore as package
from mmconvert.benchmarks.catalogue import Benchmark, BuiltByCode, JoinedTables, LocalTable, Url
from mmconvert.core.errors import UsageError
from support.datasets_on_disk import make_image
from support.named_benchmarks import catalogue_of
from support.predictions import choices, write_predictions
from support.terminal import mmscore, one_message

URL = "https://example.org/Colours.tsv"
IMAGE = base64.b64encode(make_image(1)).decode()
TABLE = f"index\tquestion\tA\tB\tanswer\timage\n1\tWhich?\tred\tblue\tA\t{IMAGE}\n2\tWhat?\tred\tblue\tB\t{IMAGE}\n"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "LMUData"
    folder.mkdir()
    monkeypatch.setenv("LMUData", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture
def bare(tmp_path: Path) -> str:
    """Predictions without references."""
    (tmp_path / "bare.tsv").write_text("id\tprediction\n1\tA\n2\tA\n")
    return "bare.tsv"


@pytest.fixture
def full(tmp_path: Path) -> str:
    """Predictions with references."""
    write_predictions(tmp_path / "full.parquet", choices(("A", "A"), ("B", "A"), ("C", "C")))
    return "full.parquet"


def entry(*arguments: object) -> dict[str, object]:
    ended = mmscore("score", *arguments, "--json")
    assert ended.code == 0, ended.err
    (found,) = json.loads(ended.out)["entries"]
    return found


def bench(name: str = "Colours", recipe: str | None = "vlmevalkit_mcq", **more: object) -> Benchmark:
    return Benchmark(name=name, recipe=recipe, **{"source": Url(URL), "format": "lmudata", **more})


def test_recipe_dataset_and_references_are_those_of_the_catalogue(root: Path, bare: str) -> None:
    (root / "Colours.tsv").write_text(TABLE)
    with catalogue_of(bench()):
        found = entry(bare, "--benchmark", "Colours")
        short = mmscore(bare, "--benchmark", "Colours")
    assert (found["recipe"], found["dataset"]) == ("vlmevalkit_mcq", "Colours")
    assert found["reason"] == "benchmark vlmevalkit:Colours"
    assert found["metrics"]["accuracy"]["value"] == 0.5
    assert short.code == 0, short.err


def test_references_of_the_file_are_its_own(root: Path, full: str) -> None:
    (root / "Colours.tsv").write_text(TABLE)
    with catalogue_of(bench()):
        found = entry(full, "--benchmark", "Colours")
    assert (found["metrics"]["accuracy"]["n"], found["counts"]["missing"]) == (3, 0)


def test_options_win_over_the_catalogue(root: Path, full: str) -> None:
    with catalogue_of(bench(recipe=None)):
        found = entry(full, "--benchmark", "Colours", "--recipe", "own_choice", "--dataset", "Mine")
    assert (found["recipe"], found["dataset"]) == ("own_choice", "Mine")


def test_python_takes_it_too(root: Path, full: str) -> None:
    with catalogue_of(bench()):
        report = package.score(full, benchmark="Colours")
    assert report.entries[0].recipe == "vlmevalkit_mcq"


def test_a_benchmark_without_a_recipe_names_those_that_fit(root: Path, full: str) -> None:
    with catalogue_of(bench(recipe=None, rule="colours.py:Colours.evaluate")):
        message = one_message(mmscore("score", full, "--benchmark", "Colours"), "mmscore")
    assert message == (
        "vlmevalkit:Colours: no recipe reproduces VLMEvalKit's rule for it (colours.py:Colours.evaluate) yet. "
        "Choose with --recipe: own_choice."
    )


def test_every_benchmark_without_a_recipe_says_so(root: Path, full: str) -> None:
    message = one_message(mmscore("score", full, "--benchmark", "lmms:mmstar"), "mmscore")
    assert message.startswith("lmms_eval:mmstar: no recipe reproduces lmms-eval's rule for it")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "--answers FILE. Or: vlmevalkit:Colours: {root}/Colours.tsv is missing. Fetch it (mmconvert"),
        ({"answers": False}, "has no references, and those of vlmevalkit:Colours are not public"),
        ({"source": BuiltByCode()}, "VLMEvalKit's own code builds its data"),
        ({"source": JoinedTables(("One", "Two"))}, "are in 2 files. Convert it (mmconvert convert Colours -o DIR)"),
    ],
)
def test_references_that_are_not_here_say_what_to_do(more: dict[str, object], said: str, root: Path, bare: str) -> None:
    for name in ("One", "Two"):
        (root / f"{name}.tsv").write_text(TABLE)
    with catalogue_of(bench(**more), bench("One", source=LocalTable()), bench("Two", source=LocalTable())):
        message = one_message(mmscore("score", bare, "--benchmark", "Colours"), "mmscore")
    assert said.replace("{root}", str(root)) in message


def test_an_unknown_name_is_met_with_the_nearest(root: Path, full: str) -> None:
    with pytest.raises(UsageError, match=r"Did you mean MMStar\?"):
        package.score(full, benchmark="MMStarr")


def test_a_judge_is_estimated_for_it(root: Path, full: str) -> None:
    with catalogue_of(bench()):
        ended = mmscore("score", full, "--benchmark", "Colours", "--judge", "vlmevalkit_option", "--dry-run", "--json")
    assert ended.code == 0, ended.err
    assert "vlmevalkit_mcq" in ended.out


def test_the_next_command_is_left_out_for_nobody_else_takes_the_name(root: Path, full: str, tmp_path: Path) -> None:
    with catalogue_of(bench()):
        ended = mmscore("score", full, "--benchmark", "Colours", "--csv", tmp_path / "t.csv")
        other = mmscore("score", full, "--csv", tmp_path / "u.csv")
    assert "explain" in other.err
    assert "explain" not in ended.err
