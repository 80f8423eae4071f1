import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmconvert.core.errors import Error
from mmscore.core.predictions.join import join, read_unmatched
from mmscore.core.predictions.load import FORMAT, open_rows
from support.predictions import write_predictions

QUESTIONS = [{"id": n, "answer": n.upper(), "sample": n, "variant": 0} for n in "abc"]


def _joined(tmp_path, predictions, questions=QUESTIONS):
    return join(
        open_rows(write_predictions(tmp_path / "p.parquet", predictions)),
        open_rows(write_predictions(tmp_path / "q.parquet", questions), required=("id",)),
    )


def _columns(rows, *names):
    table = [batch.to_pydict() for batch in rows.read(names)]
    return [tuple(row) for batch in table for row in zip(*(batch[name] for name in names), strict=True)]


def test_references_come_in_the_order_of_the_predictions(tmp_path):
    rows = _joined(tmp_path, [{"id": "c", "prediction": "1"}, {"id": "a", "prediction": "2"}])
    assert _columns(rows, "answer", "id", "prediction") == [("C", "c", "1"), ("A", "a", "2")]
    assert rows.missing == ("b",)


def test_a_prediction_without_a_question_is_rejected(tmp_path):
    rows = _joined(tmp_path, [{"id": "zz", "prediction": "1"}, {"id": "a", "prediction": "2"}])
    assert _columns(rows, "id", "answer") == [("a", "A")]
    assert [refusal.id for refusal in rows.rejected] == ["zz"]
    assert len(rows) == 1


def test_sample_and_variant_join_where_ids_differ(tmp_path):
    rows = _joined(tmp_path, [{"id": "other", "sample": "b", "variant": 0, "prediction": "1"}])
    assert _columns(rows, "answer") == [("B",)]


def test_the_dataset_wins_over_what_the_predictions_say_of_the_question(tmp_path):
    rows = _joined(tmp_path, [{"id": "a", "prediction": "1", "answer": "wrong", "note": "kept", "model": "m"}])
    assert _columns(rows, "answer", "note") == [("A", "kept")]
    assert rows.list_distinct("model") == ["m"]


def test_unrelated_files_are_refused(tmp_path):
    with pytest.raises(Error, match="none of the ids"):
        _joined(tmp_path, [{"id": "x", "prediction": "1"}])


def test_what_a_dataset_says_of_answers_is_not_taken_for_the_predictions(tmp_path):
    questions = [{**row, "model": "teacher", "method": "generate", "prediction_status": "failed"} for row in QUESTIONS]
    rows = _joined(tmp_path, [{"id": "a", "prediction": "1"}], questions)
    assert not rows.names & {"model", "method", "prediction_status"}
    assert rows.list_distinct("model") == []
    assert _columns(rows, "id", "answer", "prediction") == [("a", "A", "1")]


def test_several_replies_find_the_one_row_of_their_question_and_keep_their_variants(tmp_path):
    questions = [{"id": n, "answer": n.upper(), "sample": n, "variant": None} for n in "abc"]
    replies = [{"id": f"{s}#{v}", "sample": s, "variant": v, "prediction": str(v)} for s in "ca" for v in (0, 1)]
    rows = _joined(tmp_path, replies, questions)
    assert _columns(rows, "id", "answer", "variant", "prediction") == [
        ("c#0", "C", 0, "0"), ("c#1", "C", 1, "1"), ("a#0", "A", 0, "0"), ("a#1", "A", 1, "1"),
    ]  # fmt: skip
    assert rows.identity["variant"].to_pylist() == [0, 1, 0, 1]
    assert rows.missing == ("b",)


def test_a_row_without_variant_does_not_find_a_question_by_its_sample_alone(tmp_path):
    questions = [{"id": n, "answer": n.upper(), "sample": n, "variant": None} for n in "ab"]
    replies = [
        {"id": "a", "sample": "a", "variant": None, "prediction": "1"},
        {"id": "x", "sample": "q", "variant": 0, "prediction": "1"},
    ]
    rows = _joined(tmp_path, replies, questions)
    assert [refusal.id for refusal in rows.rejected] == ["x"]


def test_a_sample_that_several_questions_have_tells_nothing(tmp_path):
    questions = [{"id": f"{s}-0", "answer": s, "sample": "0", "variant": None} for s in ("easy", "hard")]
    replies = [{"id": f"0#{v}", "sample": "0", "variant": v, "prediction": "1"} for v in (0, 1)]
    with pytest.raises(Error, match="none of the ids"):
        _joined(tmp_path, replies, questions)


def test_what_only_the_predictions_say_of_a_question_stays(tmp_path):
    questions = [
        {"id": "a", "category": None, "options": [], "extra": '{"year": 1, "from": "dataset"}', "round": 3},
        {"id": "b", "category": "own", "options": ["x"], "extra": "{}", "round": None},
    ]
    replies = [
        {"id": "b", "prediction": "1", "category": "log", "options": ["y"], "extra": '{"lat": 2}', "round": 1},
        {"id": "a", "prediction": "2", "category": "log", "options": ["z", "u"], "extra": '{"lat": 1, "from": "log"}'},
    ]
    rows = _joined(tmp_path, replies, questions)
    assert _columns(rows, "category", "options", "round", "extra") == [
        ("own", ["x"], 1, '{"lat": 2}'),
        ("log", ["z", "u"], 3, '{"lat":1,"from":"dataset","year":1}'),
    ]
    assert rows.identity["round"].to_pylist() == [1, 3]


