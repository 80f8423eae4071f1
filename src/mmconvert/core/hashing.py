"""The sha256 of a file that is there."""

import hashlib
from pathlib import Path


def hash_file(path: Path) -> str:
    """Give the sha256 of a file as hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
