import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.io import xlsx
from mmconvert.io.pandas_dtypes import read_cells

TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
WORDS = st.sampled_from(
    [
        "None",
        "nan",
        "007",
        "1.0",
        "True",
        "TRUE",
        "a\rb",
        "http://a.org",
        "mailto:a",
        "external:c/d",
        "file:///a/b",
        "internal:x!A1",
        "_x000D_",
        "_x005F_x",
        "inf",
        "12345678901234567890",
        "=1+1",
        "\ufffe",
        "🐶",
    ]
)


def _read(*cells):
    return read_cells({"A": cells})["A"]


@pytest.mark.parametrize(
    "word", ["", "None", "NA", "N/A", "null", "NULL", "nan", "NaN", "<NA>", "#N/A", "n/a", "-1.#IND"]
)
def test_some_words_are_lost(word):
    assert _read("cat", word) == ["cat", None]


@pytest.mark.parametrize("word", ["none", "Null", "NAN", "--", " nan "])
def test_and_others_stay(word):
    assert _read("cat", word) == ["cat", word]


@pytest.mark.parametrize("sheet", [False, True])
def test_a_column_that_looks_like_numbers_becomes_numbers_as_a_whole(sheet):
    def read(*cells):
        return read_cells({"A": cells}, sheet=sheet)["A"]

    assert read("007", "12") == [7, 12]
    assert read("007", None) == [7.0, None]
    assert read("1.0", "2") == [1.0, 2.0]
    assert read("true", "False") == [True, False]
    assert read("007", "x") == ["007", "x"]
    assert read(None, "NA") == [None, None]


def test_numbers_of_a_sheet_are_whole_where_they_can_be():
    assert _read(3.0, 4.0) == [3, 4]
    assert _read(3.0, 0.5) == [3.0, 0.5]
    assert _read(3.0, None) == [3.0, None]
    assert _read(3.0, "x") == ["3", "x"]
    assert read_cells({"A": [3.0, "x"]}, sheet=True)["A"] == [3, "x"]


def test_nothing_gives_nothing():
    assert read_cells({"A": []}) == {"A": []}
    assert read_cells({"A": []}, sheet=True) == {"A": []}
    assert read_cells({}) == {}


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1), min_size=1, max_size=5))
def test_texts_come_back_as_pandas_gives_them(cells):
    found = _read("plain text", *cells)
    lost = {word for word in cells if pd.isna(_read("plain text", word)[1])}
    assert found == ["plain text", *(None if cell in lost else cell for cell in cells)]


@given(st.lists(TEXTS | WORDS, min_size=1, max_size=5))
def test_a_workbook_is_read_as_the_libraries_read_it(cells):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "table.xlsx")
        table = pd.DataFrame({"cells": cells, "filled": ["x"] * len(cells)})
        options = {"options": {"strings_to_formulas": False}}
        table.to_excel(file, index=False, engine="xlsxwriter", engine_kwargs=options)
        read = pd.read_excel(file, engine="openpyxl")["cells"]
        found = read_cells({"A": [row.fields["cells"] for row in xlsx.rows(file)]}, sheet=True)["A"]
    assert found == [None if gone else cell for gone, cell in zip(read.isna(), read.tolist(), strict=True)]


def test_columns_are_read_each_by_itself():
    columns = {"A": ["007", None], "B": ["x", "1"], "C": [None, None], "D": ["True", "false"]}
    wanted = {"A": [7.0, None], "B": ["x", "1"], "C": [None, None], "D": [True, False]}
    assert read_cells(columns) == read_cells(columns, sheet=True) == wanted
