import csv
import io
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.text.csv_injection import escape_formula, write_safe_csv
from mmconvert.io.write_delimited import TableWriter
from mmconvert.plugins.format import Target

STARTS = "=+-@\t\0\r"


@given(st.sampled_from(STARTS), st.text(max_size=8))
def test_what_a_spreadsheet_would_run_is_a_text_and_nothing_is_lost(start: str, rest: str) -> None:
    shown = escape_formula(start + rest)
    assert shown.removeprefix("'") == start + rest
    assert shown[0] == "'" or float(shown) == float(start + rest)


@given(st.text(max_size=8).filter(lambda text: not text.startswith(tuple(STARTS))))
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert escape_formula(text) == text


def test_numbers_stay_numbers() -> None:
    assert write_safe_csv([["a", None, -1.5, "-1.5", "+a"]]) == "a,,-1.5,-1.5,'+a\n"
    assert next(csv.reader(io.StringIO(write_safe_csv([["-2+3", "- 1", "-1e5"]])))) == ["'-2+3", "'- 1", "-1e5"]


def test_safe_tables_escape_texts_and_leave_numbers(tmp_path: Path) -> None:
    with TableWriter(Target(tmp_path / "t.tsv", csv_safe=True)) as table:
        table.write_all(lambda: [{"a": "=1+1", "b": -5, "c": "x=1"}])
    assert (tmp_path / "t.tsv").read_text() == "a\tb\tc\n'=1+1\t-5\tx=1\n"
