import pyarrow as pa
import pytest

from mmscore.analysis.align import find_unlike_questions, format_ids, pair_rows
from mmscore.core.predictions.load import open_rows
from mmscore.core.table import ROW_FIELDS, Scored
from support.predictions import write_predictions


def rows(*ids_statuses_scores):
    ids, statuses, scores = zip(*ids_statuses_scores, strict=True)
    n = len(ids)
    known = {"id": pa.array(ids, pa.string()), "status": pa.array(statuses, pa.string())}
    table = pa.table([known.get(f.name, pa.nulls(n, f.type)) for f in ROW_FIELDS], schema=ROW_FIELDS)
    return Scored(table, {}).with_scores(accuracy=scores)


NO = float("nan")


def test_rows_are_found_by_id_in_whatever_order_they_stand():
    a = rows(("1", "scored", 1), ("2", "scored", 0), ("3", "scored", 1))
    b = rows(("3", "scored", 0.3), ("1", "scored", 0.1), ("2", "scored", 0.2))
    found = pair_rows(a, b)
    assert found.a.column("id") == found.b.column("id") == ["1", "2", "3"]
    assert found.b.scores["accuracy"].tolist() == [0.1, 0.2, 0.3]
    assert (found.only_a, found.only_b, found.unscored) == ((), (), ())


def test_what_cannot_be_compared_is_named_with_its_reason():
    a = rows(("1", "scored", 1), ("2", "failed", NO), ("3", "scored", 1), ("4", "missing", NO), ("5", "scored", 1))
    b = rows(("1", "scored", 1), ("2", "scored", 1), ("3", "excluded", NO), ("4", "scored", 1), (None, "rejected", NO))
    found = pair_rows(a, b)
    assert found.a.column("id") == ["1"]
    assert found.only_a == ("5",)
    assert found.only_b == ("4",)
    assert found.unscored == ("2", "3")


def test_an_id_that_stands_twice_goes_with_its_equal():
    a = rows(("1", "scored", 1), ("1", "scored", 2), ("2", "scored", 3))
    b = rows(("1", "scored", 10), ("2", "scored", 30), ("1", "scored", 20), ("1", "scored", 40))
    found = pair_rows(a, b)
    assert found.a.scores["accuracy"].tolist() == [1, 2, 3]
    assert found.b.scores["accuracy"].tolist() == [10, 20, 30]


def test_an_id_that_looks_like_a_numbered_one_is_another():
    found = pair_rows(rows(("1", "scored", 1), ("1", "scored", 2)), rows(("1", "scored", 3), ("1#1", "scored", 4)))
    assert found.b.scores["accuracy"].tolist() == [3]


@pytest.mark.parametrize(("ids", "text"), [([], ""), (["1"], "1"), (list("123456"), "1, 2, 3, 4, 5, ...")])
def test_the_first_ids_are_named(ids, text):
    assert format_ids(ids) == text


COLOURS = ["Red", "green ", None]


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ({"answer": "A"}, {"answer": " a"}, True),
        ({"answer": "A"}, {"answer": "B"}, False),
        ({"answer": "A"}, {"answer": None}, True),
        ({"answer": "A"}, {"question": "What?"}, True),
        ({"answer": "two  cats"}, {"answers": ["cats", "two cats"]}, True),
        ({"answers": ["a", "b"]}, {"answers": ["c"]}, False),
        ({"label": '["cat", 2]'}, {"answer": "2"}, True),
        ({"label": "not [json"}, {"answer": "other"}, False),
        ({"answer": "A", "options": COLOURS}, {"answer": "A", "options": ["red", "green"]}, True),
        ({"answer": "A", "options": COLOURS}, {"answer": "A", "options": ["red", "blue"]}, False),
        ({"answer": "A", "options": COLOURS}, {"answer": "B", "options": ["green", "red"]}, True),
        ({"answer": "A", "options": COLOURS}, {"answer": "B", "options": ["red", "green"]}, False),
        ({"answer": "B", "options": COLOURS}, {"answer": "green"}, True),
        ({"answer": "B", "options": COLOURS}, {"answer": "B", "options": []}, True),
    ],
)
def test_references_and_options_tell_a_question(tmp_path, one, other, alike):
    a, b = (
        open_rows(write_predictions(tmp_path / f"{n}.parquet", [{"id": "x", "prediction": "A", **row}]))
        for n, row in enumerate((one, other))
    )
    assert (
        find_unlike_questions(a, b, pa.array(["x"]))
        == find_unlike_questions(b, a, pa.array(["x"]))
        == (() if alike else ("x",))
    )


def test_rows_are_found_by_their_id_in_whatever_order_they_stand(tmp_path):
    rows = [{"id": str(n), "prediction": "A", "answer": f"answer {n}"} for n in range(5)]
    a = open_rows(write_predictions(tmp_path / "a.parquet", rows))
    b = open_rows(write_predictions(tmp_path / "b.parquet", [*rows[:0:-1], {**rows[0], "answer": "other"}]))
    assert find_unlike_questions(a, b, pa.array(["3", "0", "1"])) == ("0",)
