import pytest

from mmconvert.errors import Error
from mmscore.joining import join
from mmscore.predictions import open_rows
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
    assert rows.distinct("model") == ["m"]


def test_unrelated_files_are_refused(tmp_path):
    with pytest.raises(Error, match="none of the ids"):
        _joined(tmp_path, [{"id": "x", "prediction": "1"}])


def test_what_a_dataset_says_of_answers_is_not_taken_for_the_predictions(tmp_path):
    questions = [{**row, "model": "teacher", "method": "generate", "prediction_status": "failed"} for row in QUESTIONS]
    rows = _joined(tmp_path, [{"id": "a", "prediction": "1"}], questions)
    assert not rows.names & {"model", "method", "prediction_status"}
    assert rows.distinct("model") == []
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
