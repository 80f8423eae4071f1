"""A file that is written has the digest of its bytes, and says when it is not whole."""

import hashlib
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core import buffers
from mmconvert.storage import direct_io, hashed_file
from mmconvert.storage.hashed_file import HashedFile

PAGE = os.sysconf("SC_PAGE_SIZE")


def written(path: Path, pieces: list[bytes], every: int = 1) -> str:
    file = HashedFile(path)
    for number, piece in enumerate(pieces):
        file.stream.write(piece)
        if number % every == 0:
            file.sync_later()
    digest = file.finish()
    assert file.closed
    return digest


@given(
    pieces=st.lists(st.integers(0, 3 * PAGE).map(lambda size: os.urandom(size)), max_size=8),
    every=st.integers(1, 3),
    direct=st.booleans(),
)
def test_the_digest_is_that_of_the_file(
    pieces: list[bytes], every: int, direct: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("d") / "f"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hashed_file, "_GATHERED", 100)
        patch.setattr(hashed_file, "_BLOCK", PAGE)
        if not direct:
            patch.setattr(direct_io, "_DIRECT", 0)
        digest = written(path, pieces, every)
    assert path.read_bytes() == b"".join(pieces)
    assert digest == hashlib.sha256(b"".join(pieces)).hexdigest()


def test_a_file_system_that_refuses_direct_writes_only_when_they_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A block that does not begin with a page is what the kernel refuses then.
    monkeypatch.setattr(hashed_file, "take", lambda size: pa.py_buffer(memoryview(bytearray(size + 1))[1:]))
    data = os.urandom(5 << 20)
    assert written(tmp_path / "f", [data]) == hashlib.sha256(data).hexdigest()
    assert (tmp_path / "f").read_bytes() == data


def test_files_one_after_the_other_take_the_same_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "_idle", {})
    first, second = os.urandom(9 << 20), os.urandom(9 << 20)
    assert written(tmp_path / "a", [first]) == hashlib.sha256(first).hexdigest()
    blocks = {id(block) for block in buffers._idle[2 << 20]}
    assert written(tmp_path / "b", [second]) == hashlib.sha256(second).hexdigest()
    assert {id(block) for block in buffers._idle[2 << 20]} == blocks
    assert len(blocks) == 3
    assert (tmp_path / "a").read_bytes() + (tmp_path / "b").read_bytes() == first + second


@pytest.mark.skipif(sys.platform != "linux", reason="page caches are asked for on Linux only")
def test_a_large_file_does_not_fill_the_page_cache(tmp_path: Path) -> None:
    with (tmp_path / "probe").open("wb") as probe:
        direct = direct_io.set_direct(probe.fileno(), on=True)
    if not direct:
        pytest.skip("the file system of the tests cannot write directly")
    written(tmp_path / "f", [bytes(64 << 20)])
    with (tmp_path / "f").open("rb") as file:
        cached = pages_in_memory(file.fileno(), 64 << 20)
    assert cached * PAGE < 4 << 20


def pages_in_memory(handle: int, size: int) -> int:
    import ctypes
    import mmap

    mapped = mmap.mmap(handle, size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    place = ctypes.addressof(ctypes.c_char.from_buffer(mapped))
    told = (ctypes.c_ubyte * (size // PAGE))()
    assert ctypes.CDLL(None).mincore(ctypes.c_void_p(place), ctypes.c_size_t(size), told) == 0
    return sum(page & 1 for page in told)


def test_what_a_write_met_is_raised_and_not_hashed_away(tmp_path: Path) -> None:
    code = """
import pathlib, sys
from mmconvert.storage.hashed_file import HashedFile
file = HashedFile(pathlib.Path(sys.argv[1]))
file.stream.write(bytes(3_000_000))
try:
    file.finish()
except OSError as error:
    print(error.errno)
try:
    file.sync_later()
except OSError as error:
    print(error.errno)
"""

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, 1_500_000))

    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", code, str(tmp_path / "f")]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limited, env=environment)
    assert done.stdout.split() == ["27", "27"], done.stderr
