"""Where an image is that is not under its image root: named for the user, never taken."""

import os
import posixpath
import shlex
from collections.abc import Collection
from itertools import islice
from pathlib import Path

from mmconvert.core.errors import RowError, show
from mmconvert.core.run_cache import cache_for_run

_MOST_PARENTS, _MOST_ENTRIES = 5, 1_000
"""Folders above an image root, and entries in it, among which a missing image is looked for."""


def find_other_root(root: Path, text: str) -> str | None:
    """Look for a folder under which a path exists: one above the root, or one directly in it.

    It is named and never taken: whose file it is, the user says.
    """
    name = posixpath.normpath(text)
    if name.startswith(("/", "../")) or name == "..":
        return None
    known = _remember_other_root(root, posixpath.dirname(name))
    if not known:
        # Once for all names of a folder: a million missing images are not looked for one by one.
        folders = (*islice(root.parents, _MOST_PARENTS), *_list_subfolders(root))
        known.append(next((folder for folder in folders if os.path.isfile(folder / name)), None))
    folder = known[0]
    if folder is None or not os.path.isfile(folder / name):
        return None
    here = Path.cwd()
    return shlex.quote((folder.relative_to(here) if folder.is_relative_to(here) else folder).as_posix())


def build_outside_error(text: str, endings: Collection[str]) -> RowError:
    """Say that a path leads out of the image roots; the folder of an absolute one is named where an image is there.

    Args:
        text: The path as it is written.
        endings: How names of images end, lower case.
    """
    step = ""
    if (
        os.path.isabs(text)
        and posixpath.splitext(text)[1].lower() in endings
        and "\0" not in text
        and os.path.isfile(text)
    ):
        step = f" Give the folder that has it: --image-root={shlex.quote(posixpath.dirname(text))}"
    return RowError("image.path", "", f"the path leaves the image root {show(text)}.{step}")


@cache_for_run
def _remember_other_root(root: Path, folder: str) -> list[Path | None]:
    """Give the place for what was found for missing images of one folder: a root, None for none."""
    return []


def _list_subfolders(root: Path) -> tuple[Path, ...]:
    try:
        with os.scandir(root) as entries:
            folders = (entry.name for entry in islice(entries, _MOST_ENTRIES) if entry.is_dir(follow_symlinks=False))
            return tuple(root / name for name in sorted(folders) if not name.startswith("."))
    except OSError:
        return ()
