"""The bytes of an image's file are read whole, whatever its size is said to be."""

import os
from pathlib import Path

import pytest

from mmconvert.images.read_file import read_image_file


@pytest.mark.parametrize("said", [None, 0, 3, 50])
@pytest.mark.parametrize(("limit", "read"), [(100, 10), (10, 10), (4, 5)])
def test_a_file_is_read_to_its_end_or_one_byte_over_the_limit(
    said: int | None, limit: int, read: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path.resolve() / "a.png"
    place.write_bytes(b"0123456789")
    stat = os.fstat
    if said is not None:
        # As some network file systems do.
        monkeypatch.setattr(os, "fstat", lambda handle: os.stat_result([*stat(handle)[:6], said, *stat(handle)[7:10]]))
    assert read_image_file(str(place), "a.png", limit) == b"0123456789"[:read]
