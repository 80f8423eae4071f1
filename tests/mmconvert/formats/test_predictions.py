"""Predictions as a table: what is written under each suffix is what it says it is, and reads back equal."""

import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from mmconvert.core.errors import Error
from mmconvert.core.record import to_arrow
from mmconvert.pipeline.convert import read, write
from mmconvert.plugins.format import Target
from mmscore.core.predictions.load import open_rows
from support.datasets_on_disk import record

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


def test_a_predictions_file_of_ours_is_known_and_keeps_its_extra(tmp_path: Path) -> None:
    ours = pa.Table.from_batches([to_arrow([record(1)])]).drop_columns(["images", "image_info", "attachments"])
    ours = ours.set_column(ours.schema.get_field_index("extra"), "extra", pa.array(['{"seen": [1]}']))
    ours = ours.set_column(ours.schema.get_field_index("prediction"), "prediction", pa.array(["A"]))
    pq.write_table(ours.append_column("prediction_status", pa.array(["ok"])), tmp_path / "p.parquet")
    records = read(tmp_path / "p.parquet")
    (back,) = records
    assert records.format == "predictions"
    assert (back.prediction, back.extra) == ("A", {"seen": [1], "prediction_status": "ok"})


def test_an_extra_that_is_no_object_of_ours_is_a_field(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": "a", "prediction": "x", "extra": "{not json"}\n')
    assert [record.extra for record in read(path, "predictions")] == [{"extra": "{not json"}]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_letter_columns_are_options_where_there_is_no_column_of_that_name(suffix: str, tmp_path: Path) -> None:
    rows = [
        {"id": "1", "A": "red", "B": "blue", "C": "", "E": "note", "answer": "B", "prediction": "B"},
        {"id": "2", "A": "1", "B": "", "C": "3", "E": "note", "answer": "C", "prediction": "A"},
    ]
    file = tmp_path / f"p{suffix}"
    if suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), file)
    elif suffix == ".csv":
        file.write_text("\n".join(",".join(cells) for cells in (rows[0], *(row.values() for row in rows))) + "\n")
    else:
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = list(read(file))
    assert [(one.options, one.task, one.extra) for one in found] == [
        (("red", "blue"), "multiple_choice", {"E": "note"}),
        (("1", None, "3"), "multiple_choice", {"E": "note"}),
    ]
    batches = open_rows(file).read(["options", "answer"])
    assert [row for batch in batches for row in batch.to_pylist()] == [
        {"options": ["red", "blue"], "answer": "B"}, {"options": ["1", None, "3"], "answer": "C"},
    ]  # fmt: skip


def test_letter_columns_beside_options_stay_fields(tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    file.write_text('{"id": "1", "A": "x", "B": "y", "options": ["red", "blue"], "prediction": "B"}\n')
    (found,) = read(file)
    assert (found.options, found.extra) == (("red", "blue"), {"A": "x", "B": "y"})


@pytest.mark.parametrize(
    ("ids", "wanted"),
    [
        (pa.array([1.0, 2.0]), ["id.type"] * 2),
        (pa.array([1.0, None]), ["id.type", "id.missing"]),
        (pa.array([Decimal("1.0"), Decimal("2.5")]), ["id.type"] * 2),
        (pa.array([True, False]), ["id.type"] * 2),
        (pa.array([Decimal(1), Decimal(2)], pa.decimal128(38, 0)), ["1", "2"]),
        (pa.array([1, (1 << 64) - 1], pa.uint64()), ["1", "18446744073709551615"]),
    ],
)
def test_an_id_is_a_text_or_a_whole_number(ids: pa.Array, wanted: list[str], tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ids, "prediction": ["x", "y"]}), tmp_path / "p.parquet")
    records = read(tmp_path / "p.parquet", "predictions")
    found = [record.id for record in records]
    assert (found or [reject.code for reject in records.rejects]) == wanted


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("ns"), pa.duration("s"), pa.binary(1), pa.large_binary()])
@pytest.mark.parametrize("name", ["id", "prediction"])
def test_a_column_that_counts_and_is_no_text_refuses_the_file(name: str, kind: pa.DataType, tmp_path: Path) -> None:
    columns = {"id": pa.array(["a"]), "prediction": pa.array(["x"]), name: pa.nulls(1, kind)}
    pq.write_table(pa.table(columns), tmp_path / "p.parquet")
    with pytest.raises(Error, match=f"{name}: expected texts or numbers"):
        list(read(tmp_path / "p.parquet", "predictions"))


@pytest.mark.parametrize(
    ("answer", "said"),
    [(pa.array([b"x"]), "answer.type"), (pa.array([Decimal("1.50")]), "1.50"), (pa.array([[Decimal("2")]]), "2")],
)
def test_an_answer_that_json_does_not_know_is_its_text_or_refuses_the_row(
    answer: pa.Array, said: str, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"id": ["a"], "prediction": ["x"], "answer": answer}), tmp_path / "p.parquet")
    records = read(tmp_path / "p.parquet", "predictions")
    assert [record.answer for record in records] + [reject.code for reject in records.rejects] == [said]


def test_a_round_is_a_whole_number(tmp_path: Path) -> None:
    rows = [{"id": str(number), "prediction": "x", "round": number} for number in (1.0, 1.5)]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    records = read(tmp_path / "p.jsonl", "predictions")
    assert [record.round for record in records] == [1]
    assert [reject.code for reject in records.rejects] == ["round.type"]


def test_a_single_option_is_no_choice_unless_a_framework_scores_it(tmp_path: Path) -> None:
    row = {"id": "a", "prediction": "A", "A": "red", "B": ""}
    (tmp_path / "p.jsonl").write_text(json.dumps(row) + "\n")
    refused = read(tmp_path / "p.jsonl", "predictions")
    assert (list(refused), refused.rejects[0].code) == ([], "options.count")
    (scored,) = read(tmp_path / "p.jsonl", "predictions", for_scoring=True)
    assert scored.options == ("red",)
