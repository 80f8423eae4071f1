"""Folders of others: what is listed in one lies in it, whatever its links say."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from mmconvert.core.errors import Error, show
from mmconvert.storage.beneath import open_resolved
from mmconvert.storage.hub_fs import HubPath
from mmconvert.storage.source_files import Sources, get_sources


def require_inside(folder: Path, files: Iterable[Path]) -> list[Path]:
    """Refuse files of a folder that are links out of it; a file that the user names may be any link.

    Args:
        folder: The folder that the user named.
        files: Files below it, whether they exist or not.

    Returns:
        The files.

    Raises:
        Error: One leads out of the folder.
    """
    sources = get_sources()
    listed, roots = list(files), tuple(_list_roots(folder.resolve()))
    for file in listed:
        place = file.resolve()
        if not any(place.is_relative_to(root) for root in roots):
            raise Error(f"{file}: is a link that leads out of {folder}. Name the file itself, or copy it there.")
        if sources is not None:
            _expect(sources, file, place)
    return listed


def list_visible_files(folder: Path, pattern: str) -> list[Path]:
    """List the files below a folder whose names are like a pattern, sorted.

    Files and folders with a dot in front are no data: what is known of a dataset stands in `.mmconvert`.

    Args:
        folder: The folder that the user named, here or on the Hub.
        pattern: As for `Path.rglob`.

    Raises:
        Error: As `require_inside`.
    """
    files = (file for file in folder.rglob(pattern) if not is_hidden(file, folder))
    return require_inside(folder, sorted(files))


def is_hidden(file: Path, folder: Path) -> bool:
    """Tell whether the name of a file, or of a folder between it and another one, begins with a dot.

    Example:
        >>> [is_hidden(Path(name), Path("a")) for name in ("a/b.parquet", "a/.b/c.parquet", "a/.b.parquet")]
        [False, True, True]
    """
    return any(name.startswith(".") for name in file.relative_to(folder).parts)


def find_listed_file(path: Path, field: str, named: str) -> Path:
    """Find a file that another one names: beside that one or in the working folder, and nowhere else.

    Args:
        path: The file that names it.
        field: Where the name stands in it, for messages.
        named: The name as it stands there.

    Raises:
        Error: There is no such file, or it is a link that leads elsewhere.
    """
    for folder in (path.parent.resolve(), Path.cwd().resolve()):
        try:
            file = (folder / named).resolve()
            if file.is_relative_to(folder) and file.is_file():
                return require_inside(folder, [file])[0]
        except (OSError, ValueError):  # no name that a file can have
            break
    raise Error(
        f"{path}: {field}: no such file beside it or in the working folder {show(named)}. Run the command where "
        "its path leads to it."
    )


def _expect(sources: Sources, file: Path, place: Path) -> None:
    """Note the file that was found inside: a link that takes the place of it or its folder leads to another one."""
    if isinstance(file, HubPath):
        return
    try:
        handle = open_resolved(str(place))
    except OSError:  # it is not there, or a link is there by now
        sources.expect(str(file), None)
        return
    try:
        sources.expect(str(file), handle)
    finally:
        os.close(handle)


def _list_roots(folder: Path) -> Iterator[Path]:
    yield folder
    # A snapshot in the cache of the Hub's client is made of links to files that stand beside all snapshots.
    for place in (folder, *folder.parents):
        if place.parent.name == "snapshots":
            yield place.parent.with_name("blobs")
