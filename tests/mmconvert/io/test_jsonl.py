"""Strict JSON Lines."""

import json
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import Error, RowError
from mmconvert.core.rows import Rejected, Row
from mmconvert.io import json_lines, jsonl


def items(data: bytes, tmp_path: Path) -> list[Row | Rejected]:
    path = tmp_path / "t.jsonl"
    path.write_bytes(data)
    return list(jsonl.rows(path))


def test_rows_count_records_and_lines(tmp_path: Path) -> None:
    first, bad, last = items(b'\xef\xbb\xbf{"a": 1}\r\n\n{"a": \n {"a": "\xe2\x80\xa8"}', tmp_path)
    assert isinstance(first, Row)
    assert isinstance(bad, Rejected)
    assert isinstance(last, Row)
    assert [(i.where.row, i.where.line) for i in (first, bad, last)] == [(0, 1), (1, 3), (2, 4)]
    assert last.fields == {"a": "\u2028"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"a": NaN}', "json.constant"),
        ('{"a": -Infinity}', "json.constant"),
        ('{"a": 1, "a": 2}', "json.duplicate_key"),
        ('{"a": "\\ud83d"}', "text.surrogate"),
        ('{"a": 1e999}', "json.number"),
        ('{"a": ' + "9" * 5000 + "}", "json.number"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "json.depth"),
        ('{"a": "\t"}', "json.syntax"),
        ('{"a": "\0"}', "json.syntax"),
        ('{"a": 1} {"b": 2}', "json.syntax"),
        ('{"a": 1', "json.syntax"),
        ("[1]", "json.type"),
    ],
)
def test_what_is_no_strict_object_is_an_error_of_that_row(text: str, code: str, tmp_path: Path) -> None:
    good, bad = items(b'{"a": 0}\n' + text.encode(), tmp_path)
    assert isinstance(good, Row)
    assert isinstance(bad, Rejected)
    assert bad.code == code


def test_a_full_pair_of_surrogates_is_a_character() -> None:
    assert json_lines.parse_json('"\\ud83d\\ude00"') == "😀"


def test_invalid_utf8_is_an_error_of_that_row(tmp_path: Path) -> None:
    bad, good = items(b'{"a": "\xff"}\n{"a": 1}\n', tmp_path)
    assert isinstance(bad, Rejected)
    assert bad.code == "text.encoding"
    assert isinstance(good, Row)


@pytest.mark.parametrize(("data", "reason"), [(b"", "empty"), (b"\xfe\xff\0{", "UTF-16"), (b"PAR1", "parquet")])
def test_other_files_are_refused_by_name(data: bytes, reason: str, tmp_path: Path) -> None:
    with pytest.raises(Error, match=reason):
        items(data, tmp_path)


def test_big_integers_keep_their_digits() -> None:
    assert json_lines.parse_json("123456789012345678901234567890") == 123456789012345678901234567890
    with pytest.raises(RowError):
        json_lines.parse_json("nul")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=6,
)


@given(st.dictionaries(st.text(max_size=3), _JSON), st.booleans(), st.data())
def test_short_and_long_lines_are_read_alike(fields: dict[str, object], escaped: bool, data: st.DataObject) -> None:
    line = json.dumps(fields, ensure_ascii=escaped).encode(errors="surrogatepass")
    at, end = sorted((data.draw(st.integers(0, len(line))), data.draw(st.integers(0, len(line)))))
    changed = data.draw(
        st.sampled_from([b"", b'"a":1,', b"\\u0022", b'\\"', b"9" * 20, b"1e999", b"\xff", line[at:end]])
    )
    line = line[:at] + changed + line[data.draw(st.sampled_from([at, end])) :]

    def outcome() -> str:
        try:
            return repr(jsonl.parse_object(line))
        except RowError as error:
            return repr(error)

    with patch.object(json_lines, "_SHORT", 0):
        as_long = outcome()
    assert outcome() == as_long


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf", b"\n \n", b" " * 70_000])
def test_an_array_in_such_a_file_is_read_element_by_element(start: bytes, tmp_path: Path) -> None:
    first, bad, last = items(start + b'[{"id": 1},\n [2],\n {"id": 3}]', tmp_path)
    assert (first.fields, bad.code, last.fields) == ({"id": 1}, "json.type", {"id": 3})
    assert [item.where.row for item in (first, bad, last)] == [0, 1, 2]


def test_an_array_is_cut_between_elements(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"[" + b",\n".join([b'{"id": 1}'] * 100) + b"]")
    spans = list(jsonl.cut(path, [50]))
    assert len(spans) > 10
    assert [item for span in spans for item in jsonl.rows(path, span)] == list(jsonl.rows(path))


@pytest.mark.parametrize("data", [b'[{"id": 1}', b'[{"id": 1}]\n[{"id": 2}]'])
def test_an_array_that_is_not_whole_refuses_the_file(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(Error, match=r"t\.jsonl:\d"):
        items(data, tmp_path)
