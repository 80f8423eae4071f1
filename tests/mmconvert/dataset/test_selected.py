"""A dataset read as if only the rows that match a condition were there, for `predict` and `score`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import mmconvert
import mmscore
from mmconvert.core.errors import Error
from mmconvert.dataset.dataset import open_dataset
from mmconvert.dataset.selected import select_rows


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    rows = [
        {"id": str(i), "question": f"Is {i} even?", "answer": "Yes" if i % 2 == 0 else "No", "category": "abc"[i % 3]}
        for i in range(600)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    mmconvert.convert(tmp_path / "rows.jsonl", tmp_path / "d", task="yes_no")
    return tmp_path / "d"


def test_sees_the_rows_that_match_alone(dataset: Path) -> None:
    whole = open_dataset(dataset)
    selected = select_rows(whole, "category = 'b' and source.row < 301")
    ids = [record.id for record in selected.records()]
    assert ids == [record.id for record in whole.records() if record.category == "b" and record.source.row < 301]
    assert selected.num_rows == len(ids) == 100
    # Columns that only the condition looks at are not given.
    assert {tuple(batch.schema.names) for batch in selected.batches(["answer", "id"])} == {("answer", "id")}
    assert [row for batch in selected.batches(["id"], first=70) for row in batch["id"].to_pylist()] == ids[70:]
    assert selected.fingerprint != whole.fingerprint != select_rows(whole, "category = 'a'").fingerprint
    with pytest.raises(Error, match="none of 600 rows matches"):
        select_rows(whole, "width > 1")


def _say_yes(records: Sequence[Any]) -> list[str]:
    return ["Yes"] * len(records)


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({"where": "category = 'b'"}, """--where "category = 'b'\""""),
        ({"sample": 50, "limit": 300}, "--limit 300 --sample 50"),
        ({}, None),
    ],
)
def test_scores_of_a_part_of_the_input_say_so(
    options: dict[str, Any], shown: str | None, dataset: Path, tmp_path: Path
) -> None:
    mmconvert.convert(dataset, tmp_path / "part", **options)
    mmscore.predict(tmp_path / "part", tmp_path / "p.parquet", model="yes", backend=_say_yes)
    (entry,) = mmscore.score(tmp_path / "p.parquet").entries
    assert entry.partial == (shown is not None)
    said = [message for message in entry.messages if "was converted with" in message]
    assert said == [
        f"{tmp_path / 'p.parquet'}: its dataset was converted with {shown}: its scores are of a part of the input."
    ] * (shown is not None)


def test_predicts_and_scores_the_rows_that_match(dataset: Path, tmp_path: Path) -> None:
    done = mmscore.predict(dataset, tmp_path / "p.parquet", model="yes", backend=_say_yes, where="category = 'b'")
    assert done.rows == 200
    table = pq.read_table(tmp_path / "p.parquet")
    assert table["category"].to_pylist() == ["b"] * 200
    about = json.loads(table.schema.metadata[b"mmscore.run"])
    assert (about["partial"], about["where"], about["dataset_rows"]) == (True, "category = 'b'", 600)
    (whole,) = mmscore.score(tmp_path / "p.parquet").entries
    assert whole.partial
    (said,) = whole.messages
    assert said.endswith("""predicted with --where "category = 'b'": its scores are of a part of the dataset.""")
    where = "category != 'a' and source.row < 60"
    # Of the questions without a prediction those that match are missing.
    report = mmscore.score(tmp_path / "p.parquet", answers=dataset, where=where)
    (entry,) = report.entries
    assert (entry.counts.scored, entry.counts.missing) == (20, 20)
    assert entry.partial
    assert any(f"20 of 200 rows match --where {where!r}" in message for message in entry.messages)
    with pytest.raises(Error, match="none of 200 rows matches"):
        mmscore.score(tmp_path / "p.parquet", where="category = 'z'")
    with pytest.raises(Error, match="has no column images"):
        mmscore.score(tmp_path / "p.parquet", where="bytes > 3")
