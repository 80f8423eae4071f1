"""The sha256 of a file."""

import hashlib
from pathlib import Path

from mmconvert.core.hashing import hash_file


def test_the_digest_is_that_of_the_bytes(tmp_path: Path) -> None:
    data = bytes(range(250)) * 10_000
    (tmp_path / "f").write_bytes(data)
    assert hash_file(tmp_path / "f") == hashlib.sha256(data).hexdigest()
