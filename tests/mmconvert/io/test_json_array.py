"""One JSON array, element by element."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmconvert.core.errors import Error
from mmconvert.core.rows import Rejected, Row
from mmconvert.io import json_array


def items(data: bytes, folder: Path) -> list[Row | Rejected]:
    path = folder / "t.json"
    path.write_bytes(data)
    return list(json_array.rows(path))


def test_rows_have_the_elements_index_and_its_first_line(tmp_path: Path) -> None:
    first, bad, last = items(
        b'\xef\xbb\xbf [\r\n  {"a": "]} \\" ["},\r\n 7,\r\n{\r\n"a": [{}, "\\\\"]}\r\n]\r\n', tmp_path
    )
    assert isinstance(first, Row)
    assert isinstance(bad, Rejected)
    assert isinstance(last, Row)
    assert [(i.where.row, i.where.line) for i in (first, bad, last)] == [(0, 2), (1, 3), (2, 4)]
    assert (first.fields, last.fields) == ({"a": ']} " ['}, {"a": [{}, "\\"]})
    assert (bad.code, str(bad)) == (
        "json.type",
        "t.json:3: expected a JSON object (got 7). Write the row as an object, in braces.",
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b'{"a": NaN}', "json.constant"),
        (b'{"a": 1, "a": 2}', "json.duplicate_key"),
        (b'{"a": "\\ud83d"}', "text.surrogate"),
        (b'{"a": 1e999}', "json.number"),
        (b'{"a": ' + b"9" * 5000 + b"}", "json.number"),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "json.depth"),
        (b'{"a": "\n"}', "json.syntax"),
        (b"{'a': 1}", "json.syntax"),
        (b'{"a": 1,}', "json.syntax"),
        (b'{"a": [1}]', "json.syntax"),
        (b'{"a": "\xff"}', "text.encoding"),
        (b"[1, [2]]", "json.type"),
        (b'"a, b"', "json.type"),
        (b"null", "json.type"),
        (b"nonsense", "json.syntax"),
    ],
)
def test_what_is_no_strict_object_is_an_error_of_that_element(text: bytes, code: str, tmp_path: Path) -> None:
    before, bad, after = items(b'[{"a": 0}, ' + text + b', {"a": 2}]', tmp_path)
    assert isinstance(bad, Rejected)
    assert (bad.code, bad.where.row) == (code, 1)
    assert isinstance(before, Row)
    assert isinstance(after, Row)
    assert after.fields == {"a": 2}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"\xfe\xff\0[", "UTF-16"),
        (b'{"a": 1}\n{"a": 2}\n', "name the file .jsonl"),
        (b"a,b\n1,2\n", "expected a JSON array"),
        (b'[{"a": 1}, {"a": ', r"t\.json:1: the file ends inside this element.*\(element 1\)"),
        (b'[{"a": 1}, {"a": "b"c"}]', "never closes"),
        (b'[{"a": 1}', "cut"),
        (b'[{"a": 1},', "cut"),
        (b"[", "cut"),
        (b'[{"a": 1},]', "expected an element"),
        (b'[{"a": 1} {"a": 2}]', "expected a comma"),
        (b'[{"a": ]}, {"a": 2}]', "expected a comma"),
        (b'[{"a": 1}][]', "follows the closing bracket"),
    ],
)
def test_a_file_that_is_not_one_whole_array_is_refused(data: bytes, reason: str, tmp_path: Path) -> None:
    with pytest.raises(Error, match=reason):
        items(data, tmp_path)


def test_an_empty_array_has_no_rows(tmp_path: Path) -> None:
    assert items(b" [ ] \n", tmp_path) == []


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(st.characters(codec="utf-8"))),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=8,
)


@settings(deadline=None)
@given(
    rows=st.lists(st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), JSON, max_size=3), max_size=5),
    block=st.integers(1, 40),
    indent=st.sampled_from([None, 0, 1]),
    ascii_=st.booleans(),
)
def test_any_array_reads_back_whatever_the_block(
    rows: list[dict], block: int, indent: int | None, ascii_: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = json.dumps(rows, ensure_ascii=ascii_, indent=indent).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_array, "BLOCK", block)
        found = items(data, tmp_path_factory.mktemp("array"))
    assert [item.fields for item in found if isinstance(item, Row)] == rows
    assert [item.where.row for item in found] == list(range(len(rows)))
