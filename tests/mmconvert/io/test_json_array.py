"""One JSON array, element by element."""

import json
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmconvert.core.errors import Error
from mmconvert.core.rows import Rejected, Row
from mmconvert.io import json_array, json_head, json_lines


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
        (b'{"a": 1}\n', "each of them on a line of its own"),
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


def tell(data: bytes, folder: Path) -> list[object]:
    """What reading gives: places and values, or the message that ends it."""
    found: list[object] = []
    (folder / "t.json").write_bytes(data)
    try:
        for item in json_array.rows(folder / "t.json"):
            found.append((item.where, repr(getattr(item, "fields", item))))
    except Error as error:
        found.append(str(error))
    return found


@settings(deadline=None, max_examples=300)
@given(
    text=st.one_of(
        st.lists(JSON, max_size=6).map(json.dumps),
        st.lists(JSON, max_size=6).map(lambda rows: json.dumps(rows, indent=1)),
        st.text('[]{}",\\ a1:\n', max_size=40).map("[{}".__add__),
        st.integers(1, 9).map(lambda deep: f"[{{}}, {'[' * deep}1{']' * deep}, {{}} ]"),
        st.integers(1, 9).map(lambda deep: f"[{'[' * deep}{'}' * deep} , {{}}]"),
    ),
    cut=st.integers(0, 60),
    block=st.integers(1, 60),
)
def test_an_element_looked_at_as_a_whole_is_what_its_brackets_say(
    text: str, cut: int, block: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    data, folder = text.encode()[: len(text) - cut if cut < 20 else None], tmp_path_factory.mktemp("array")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_array, "BLOCK", block)
        found = tell(data, folder)
        patch.setattr(json_array, "_ELEMENT", re.compile(rb"(?!)"))
        assert found == tell(data, folder)


def test_an_element_that_is_larger_than_a_row_may_be_ends_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_array, "MOST_ROW_BYTES", 20)
    with pytest.raises(Error, match=r"larger than .*\(element 1\)"):
        items(b'[{"a": 1}, {"a": "xxxxxxxxxxxxxxxx"}, {}]', tmp_path)


@settings(deadline=None)
@given(
    rows=st.lists(JSON, max_size=9),
    indent=st.sampled_from([None, 0, 1]),
    size=st.integers(1, 40),
    block=st.integers(3, 40),
    start=st.sampled_from([b"", b"\xef\xbb\xbf", b"\n\n  "]),
)
def test_an_array_read_in_pieces_is_what_it_is_whole(
    rows: list, indent: int | None, size: int, block: int, start: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("array") / "t.json"
    path.write_bytes(start + json.dumps(rows, indent=indent).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_array, "BLOCK", block)
        spans = list(json_array.cut(path, [size]))
        whole, pieces = list(json_array.rows(path)), [item for s in spans for item in json_array.rows(path, s)]
    assert [(item.where, repr(getattr(item, "fields", item))) for item in pieces] == [
        (item.where, repr(getattr(item, "fields", item))) for item in whole
    ]
    assert all(s.start < s.end for s in spans)


@pytest.mark.parametrize("data", [b'[{"a": 1}, {"a": 2} {"a": 3}, 4]', b'[{"a": 1}, {"a": 2', b"[1, 2, 3,, 4, 5]"])
def test_an_array_that_is_not_whole_is_refused_in_pieces_as_well(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(Error) as whole:
        items(data, tmp_path)
    path = tmp_path / "t.json"
    with pytest.raises(Error) as pieces:
        [list(json_array.rows(path, span)) for span in json_array.cut(path, [4])]
    assert str(pieces.value) == str(whole.value)


def test_what_follows_an_array_is_found_by_its_last_piece(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(b'[{"a": 1}, {"a": 2}] 3')
    first, last = json_array.cut(path, [8])
    assert len(list(json_array.rows(path, first))) == 1
    with pytest.raises(Error, match="something follows the closing bracket"):
        list(json_array.rows(path, last))


@pytest.mark.parametrize("data", [b"[]", b" [ ]\n", b'{"a": 1}'])
def test_what_has_no_two_elements_stays_whole(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(data)
    (span,) = json_array.cut(path, [1])
    assert (span.start, span.end) == (0, len(data))
    assert len(list(json_array.rows(path, span, single=True))) == data.count(b"a")


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf", b"\n\n  "])
@pytest.mark.parametrize("end", [b"", b"\n", b"\n\n"])
def test_json_lines_in_such_a_file_are_read_line_by_line(start: bytes, end: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(start + b'{"id": {}} \n\n{"id": NaN}\n{"id": 3}' + end)
    first, bad, last = json_array.rows(path)
    assert (first.fields, bad.code, last.fields) == ({"id": {}}, "json.constant", {"id": 3})
    assert [item.fields for item in json_head.rows(path) if isinstance(item, Row)] == [{"id": {}}, {"id": 3}]
    assert not json_head.is_object(path)


@pytest.mark.parametrize(
    "data",
    [b'{"id": 1}', b'{"id": 1}\n', b'{"a": {}\n}\n', b'{"a":\n{}\n}', b'{"a": [{}\n,{}]}', b'{"id": 1}\n[2]', b"{"],
)
def test_one_object_is_no_json_lines(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(data)
    assert json_head.is_object(path)
    with pytest.raises(Error, match="this begins with an object"):
        list(json_array.rows(path))


@given(
    st.dictionaries(
        st.text(max_size=3),
        st.one_of(st.text(max_size=3), st.lists(st.dictionaries(st.text(max_size=2), st.none()))),
        max_size=3,
    ),
    st.sampled_from([None, 0, 1]),
)
def test_an_object_is_never_taken_for_lines(value: dict[str, object], indent: int | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.json"
        path.write_text(json.dumps(value, indent=indent), encoding="utf-8")
        assert json_head.is_object(path)


def test_a_first_line_over_the_limit_is_not_looked_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "MOST_ROW_BYTES", 1 << 20)
    path = tmp_path / "t.json"
    path.write_bytes(b'{"a": "' + b"x" * (3 << 20) + b'"}\n{"a": 1}\n')
    assert json_head.is_object(path)


def test_lists_of_rows_are_read_row_by_row_and_said(tmp_path: Path) -> None:
    data = b'[{"id": 0},\n [{"id": 1}, 7, {"id": 3}],\n [],\n [8],\n [{"id": 6}]]'
    found = items(data, tmp_path)
    assert [item.where.row for item in found] == [*range(7)]
    assert [item.where.line for item in found] == [1, 2, 2, 2, 3, 4, 5]
    assert [item.fields["id"] for item in found if isinstance(item, Row)] == [0, 1, 3, 6]
    assert [item.code for item in found if isinstance(item, Rejected)] == ["json.type"] * 3
    assert [item.remarks for item in found if isinstance(item, Row)] == [(), (json_array.PACKED,), (), ()]


@pytest.mark.parametrize(
    ("data", "code"), [(b'[[{"a": 1, "a": 2}]]', "json.duplicate_key"), (b'[["\xff"]]', "text.encoding")]
)
def test_a_list_that_is_no_strict_json_is_refused_alone(data: bytes, code: str, tmp_path: Path) -> None:
    (bad,) = items(data, tmp_path)
    assert isinstance(bad, Rejected)
    assert bad.code == code
