"""Datasets and predictions of schema version 1, made by the code of that time, are read by everything."""

import json
import shutil
from pathlib import Path

import datasets
import pyarrow.parquet as pq
import pytest

import mmconvert
import mmscore
from mmconvert.core.errors import Error, UsageError
from mmconvert.core.record import SCHEMA, SCHEMA_VERSION, Record, from_arrow
from mmconvert.dataset.manifest import MANIFEST
from mmscore.core.predictions.load import open_rows

OLD = Path(__file__).parents[2] / "data/version_1"
QUESTIONS, CHAT, PREDICTIONS = OLD / "eval", OLD / "prompt_completion", OLD / "predictions.parquet"


def test_the_fixtures_are_of_version_1() -> None:
    for folder in (QUESTIONS, CHAT):
        assert json.loads((folder / MANIFEST).read_text())["schema_version"] == 1
    names = pq.read_schema(PREDICTIONS).names
    assert "preference" not in names
    assert {field.name for field in pq.read_schema(PREDICTIONS).field("source").type} == {"format", "file", "row"}


@pytest.mark.parametrize("folder", [QUESTIONS, CHAT], ids=["eval", "prompt-completion"])
def test_a_dataset_opens_verifies_and_converts_anew(folder: Path, tmp_path: Path) -> None:
    assert mmconvert.verify(folder) == []
    old = list(mmconvert.open_dataset(folder).records())
    assert all(record.source.numbered is None and record.preference is None for record in old)
    assert all(image.time is None and image.source_name is None for record in old for image in record.images)
    done = mmconvert.convert(folder, tmp_path / "new")
    assert (done.rows_written, done.rows_rejected) == (len(old), 0)
    new = mmconvert.open_dataset(tmp_path / "new")
    assert list(new.records()) == old
    assert pq.read_schema(new.files["test"][0]).equals(SCHEMA)
    assert json.loads((tmp_path / "new" / MANIFEST).read_text())["schema_version"] == SCHEMA_VERSION
    assert datasets.load_dataset(str(folder))["test"].num_rows == len(old)


def test_a_dataset_exports(tmp_path: Path) -> None:
    assert mmconvert.export(QUESTIONS, tmp_path / "q.tsv", to="vmcq").rows_written == 4
    chat = mmconvert.export(CHAT, tmp_path / "c.jsonl", to="ms_swift")
    assert (chat.rows_written, chat.losses) == (3, [])


def test_a_dataset_is_shown(tmp_path: Path) -> None:
    shown = mmconvert.preview([str(QUESTIONS)], tmp_path / "q.html")
    assert (shown.records, shown.refused) == (4, 0)


def test_a_dataset_is_checked_for_a_push(tmp_path: Path) -> None:
    shutil.copytree(QUESTIONS, tmp_path / "old")
    assert mmconvert.push(tmp_path / "old", "user/old", dry_run=True)["rows"] == 4


def test_a_dataset_is_asked_about_and_scored(tmp_path: Path) -> None:
    asked = mmscore.predict(QUESTIONS, tmp_path / "p.parquet", model="prompt", backend="echo")
    assert (asked.rows, asked.failed) == (4, 0)
    (now,) = pq.read_table(tmp_path / "p.parquet", columns=["prediction"]).columns
    assert now.equals(pq.read_table(PREDICTIONS, columns=["prediction"]).column(0))
    assert pq.read_table(tmp_path / "p.parquet")["source"].combine_chunks().field("numbered").null_count == 4
    for answers in (None, str(QUESTIONS)):
        report = mmscore.score([str(tmp_path / "p.parquet")], answers=answers)
        assert report.entries[0].metrics["accuracy:mean"].value == 0.25


@pytest.mark.parametrize("answers", [None, QUESTIONS])
def test_predictions_are_scored(answers: Path | None) -> None:
    report = mmscore.score([str(PREDICTIONS)], answers=None if answers is None else str(answers))
    (entry,) = report.entries
    assert (entry.counts.scored, entry.metrics["accuracy:mean"].value) == (4, 0.25)


def test_predictions_are_read_column_by_column() -> None:
    rows = open_rows(PREDICTIONS)
    (batch,) = rows.read(["source", "source.numbered", "source.row"])
    assert batch["source"].type == SCHEMA.field("source").type
    assert batch["source.numbered"].null_count == len(rows) == 4
    assert batch["source.row"].to_pylist() == ["0", "1", "2", "3"]


def test_predictions_come_back_as_records() -> None:
    (batch,) = pq.ParquetFile(PREDICTIONS).iter_batches()
    records: list[Record] = list(from_arrow(batch))
    assert [record.preference for record in records] == [None] * 4


def test_nothing_is_appended_to_it(tmp_path: Path) -> None:
    shutil.copytree(QUESTIONS, tmp_path / "old")
    source = tmp_path / "more.jsonl"
    source.write_text(json.dumps({"messages": [{"role": "user", "content": "Why?"}], "answer": "So."}) + "\n")
    with pytest.raises(UsageError, match=r"version 1, and version 2 is written\. Convert it again first: mmconvert"):
        mmconvert.convert(source, tmp_path / "old", split="more", append=True)
    assert mmconvert.verify(tmp_path / "old") == []


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    shutil.copytree(QUESTIONS, tmp_path / "next")
    manifest = json.loads((tmp_path / "next" / MANIFEST).read_text()) | {"schema_version": SCHEMA_VERSION + 1}
    (tmp_path / "next" / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(Error, match="this program knows 2"):
        mmconvert.open_dataset(tmp_path / "next")
