"""Memory comes back when nobody has it any more, and never before."""

import mmap

import pyarrow as pa
import pytest

from mmconvert.core import buffers
from mmconvert.core.buffers import take


@pytest.fixture(autouse=True)
def nothing_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "_idle", {})


def filled(byte: bytes) -> pa.Buffer:
    buffer = take(5000)
    memoryview(buffer).cast("B")[:] = byte * 5000
    return buffer


def test_memory_that_an_array_holds_is_nobody_elses() -> None:
    first = filled(b"a")
    array = pa.Array.from_buffers(pa.binary(), 1, [None, pa.py_buffer(b"\0\0\0\0\x88\x13\0\0"), first])
    piece = array[0].as_buffer()
    del first
    second = filled(b"b")
    assert array[0].as_py() == b"a" * 5000
    del array
    view = memoryview(filled(b"c")).cast("B")[1:]
    filled(b"d")
    assert piece.to_pybytes() == b"a" * 5000
    assert second.to_pybytes() == b"b" * 5000
    assert bytes(view) == b"c" * 4999


def test_memory_that_nobody_has_is_taken_again() -> None:
    first, second = filled(b"a"), filled(b"b")
    places = {first.address, second.address}
    del first, second
    again = take(4097), take(8192)
    assert {buffer.address for buffer in again} == places
    assert take(5000).address not in places


@pytest.mark.parametrize("size", [0, 1, mmap.PAGESIZE, mmap.PAGESIZE + 1, 3 << 20])
def test_any_size_begins_with_a_page(size: int) -> None:
    buffer = take(size)
    assert buffer.size == size
    assert buffer.address % mmap.PAGESIZE == 0


def test_much_memory_goes_back_to_the_system() -> None:
    take(65 << 20)
    assert buffers._idle[128 << 20] == []


def test_the_least_memory_that_is_large_enough_is_taken_before_new_one() -> None:
    large, small = take(64 << 10), take(16 << 10)
    places = [small.address, large.address]
    del large, small
    held = [take(4 << 10), take(4 << 10)]
    assert [buffer.address for buffer in held] == places
    assert take(4 << 10).address not in places


def test_what_may_be_kept_long_takes_no_memory_that_is_much_larger() -> None:
    large = take(1 << 20)
    place = large.address
    del large
    assert take(32 << 10).address != place
    assert take(64 << 10).address == place
