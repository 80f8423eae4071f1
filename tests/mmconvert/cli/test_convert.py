"""`mmconvert convert` at the terminal: exit codes, the summary, options from a file."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import datasets
import pytest

from mmconvert.dataset.dataset import open_dataset
from mmconvert.dataset.verify import verify
from mmconvert.dataset.views import EVAL, PREFERENCE, VIEWS
from support.datasets_on_disk import record, write_dataset
from support.deferred import defer
from support.terminal import mmconvert, one_message

DEMO = Path(__file__).parents[3] / "src/mmconvert/testing/demo/files"
SUMMARY = {
    "format",
    "rows_read",
    "rows_written",
    "rows_rejected",
    "rows_undrawn",
    "rows_unmatched",
    "images",
    "bytes",
    "seconds",
    "output",
    "rejects",
    "splits",
    "warnings",
    "columns",
}


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A table with two good rows and a bad one, in the working folder."""
    monkeypatch.chdir(tmp_path)
    Path("a.tsv").write_text("id\tprediction\n1\ta\n2\tb\n3\t\n", encoding="utf-8")
    return "a.tsv"


def convert(*arguments: object):
    return mmconvert("convert", *arguments, "--format", "predictions")


def test_a_clean_run_ends_with_0_and_says_what_comes_next(tmp_path: Path) -> None:
    ended = mmconvert("convert", DEMO / "lmudata/Colours.tsv", "-o", tmp_path / "out", "--format", "lmudata")
    assert (ended.code, ended.err) == (0, "")
    first, *rest = ended.out.splitlines()
    assert f"{tmp_path}/out: 4 rows (test: 4), 4 images" in first
    assert rest == [
        f"  dataset:  load_dataset('{tmp_path}/out')",
        f"  next:     mmscore predict {tmp_path}/out -o predictions.parquet --model MODEL",
    ]
    assert len(datasets.load_dataset(str(tmp_path / "out"), split="test")) == 4


