"""A file that is changed while it is read, by a transform that a run meets at one of the rows."""

from collections.abc import Mapping
from pathlib import Path

ROW = 30
"""Id of the row at which the change comes."""

_CODE = """
import os

from mmconvert.plugins.transform import Transform


def change(record, parameters, setting):
    if {row!r} in (None, record.id):
        path = {path!r}
        {action}
    yield record


CHANGE = Transform(summary="Change a file", apply=change)
"""

ACTIONS: Mapping[str, str] = {
    "truncated": "os.truncate(path, os.path.getsize(path) - 40)",
    "appended": "open(path, 'ab').write(b' ')",
    "rewritten in its size": "data = open(path, 'rb').read(); open(path, 'wb').write(data)",
    "replaced": "os.link(path, path + '~'); data = open(path, 'rb').read(); stat = os.stat(path); "
    "open(path + '.new', 'wb').write(data); os.utime(path + '.new', ns=(stat.st_atime_ns, stat.st_mtime_ns)); "
    "os.replace(path + '.new', path)",
    "removed": "os.unlink(path)",
}
"""How a file changes; one that is replaced keeps size and time, and is another file all the same."""


def write_change(folder: Path, path: Path, action: str, row: str | None = str(ROW)) -> str:
    """Write the transform that changes a file at a row, None for every row; give the word for `--transform`."""
    code = folder / "change.py"
    code.write_text(_CODE.format(row=row, path=str(path), action=ACTIONS.get(action, action)), encoding="utf-8")
    return f"{code}@CHANGE"
