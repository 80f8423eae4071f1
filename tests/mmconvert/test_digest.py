"""The sha256 of a file, at once and while it grows, over the borders of pages and windows."""

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert import digest
from mmconvert.digest import Follower, hash_file


@given(steps=st.lists(st.integers(0, 9_000), max_size=6))
def test_a_growing_file_has_the_digest_of_the_whole(steps: list[int], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("d") / "f"
    data = bytes(range(251)) * (sum(steps) // 251 + 1)
    size = 0
    with path.open("wb", buffering=0) as file:
        follower = Follower(path)
        for step in steps:
            file.write(data[size : size + step])
            size += step
            follower.grown(size)
    assert follower.finish(size) == hash_file(path) == hashlib.sha256(data[:size]).hexdigest()


def test_windows_join(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digest, "_WINDOW", 4096)
    data = bytes(range(250)) * 100
    (tmp_path / "f").write_bytes(data)
    assert hash_file(tmp_path / "f") == hashlib.sha256(data).hexdigest()


def test_a_file_that_shrank_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abc")
    follower = Follower(tmp_path / "f")
    follower.grown(10_000)
    with pytest.raises(ValueError, match="mmap"):
        follower.finish(10_000)
