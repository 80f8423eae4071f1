"""Predictions as a table: what is written under each suffix is what it says it is, and reads back equal."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mmconvert.convert import read, write
from mmconvert.format import Target

ROWS = [
    {"id": "a", "question": "2 + 2?", "options": ["4", "5"], "answer": "A", "prediction": "A", "variant": 1},
    {"id": "b", "answers": ["x", "y"], "answer": "x", "prediction": "x", "note": "007"},
]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet", ".tsv", ".csv"])
def test_every_suffix_is_written_as_what_it_is(suffix: str, source: Path, tmp_path: Path) -> None:
    path = tmp_path / f"again{suffix}"
    assert write(read(source, "predictions"), Target(path), "predictions") == []
    again = list(read(path, "predictions"))
    for before, after in zip(read(source, "predictions"), again, strict=True):
        same = replace(before, source=after.source)
        assert after == same
    if suffix == ".parquet":
        assert pq.read_schema(path).names[:2] == ["id", "prediction"]


def test_an_answer_of_no_words_is_a_loss_in_tables_only(source: Path, tmp_path: Path) -> None:
    records = [replace(record, prediction="") for record in read(source, "predictions")]
    assert write(records, Target(tmp_path / "a.parquet"), "predictions") == []
    assert [record.prediction for record in read(tmp_path / "a.parquet", "predictions")] == ["", ""]
    losses = write(records, Target(tmp_path / "a.tsv"), "predictions")
    assert {(loss.id, loss.field) for loss in losses} == {("a", "prediction"), ("b", "prediction")}
