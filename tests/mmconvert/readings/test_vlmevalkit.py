import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.readings.vlmevalkit import vlmevalkit


def _read(*cells):
    return vlmevalkit({"A": cells})["A"]


@pytest.mark.parametrize(
    "word", ["", "None", "NA", "N/A", "null", "NULL", "nan", "NaN", "<NA>", "#N/A", "n/a", "-1.#IND"]
)
def test_some_words_are_lost(word):
    assert _read("cat", word) == ["cat", None]


@pytest.mark.parametrize("word", ["none", "Null", "NAN", "--", " nan "])
def test_and_others_stay(word):
    assert _read("cat", word) == ["cat", word]


def test_a_column_that_looks_like_numbers_becomes_numbers_as_a_whole():
    assert _read("007", "12") == [7, 12]
    assert _read("007", None) == [7.0, None]
    assert _read("1.0", "2") == [1.0, 2.0]
    assert _read("true", "False") == [True, False]
    assert _read("007", "x") == ["007", "x"]
    assert _read(None, "NA") == [None, None]


def test_cells_of_a_sheet_keep_what_a_sheet_keeps():
    assert _read(3.0, 4.0) == [3, 4]
    assert _read(3.0, 0.5) == [3.0, 0.5]
    assert _read(3.0, None) == [3.0, None]
    assert _read(3.0, "x") == ["3", "x"]


def test_quotes_tabs_and_lines_survive():
    assert _read('a "b"\tc\nd', "x") == ['a "b"\tc\nd', "x"]


def test_nothing_gives_nothing():
    assert vlmevalkit({"A": []}) == {"A": []}


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1), min_size=1, max_size=5))
def test_texts_come_back_as_pandas_gives_them(cells):
    found = _read("plain text", *cells)
    lost = {word for word in cells if pd.isna(_read("plain text", word)[1])}
    assert found == ["plain text", *(None if cell in lost else cell for cell in cells)]
