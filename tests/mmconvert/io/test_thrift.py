"""Thrift's compact protocol."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.io.thrift import BINARY, INTEGER, BadThriftError, CompactReader, Shape


def test_all_kinds_of_values_are_read_or_passed_over() -> None:
    numbers = [0x15, 0x03, 0x11, 0x12, 0x18, 2, 65, 66, 0x13, 7, 0x17, *range(8)]  # -2, true, false, "AB", 7, a float
    lists = [0x19, 0x25, 2, 4, 0x1C, 0x15, 0x80, 0x01, 0]  # of 1 and 2, and a struct with 64
    maps = [0x1B, 1, 0x85, 1, 65, 2, 0x1B, 0, 0x19, 0x21, 1, 2, 0]  # {"A": 1}, {}, and a list of truth values
    data = bytes([*numbers, *lists, *maps])
    reader = CompactReader(data)
    fields = reader.read_struct(2)
    assert [fields[number] for number in range(1, 12)] == [
        *(-2, True, False, None, None, None),
        *([1, 2], {1: 64}, None, None, [None, None]),
    ]
    assert reader.at == len(data)


def test_a_field_far_behind_says_its_number() -> None:
    assert CompactReader(bytes([0x05, 40, 2, 0])).read_struct(1) == {20: 1}


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\x15\x02\x05\x02\x04\0", id="a field twice"),
        pytest.param(b"\x05\x00\x04\0", id="field 0"),
        pytest.param(b"\x05\x82\x80\x08\x04\0", id="field 65,537, of which 16 bits are 1"),
    ],
)
def test_fields_that_another_reader_takes_for_others_are_refused(data: bytes) -> None:
    with pytest.raises(BadThriftError):
        CompactReader(data).read_struct(1)


@pytest.mark.parametrize(
    ("data", "shape"),
    [
        pytest.param(b"\x19\x23\x02\x04\0", {1: [INTEGER]}, id="a list of bytes"),
        pytest.param(b"\x19\x15\x04\0", {1: [BINARY]}, id="a list of numbers"),
        pytest.param(b"\x19\x15\x04\0", {1: [{}]}, id="a list of numbers where structs are"),
        pytest.param(b"\x19\x1c\x19\x11\x01\0\0", {1: [{1: [INTEGER]}]}, id="inside a struct of a list"),
        pytest.param(b"\x15\x04\0", {1: {}}, id="a number where a struct is"),
        pytest.param(b"\x11\0", {1: {}}, id="a truth value where a struct is"),
        pytest.param(b"\x1a\x15\x04\0", {1: [INTEGER]}, id="a set where a list is"),
    ],
)
def test_what_has_another_shape_is_refused(data: bytes, shape: Shape) -> None:
    CompactReader(data).read_struct(3)
    with pytest.raises(BadThriftError):
        CompactReader(data).read_struct(3, shape)


def test_what_has_its_shape_is_read() -> None:
    data = b"\x19\x1c\x19\x15\x04\0\x19\x18\x01A\0"
    assert CompactReader(data).read_struct(2, {1: [{1: [INTEGER]}], 2: [BINARY]}) == {1: [{1: [2]}], 2: [None]}


@pytest.mark.parametrize(
    "data", [b"", b"\x15", b"\x1c\x1c\0\0\0", b"\x19\xf5\xff\xff\xff\x7f", b"\x1e", b"\x15" + b"\xff" * 11]
)
def test_what_is_no_struct_is_refused(data: bytes) -> None:
    with pytest.raises(BadThriftError):
        CompactReader(data).read_struct(2)


@pytest.mark.parametrize(
    "data", [b"\x19" + b"\x19" * 5000, b"\x1a" + b"\x1a" * 5000, b"\x1b" + b"\x01\xbb" * 5000, b"\x1c" * 5000]
)
def test_what_is_nested_too_deep_is_refused(data: bytes) -> None:
    with pytest.raises(BadThriftError):
        CompactReader(data).read_struct(8)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(BadThriftError):
        CompactReader(data).read_struct(3)