@pytest.mark.parametrize("broken", ["[1]", "{", "null"])
def test_extra_that_is_no_object_is_left_as_the_dataset_has_it(tmp_path, broken):
    rows = _joined(tmp_path, [{"id": "a", "prediction": "1", "extra": '{"lat": 1}'}], [{"id": "a", "extra": broken}])
    assert _columns(rows, "extra") == [(broken,)]


def test_the_references_of_a_row_come_from_one_side(tmp_path):
    said = {"prediction": "1", "answer": "log", "answers": ["log"], "label": '"log"'}
    questions = [{"id": "a", "answer": None, "answers": ["x", "y"]}, {"id": "b", "answer": None, "answers": []}]
    rows = _joined(tmp_path, [{"id": "a", **said}, {"id": "b", **said}], questions)
    assert _columns(rows, "answer", "answers", "label") == [(None, ["x", "y"], None), ("log", ["log"], '"log"')]
    assert _columns(rows, "label") == [(None,), ('"log"',)]


def test_the_source_is_the_kit_that_made_the_predictions_else_that_of_the_dataset(tmp_path):
    log, table = tmp_path / "1_samples_vqav2_val.jsonl", tmp_path / "table.jsonl"
    log.write_text('{"doc_id": 0, "target": "x", "filtered_resps": ["x"], "input": "?", "doc_hash": "0"}\n')
    table.write_text('{"id": "0", "prediction": "x"}\n')
    source = pa.array([{"format": "lmudata", "file": "f", "row": 0}])
    pq.write_table(pa.table({"id": ["0"], "answer": ["x"], "source": source}), tmp_path / "q.parquet")
    questions = open_rows(tmp_path / "q.parquet", required=("id",))
    found = [join(open_rows(file), questions).list_distinct(FORMAT) for file in (log, table)]
    assert found == [["lmms_eval_samples"], ["lmudata"]]


def test_a_refused_row_is_not_missing_as_well(tmp_path):
    file = tmp_path / "p.jsonl"
    file.write_text('{"id": "a", "prediction": "1"}\n{"id": "b", "prediction": null}\n')
    rows = join(open_rows(file), open_rows(write_predictions(tmp_path / "q.parquet", QUESTIONS), required=("id",)))
    assert ([refusal.id for refusal in rows.rejected], rows.missing) == (["b"], ("c",))


@pytest.mark.parametrize(
    ("refused", "variant"),
    [
        ({"sample": "b", "variant": 0}, 0),
        ({"sample": "b", "variant": 1}, None),
        ({"sample": "b"}, None),
    ],
)
def test_a_refused_row_finds_its_question_as_rows_that_are_read_do(tmp_path, refused, variant):
    file = tmp_path / "p.jsonl"
    read = {"id": "r0", "sample": "a", "variant": 0, "prediction": "1"}
    file.write_text("".join(json.dumps(row) + "\n" for row in (read, {"id": "r1", "prediction": None, **refused})))
    questions = [{"id": f"q{n}", "answer": n, "sample": n, "variant": variant} for n in "abc"]
    rows = join(open_rows(file), open_rows(write_predictions(tmp_path / "q.parquet", questions), required=("id",)))
    assert ([refusal.id for refusal in rows.rejected], rows.missing) == (["r1"], ("qc",))


def test_a_refused_row_without_a_sample_finds_its_question_by_the_id_as_its_sample(tmp_path):
    file = tmp_path / "p.jsonl"
    file.write_text('{"id": "a", "prediction": "1"}\n{"id": "b", "prediction": null}\n')
    questions = [{"id": f"q{n}", "answer": n, "sample": n, "variant": None} for n in "abc"]
    rows = join(open_rows(file), open_rows(write_predictions(tmp_path / "q.parquet", questions), required=("id",)))
    assert rows.missing == ("qc",)


def test_questions_without_a_row_are_told_by_the_dataset_else_by_the_predictions(tmp_path):
    questions = [{"id": n, "category": n.upper(), "group": None, "prediction": "theirs"} for n in "abc"]
    replies = [{"id": n, "prediction": "1", "group": "g", "category": "log"} for n in ("a", "zz")]
    rows = _joined(tmp_path, replies, questions)
    told = read_unmatched(rows, ["zz", None, "c"], ["category", "group", "prediction", "other"])
    assert told.to_pylist() == [
        {"id": "zz", "category": "log", "group": "g"},
        {"id": None, "category": None, "group": None},
        {"id": "c", "category": "C", "group": None},
    ]
    assert read_unmatched(rows.sides[0], ["x"], ["category"]).to_pylist() == [{"id": "x"}]
