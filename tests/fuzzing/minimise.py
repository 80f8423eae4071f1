"""Make a failing input small: cut pieces out of it as long as it fails the same way."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fuzzing.oracle import Case

TRIES = 300
IMAGE_FOLDER = "images"
"""Folder of a stored input in which its images lie; beside it stands nothing but the input."""


def minimised(data: bytes, fails: Callable[[bytes], bool], tries: int = TRIES) -> bytes:
    """Cut out halves, quarters, ... single bytes while what is left still fails.

    Args:
        data: A failing input.
        fails: Tells whether bytes still fail the same way.
        tries: Most calls of `fails`.
    """
    size = len(data) // 2
    while size and tries:
        at = 0
        while at < len(data) and tries:
            tries -= 1
            shorter = data[:at] + data[at + size :]
            if fails(shorter):
                data = shorter
            else:
                at += size
        size //= 2
    return data


def keep(case: Case, kind_of: Callable[[Case], str | None], folder: Path) -> str | None:
    """Store a failing input, as small as it gets.

    Args:
        case: The input, in a folder of its own with what belongs to it.
        kind_of: Tries a case and gives the kind of its fault, None when there is none.
        folder: Where to store it; emptied first.

    Returns:
        The kind of fault that the stored input shows.
    """
    kind = kind_of(case)
    alone = replace(case, image_root=None)
    if kind is not None and kind_of(alone) == kind:
        case = alone
    if case.path.is_file():

        def fails(data: bytes) -> bool:
            case.path.write_bytes(data)
            return kind_of(case) == kind

        best = minimised(case.path.read_bytes(), fails) if kind is not None else case.path.read_bytes()
        case.path.write_bytes(best)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (shutil.copytree if case.path.is_dir() else shutil.copyfile)(case.path, folder / case.path.name)
    images = case.path.parent / IMAGE_FOLDER
    if case.image_root is not None:
        shutil.copytree(case.image_root, folder, dirs_exist_ok=True)
    elif images.is_dir() and kind_of(replace(case, path=_moved(case, folder))) != kind:
        shutil.copytree(images, folder / IMAGE_FOLDER)
    return kind


def _moved(case: Case, folder: Path) -> Path:
    """Give a copy of the input that has no images beside it, in the sandbox."""
    bare = case.scratch.parent / "bare"
    shutil.rmtree(bare, ignore_errors=True)
    shutil.copytree(folder, bare)
    return bare / case.path.name
