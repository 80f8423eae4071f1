import pyarrow as pa
import pytest

from mmscore.analysis.same_questions import unlike
from mmscore.core.predictions.load import open_rows
from support.predictions import write_predictions

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
    assert unlike(a, b, pa.array(["x"])) == unlike(b, a, pa.array(["x"])) == (() if alike else ("x",))


def test_rows_are_found_by_their_id_in_whatever_order_they_stand(tmp_path):
    rows = [{"id": str(n), "prediction": "A", "answer": f"answer {n}"} for n in range(5)]
    a = open_rows(write_predictions(tmp_path / "a.parquet", rows))
    b = open_rows(write_predictions(tmp_path / "b.parquet", [*rows[:0:-1], {**rows[0], "answer": "other"}]))
    assert unlike(a, b, pa.array(["3", "0", "1"])) == ("0",)
