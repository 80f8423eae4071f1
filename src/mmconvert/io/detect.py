"""Tell a file's format from its content, with the reason; never from its name alone."""

import importlib
import math
from collections.abc import Mapping, Sequence
from itertools import combinations, islice
from pathlib import Path

from msgspec.structs import replace

from mmconvert.core.errors import Error
from mmconvert.core.rows import DELIMITERS, READERS, Row
from mmconvert.io import tables
from mmconvert.plugins.format import Format, Sample
from mmconvert.plugins.registry import load_all

_HEAD_ROWS = 8
_SHOWN_NAMES, _NAME_LENGTH = 12, 30
_MOST_KNOWN = 2
"""Formats that are named with their reason where a file is none of theirs though they know it."""


class UnknownFormatError(Error):
    """No format fits a file.

    Attributes:
        details: The message with the reason of every format.
    """

    def __init__(self, message: str, path: Path, refusals: Mapping[str, str], plain: Sequence[str]) -> None:
        """Say what makes a plain table of the file, where it may be one, else why no format fits.

        Args:
            message: What was found.
            path: The file.
            refusals: Format -> why it does not fit.
            plain: Formats among them that take `--map`.
        """
        reasons = "\n".join(f"  {name}: {reason}" for name, reason in refusals.items())
        self.details = f"{message} Change the file, or decide with --format NAME:\n{reasons}"
        nearest = next((refusals[name] for name in plain if name in refusals), None)
        known = [f"{name}: {reason}." for name, reason in refusals.items() if name not in plain and _says_more(reason)]
        further = f"{' '.join(known[:_MOST_KNOWN])} Why the others do not fit: mmconvert inspect {path}".lstrip()
        super().__init__(self.details if nearest is None else f"{message} As a plain table it has {nearest}. {further}")


def _says_more(reason: str) -> bool:
    """Tell whether a reason says more than which columns a file has or lacks: its format has known the file."""
    return not reason.startswith(("no ", "it has ", "neither "))


def sample(path: Path) -> Sample:
    """Read the head of a file.

    Args:
        path: A file, or a folder that a format takes as one input.

    Returns:
        Suffix, field names and first rows; no rows for a suffix that has no reader and for a folder.

    Raises:
        Error: The file is empty or damaged, or all of its first rows are.
    """
    suffix = "" if path.is_dir() else path.suffix.lower()
    if suffix not in READERS:
        return Sample(path, suffix, (), ())
    source = importlib.import_module(f"mmconvert.io.{READERS[suffix]}")
    items = list(islice(source.rows(path), _HEAD_ROWS))
    head = [item.fields for item in items if isinstance(item, Row)]
    if items and not head:
        raise Error("\n".join([f"{path}: none of its first rows can be read.", *map(str, items)]))
    columns = tuple(dict.fromkeys(name for fields in head for name in fields))
    if not head and suffix in DELIMITERS:
        columns = tuple(tables.read_header(path))
    return Sample(path, suffix, columns, tuple(head))


def is_one_input(folder: Path) -> bool:
    """Tell a folder that a format takes as one input, such as a framework's results, from a folder of files."""
    head = Sample(folder, "", (), ())
    plugins: list[Format] = [plugin for _, plugin in load_all("mmconvert.formats")]
    return any("" in plugin.suffixes and plugin.mismatch(head) is None for plugin in plugins)


def list_splits(folder: Path) -> dict[str, Path]:
    """Give the folder of each split of a folder that a format takes as several, by name; empty for any other."""
    plugins: list[Format] = [plugin for _, plugin in load_all("mmconvert.formats")]
    return next((dict(found) for plugin in plugins if (found := plugin.splits(folder))), {})


def guess(path: Path, mapping: tuple[tuple[str, str], ...] = ()) -> tuple[str, str]:
    """Find the one format that a file has.

    Args:
        path: An existing file or folder.
        mapping: Field and column each; whoever names columns has a plain table.

    Returns:
        The format's name, and what it was recognised by.

    Raises:
        Error: No format fits the first rows or most of them, or several do; every candidate is named with its reason.
    """
    if path.is_file() and not path.suffix:
        known = ", ".join(READERS)
        raise Error(f"{path}: its name does not show the kind of file. Rename it to end in {known}.")
    head = sample(path)
    refusals: dict[str, str] = {}
    fitting: list[str] = []
    plugins: dict[str, Format] = dict(load_all("mmconvert.formats"))
    plugins = {name: plugin for name, plugin in plugins.items() if head.suffix in plugin.suffixes}
    mapped = {name: plugin for name, plugin in plugins.items() if plugin.describe is not None}
    plain = {name: plugin for name, plugin in mapped.items() if plugin.fallback}
    plugins = {name: plugin for name, plugin in (mapped if mapping else plugins).items() if name not in plain}
    for name, plugin in plugins.items():
        reason = plugin.mismatch(head)
        if reason is None:
            fitting.append(name)
        else:
            refusals[name] = reason
    fitting = fitting or _fit_most_rows(head, plugins)
    for name, plugin in {} if fitting else plain.items():
        if (reason := None if mapping else plugin.mismatch(head)) is None:
            fitting.append(name)
        else:
            refusals[name] = reason
    if len(fitting) == 1:
        describe = mapped[fitting[0]].describe if fitting[0] in mapped else None
        if describe is not None:
            return fitting[0], f"read with {describe(head, mapping)}"
        shown = ", ".join(head.columns[:_SHOWN_NAMES]) or head.suffix or "the folder's files"
        return fitting[0], f"detected by {shown}"
    if fitting:
        message = f"{path}: may be {' or '.join(fitting)}. Choose one: {' or '.join(f'--format {n}' for n in fitting)}."
        raise Error(message)
    if head.suffix in READERS and not head.columns:
        raise Error(f"{path}: has no rows, so its format cannot be detected. Give a file with rows, or --format NAME.")
    kind = f"{head.suffix} files" if head.suffix else "folders"
    if not refusals:
        raise Error(f"{path}: no format reads {kind}. See: mmconvert list formats")
    found = f" {_describe_head(head)}" if head.columns else ""
    raise UnknownFormatError(f"{path}: none of the formats of {kind} fits.{found}", path, refusals, [*plain])


def _fit_most_rows(head: Sample, plugins: Mapping[str, Format]) -> list[str]:
    """Give the formats of all but a third of the first rows at most: a broken row shall not hide the others."""
    count = len(head.rows)
    for left in range(count - 1, max(1, math.ceil(count * 2 / 3) - 1), -1):
        fitting: dict[str, None] = {}
        for rows in combinations(head.rows, left):
            columns = tuple(dict.fromkeys(name for row in rows for name in row))
            part = replace(head, columns=columns, rows=rows)
            fitting |= {name: None for name, plugin in plugins.items() if plugin.mismatch(part) is None}
        if fitting:
            return list(fitting)
    return []


def _describe_head(head: Sample) -> str:
    names = [name if len(name) <= _NAME_LENGTH else f"{name[:_NAME_LENGTH]}..." for name in head.columns]
    more = ", ..." if len(names) > _SHOWN_NAMES else ""
    return f"Found: {', '.join(map(repr, names[:_SHOWN_NAMES]))}{more}."
