"""Thrift's compact protocol."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.io.thrift import BadThriftError, CompactReader


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
    "data", [b"", b"\x15", b"\x1c\x1c\0\0\0", b"\x19\xf5\xff\xff\xff\x7f", b"\x1e", b"\x15" + b"\xff" * 11]
)
def test_what_is_no_struct_is_refused(data: bytes) -> None:
    with pytest.raises(BadThriftError):
        CompactReader(data).read_struct(2)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(BadThriftError):
        CompactReader(data).read_struct(3)
