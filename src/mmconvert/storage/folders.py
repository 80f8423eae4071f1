"""Folders of others: what is listed in one lies in it, whatever its links say."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from mmconvert.core.errors import Error
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
