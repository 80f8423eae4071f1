"""In which order files reach the disk: what is renamed into its place must be there before, and the rename after it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

State = tuple[int, int, int, int]


def _state(about: os.stat_result) -> State:
    return about.st_dev, about.st_ino, about.st_mtime_ns, about.st_size


class WriteOrder:
    """Watches `os.fsync` and renames.

    Attributes:
        published: Places that something was renamed to, whatever the name before.
        unsynced: What was renamed although it had changed since it was last forced to the disk.
        open: Folders whose entries changed by a rename and were not forced to the disk since.
    """

    def __init__(self) -> None:
        self.published: list[Path] = []
        self.unsynced: list[Path] = []
        self.open: set[Path] = set()
        self._synced: set[State] = set()

    def note_sync(self, descriptor: int) -> None:
        about = os.fstat(descriptor)
        self._synced.add(_state(about))
        self.open = {folder for folder in self.open if not os.path.samestat(folder.stat(), about)}

    def note_rename(self, source: Path, target: Path) -> None:
        below = list(source.rglob("*")) if source.is_dir() else []
        self.unsynced += [path for path in (source, *below) if _state(path.stat()) not in self._synced]
        self.published.append(target)
        self.open.add(target.parent)


@contextmanager
def watch_writes(place: Path) -> Iterator[WriteOrder]:
    """Record what is forced to the disk, and what is renamed to a place.

    Raises:
        AssertionError: At the end: nothing was renamed to the place, something was before it was on the disk, or the
            rename itself is not.
    """
    order, place = WriteOrder(), place.resolve()
    with pytest.MonkeyPatch.context() as patch:

        def watch_sync(original: Any) -> Any:
            def call(descriptor: int) -> None:
                original(descriptor)
                order.note_sync(descriptor)

            return call

        def watch_rename(original: Any) -> Any:
            def call(source: Any, target: Any, **options: Any) -> None:
                if Path(target).resolve() == place:
                    order.note_rename(Path(source), place)
                original(source, target, **options)

            return call

        patch.setattr(os, "fsync", watch_sync(os.fsync))
        patch.setattr(os, "rename", watch_rename(os.rename))
        patch.setattr(os, "replace", watch_rename(os.replace))
        yield order
    assert order.published == [place]
    assert order.unsynced == []
    assert order.open == set()
