"""One JSON object with a list of rows inside, and the head of any .json file."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.error_hints import says_what_to_do
from mmconvert.core.errors import Error
from mmconvert.core.rows import Rejected, Row
from mmconvert.io import json_array, json_head, json_object

NAMES = st.text(st.characters(codec="utf-8"), max_size=5)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), NAMES),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("objects")


def written(value: object, folder: Path) -> Path:
    path = folder / "t.json"
    path.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
    return path


@given(
    before=st.dictionaries(NAMES, VALUES, max_size=3),
    items=st.lists(st.dictionaries(NAMES, VALUES, max_size=3), max_size=5),
    after=st.dictionaries(NAMES, VALUES, max_size=3),
    deep=st.booleans(),
    block=st.integers(1, 40),
)
def test_rows_and_members_are_the_object_taken_apart(
    before: dict, items: list, after: dict, deep: bool, block: int, folder: Path
) -> None:
    around = [{k: v for k, v in part.items() if k not in ("data", "rows")} for part in (before, after)]
    after = {k: v for k, v in around[1].items() if k not in around[0]}
    inside = {**around[0], "rows": items, **after} if deep else items
    value = {**around[0], "data": inside, **after}
    path = written(value, folder)
    way = ("data", "rows") if deep else ("data",)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_array, "BLOCK", block)
        found = list(json_object.rows(path, way))
        rest = json_object.read_members(path, way)
    assert [(row.fields, row.where.row) for row in found] == [(item, n) for n, item in enumerate(items)]
    outside = {**around[0], **after}
    assert rest == ({**outside, "data": outside} if deep else outside)


def test_a_bad_element_is_refused_and_the_others_go_on(tmp_path: Path) -> None:
    path = written(b'{"v": 1,\n"data": [{"a": 1, "a": 2},\n7, {"a": NaN}, {"a": 3}]}', tmp_path)
    found = list(json_object.rows(path, ("data",)))
    assert [item.code if isinstance(item, Rejected) else item.fields for item in found] == [
        "json.duplicate_key", "json.type", "json.constant", {"a": 3},
    ]  # fmt: skip
    assert [item.where.line for item in found] == [2, 3, 3, 3]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b"[]", "JSON object"),
        (b'{"version": 1}', "no member 'data'"),
        (b'{"dat": []}', "Did you mean dat?"),
        (b'{"data": 3}', "expected a list"),
        (b'{"data": [', "cut"),
        (b'{"data": [{}', "cut"),
        (b'{"data": [{}]', "cut"),
        (b'{"data": [{}]} x', "something follows"),
        (b'{"data": [{}] "x": 1}', "comma or the closing brace"),
        (b'{"data" [{}]}', "colon"),
        (b'{data: [{}]}', "quotes"),
        (b'{"data": [], "data": []}', "twice"),
        (b'{"data": [{},]}', "element"),
        (b'{"data":', "cut"),
        (b'{"data": [], "x": \xff}', "UTF-8"),
        (b'{"data": [], "x": nul}', "bad JSON"),
        ('{"data": []}'.encode("utf-16"), "UTF-16"),
    ],
)  # fmt: skip
def test_a_damaged_file_is_one_clear_error(data: bytes, message: str, tmp_path: Path) -> None:
    path = written(data, tmp_path)
    with pytest.raises(Error, match=message) as caught:
        json_object.read_members(path, ("data",))
    assert "t.json" in str(caught.value)


def test_the_head_of_an_object_is_one_row_that_ends_with_the_first_list_of_objects(tmp_path: Path) -> None:
    value = {"version": 1, "words": list(range(50)), "data": {"deep": [{"n": n} for n in range(50)]}, "late": 1}
    (row,) = json_head.rows(written(value, tmp_path))
    assert isinstance(row, Row)
    assert row.fields == {"version": 1, "words": list(range(8)), "data": {"deep": [{"n": n} for n in range(8)]}}


def test_the_head_of_an_array_is_its_elements(tmp_path: Path) -> None:
    assert [row.fields for row in json_head.rows(written([{"a": 1}, {"b": 2}], tmp_path))] == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize("name", ["(1,)", "9" * 10_000])
def test_a_missing_member_is_named_with_what_to_do_whatever_the_others_are_called(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"dataset": "x", name: 1}))
    with pytest.raises(Error, match=r"there is no member 'data'") as refused:
        list(json_object.rows(path, ("data",)))
    assert says_what_to_do(str(refused.value))
    assert len(str(refused.value)) < 400
