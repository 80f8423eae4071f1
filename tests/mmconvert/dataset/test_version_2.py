"""Datasets and predictions of schema version 2, made when it was released, are read as they were then."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import mmconvert
import mmscore
from mmconvert.dataset.manifest import MANIFEST

KEPT = Path(__file__).parents[2] / "data/version_2"
SETS = ("eval", "preference")


def list_rows(file: Path) -> list[dict[str, Any]]:
    """Read a parquet file as JSON has it; of bytes, their digest."""
    rows = pq.read_table(file).to_pylist()
    return json.loads(json.dumps(rows, default=lambda data: hashlib.sha256(data).hexdigest()))


def expect(name: str) -> list[dict[str, Any]]:
    return json.loads((KEPT / "rows.json").read_text("utf-8"))[name]


@pytest.mark.parametrize("name", SETS)
def test_a_dataset_gives_the_rows_that_were_written(name: str, tmp_path: Path) -> None:
    assert json.loads((KEPT / name / MANIFEST).read_text())["schema_version"] == 2
    assert mmconvert.verify(KEPT / name) == []
    assert mmconvert.convert(KEPT / name, tmp_path / "new").rows_rejected == 0
    (shard,) = (tmp_path / "new/data").glob("*.parquet")
    expected = expect(name)
    assert [{key: row[key] for key in expected[0]} for row in list_rows(shard)] == expected


def test_predictions_give_the_rows_and_the_score_that_they_had(tmp_path: Path) -> None:
    expected = expect("predictions")
    read = list_rows(KEPT / "predictions.parquet")
    assert [{key: row[key] for key in expected[0]} for row in read] == expected
    (entry,) = mmscore.score([str(KEPT / "predictions.parquet")]).entries
    assert (entry.recipe, entry.counts.scored, entry.metrics["accuracy"].value) == ("vlmevalkit_mcq", 4, 0.5)
    assert entry.counts.unparsed == 0


def test_a_dataset_is_exported(tmp_path: Path) -> None:
    assert mmconvert.export(KEPT / "eval", tmp_path / "q.tsv", to="vmcq").rows_written == 4
    done = mmconvert.export(KEPT / "preference", tmp_path / "pairs.json", to="alpaca_preference")
    assert done.rows_written == len(expect("preference"))
