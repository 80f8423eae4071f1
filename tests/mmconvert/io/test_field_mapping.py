import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import UsageError
from mmconvert.io.field_mapping import check_mapping, parse_mapping, read_mapped

VALUES = st.recursive(
    st.none() | st.text(max_size=6) | st.integers() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "a.b", "0"]), inner),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["question"], "expected a field and its column"),
        (["question="], "expected a field and its column"),
        (["split=:"], "expected a field and its column"),
        (["=x"], "no field ''"),
        (["qestion=x"], "no field 'qestion'. Did you mean question"),
        (["AB=x"], "no field 'AB'"),
        (["question=x", "question=y"], "question appears twice"),
    ],
)
def test_a_mapping_that_says_nothing_is_wrong_usage(texts, message):
    with pytest.raises(UsageError, match=message):
        parse_mapping(texts)


def test_several_columns_may_hold_images_and_letters_have_a_column_each():
    assert parse_mapping(["image=left", "image=right", "A=x=y"]) == (
        ("image", "left"),
        ("image", "right"),
        ("A", "x=y"),
    )


def test_a_column_that_is_not_there_is_named_with_the_nearest():
    check_mapping(parse_mapping(["answer=meta.gold", "split=:val"]), ["meta"], "t.csv")
    with pytest.raises(
        UsageError, match=r"t\.csv: --map answer=gtt: no such column\. Did you mean gt\? Found: gt, q\."
    ):
        check_mapping(parse_mapping(["answer=gtt"]), ["gt", "q"], "t.csv")


def test_a_columns_own_name_goes_before_a_way_into_another():
    row = {"a.b": 1, "a": {"b": 2, "c": '{"d": [3, 4]}'}}
    assert [read_mapped(row, name) for name in ("a.b", "a.c.d.1", "a.x", "a.c.d.9", "z", ":a.b")] == [
        1, 4, None, None, None, "a.b",
    ]  # fmt: skip


@given(st.dictionaries(st.sampled_from(["a", "b", "a.b"]), VALUES), st.lists(st.sampled_from("ab0"), min_size=1))
def test_any_way_into_any_row_ends(row, way):
    read_mapped(row, ".".join(way))