@pytest.mark.parametrize(("splits", "split"), [([""], "test"), (["a=", "train="], "train")])
@pytest.mark.parametrize("view", defer((view for view in VIEWS if view != EVAL), 2))
def test_after_a_training_view_comes_training(
    splits: list[str], split: str, view: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if view == PREFERENCE:
        file, name = "pairs.jsonl", "trl"
        Path(file).write_text('{"prompt": "Which?", "chosen": "Red.", "rejected": "Blue."}\n')
    else:
        file, name = "Colours.tsv", "lmudata"
        Path(file).write_bytes((DEMO / "lmudata/Colours.tsv").read_bytes())
    inputs = [f"{start}{file}" for start in splits]
    ended = mmconvert("convert", *inputs, "-o", "out", "--format", name, "--view", view)
    *_, dataset, following = ended.out.splitlines()
    assert dataset == "  dataset:  load_dataset('out')"
    assert following == f"  next:     train on it, in TRL: train_dataset=load_dataset('out')['{split}']"


@pytest.fixture
def shards_of_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dataset whose splits `train` and `test` have five and three rows, two in each shard."""
    with monkeypatch.context() as patch:
        patch.setattr("mmconvert.dataset.shards.SHARD_BYTES", 1)
        patch.setattr("mmconvert.dataset.shards.ROW_GROUP_BYTES", 1)
        patch.setattr("mmconvert.dataset.shards.BATCH_RECORDS", 2)
        patch.setattr("mmconvert.dataset.shards.estimate_memory", lambda record: 0)
        folder = write_dataset(tmp_path / "own", {"train": map(record, range(5)), "test": map(record, range(5, 8))})
    assert len([*folder.glob("data/*.parquet")]) == 5
    return folder


@pytest.mark.parametrize("workers", [1, 2])
def test_a_limit_counts_the_rows_of_a_split_whatever_its_shards(
    workers: int, shards_of_two: Path, tmp_path: Path
) -> None:
    ended = mmconvert("convert", shards_of_two, "-o", tmp_path / "few", "--limit", 3, "--workers", workers)
    assert (ended.code, ended.err) == (0, "")
    assert "6 rows (train: 3, test: 3)" in ended.out
    ids = [row.id for row in open_dataset(tmp_path / "few").records()]
    assert ids == ["0", "1", "2", "5", "6", "7"]
    manifest = json.loads((tmp_path / "few/.mmconvert/manifest.json").read_text())
    assert len(manifest["input"]) == 5


def test_a_limit_counts_what_transforms_make_of_whole_rows(shards_of_two: Path, tmp_path: Path) -> None:
    given = ["--limit", 4, "--transform", "duplicate:times=3"]
    ended = mmconvert("convert", shards_of_two, "-o", tmp_path / "few", *given)
    assert (ended.code, ended.err) == (0, "")
    assert "12 rows (train: 6, test: 6)" in ended.out


def test_refused_rows_end_with_3_unless_they_are_allowed(table: str) -> None:
    ended = convert(table, "-o", "out")
    assert ended.code == 3
    assert "skipped: a.tsv:4 prediction: the row has no prediction" in ended.out
    assert re.search(r"^  skipped:  1 of 3 rows, reasons in .*out\.rejects\.jsonl$", ended.out, re.MULTILINE)
    assert convert(table, "-o", "out", "--overwrite", "--allow-rejects").code == 0


def test_what_has_predictions_is_scored_next(table: str) -> None:
    ended = convert(table, "-o", "out")
    assert ended.out.splitlines()[-1] == "  next:     mmscore out"


def test_the_summary_has_exactly_its_keys(table: str) -> None:
    ended = convert(table, "-o", "out", "--json")
    summary = json.loads(ended.out)
    assert (ended.code, ended.err) == (3, "")
    assert set(summary) == SUMMARY
    seconds = summary.pop("seconds")
    assert 0 <= seconds < 60
    assert summary == {
        "format": "predictions",
        "rows_read": 3,
        "rows_unmatched": 0,
        "rows_undrawn": 0,
        "rows_written": 2,
        "columns": [],
        "rows_rejected": 1,
        "images": 0,
        "bytes": 0,
        "output": "out",
        "rejects": str(Path("out.rejects.jsonl").resolve()),
        "splits": {"test": 2},
        "warnings": [],
    }


def test_quiet_says_nothing(table: str) -> None:
    ended = convert(table, "-o", "out", "--quiet", "--allow-rejects")
    assert (ended.code, ended.out, ended.err) == (0, "", "")


def test_a_run_that_is_not_strict_publishes_and_a_strict_one_does_not(table: str) -> None:
    ended = convert(table, "-o", "out", "--on-bad", "fail")
    assert ended.code == 1
    assert one_message(ended).startswith("a.tsv:4 prediction: ")
    assert not Path("out").exists()


def test_options_come_from_a_file_and_flags_win(table: str) -> None:
    Path("run.yaml").write_text("output: out\nsplit: train\nlimit: 1\nallow-rejects: true\nformat: predictions\n")
    assert mmconvert("convert", table, "--options", "run.yaml").code == 0
    assert open_dataset("out").splits == {"train": 1}
    assert mmconvert("convert", table, "--options", "run.yaml", "--limit", "2", "-o", "two").code == 0
    assert open_dataset("two").splits == {"train": 2}


def test_an_option_that_is_not_known_to_the_command_is_met_with_the_nearest(table: str) -> None:
    Path("run.yaml").write_text("limt: 1\n")
    ended = convert(table, "-o", "out", "--options", "run.yaml")
    assert ended.code == 2
    assert one_message(ended) == "run.yaml: convert has no option 'limt'. Did you mean limit?"


def test_splits_and_configs_are_added(table: str) -> None:
    allowed = "--allow-rejects"
    assert convert(f"dev={table}", "-o", "out", allowed).code == 0
    assert convert(f"train={table}", "-o", "out", "--append", allowed).code == 0
    assert convert(table, "-o", "out", "--append", "--config-name", "zh", allowed).code == 0
    assert open_dataset("out", "default").splits == {"dev": 2, "train": 2}
    assert open_dataset("out", "zh").splits == {"test": 2}
    assert verify("out") == []
    ended = convert(table, "-o", "out", "--append", "--split", "dev")
    assert ended.code == 2
    assert "split 'dev' of config 'default' already exists" in one_message(ended)


def test_standard_input_is_an_input(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mmconvert", "convert", "-", "-o", "out", "--format", "predictions", "--json"]
    data = b"id,prediction\n1,a\n"
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    ended = subprocess.run(command, input=data, capture_output=True, cwd=tmp_path, env=environment, timeout=60)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["rows_written"] == 1
    assert next(open_dataset(tmp_path / "out").records()).source.file == "stdin.csv"
    assert list(temporary.iterdir()) == []


def test_a_folder_with_its_images_is_one_argument(tmp_path: Path) -> None:
    ended = mmconvert("convert", DEMO / "openai_messages", "-o", tmp_path / "out", "--format", "openai_messages")
    assert ended.code == 0, ended.err
    assert {record.subset for record in open_dataset(tmp_path / "out").records()} == {"colours", "requests"}


def test_a_format_of_the_users_is_named_by_its_file(table: str) -> None:
    Path("mine.py").write_text(
        "from dataclasses import replace\n"
        "from mmconvert.formats.predictions import FORMAT\n"
        "mine = replace(FORMAT, summary='Mine')\n"
    )
    ended = mmconvert("convert", table, "-o", "out", "--format", "mine.py@mine", "--allow-rejects", "--json")
    assert ended.code == 0
    assert next(open_dataset("out").records()).source.format == "mine"


def test_help_tells_of_every_option() -> None:
    ended = mmconvert("convert", "-h")
    assert ended.code == 0
    assert all(
        f"--{name}" in ended.out for name in ("on-bad", "rejects", "allow-empty", "verify", "max-rows", "options")
    )
