"""Mixtures: a file that lists the files of a training set and says how much of each is taken."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from mmconvert.core.rows import Rejected, Row
from mmconvert.io.row_files import read_rows
from mmconvert.plugins.format import Context

_NAME = "#name"
"""Field with which a row says whose it is; rows of several files have the same numbers."""


class Portion(msgspec.Struct, frozen=True):
    """What is taken of one entry of a mixture.

    Attributes:
        files: Name and file each; the name begins the ids of the file's rows.
        chosen: Numbers of the records that are taken, counted through all of its files; None for all.
        facts: What the entry says of each of its rows, under names that begin with `#`.
    """

    files: tuple[tuple[str, Path], ...]
    chosen: Collection[int] | None = None
    facts: Mapping[str, Any] = {}


_STRATEGY = re.compile(r"all|(first|end|random)(?::([0-9]{1,12})(%?))?")
STRATEGIES = "all, first:N, end:N or random:N, N a number or a share such as 10%"


def parse_strategy(text: object, count: Callable[[], int]) -> tuple[str, int] | None:
    """Read how much of an entry is taken, as LLaVA-OneVision's mixtures say it; a share is rounded up.

    Args:
        text: One of `STRATEGIES`.
        count: Counts the rows of the entry, where that is needed.

    Returns:
        all, first, end or random, and the number of rows, 0 for all; None where the text says something else.

    Example:
        >>> parse_strategy("first:10%", lambda: 25), parse_strategy("all", lambda: 25), parse_strategy("some", int)
        (('first', 3), ('all', 0), None)
    """
    match = _STRATEGY.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        return None
    if match[2] is None:
        return "all", 0
    asked, rows = int(match[2]), count()
    return match[1], min(rows, -(-asked * rows // 100) if match[3] else asked)


def count_records(files: Sequence[Path]) -> int:
    """Count the records of files, those that will be refused among them."""
    return sum(1 for file in files for _ in read_rows(file))


def read_portions(portions: Sequence[Portion], remarks: Sequence[str]) -> Iterator[Row | Rejected]:
    """Read what is taken, entry by entry.

    Rows are numbered on where a file of the same name comes again, so that a name and a number stand for one row.

    Args:
        portions: The entries.
        remarks: What was noticed about the mixture; it stands on the first row.

    Yields:
        Rows with what their entry says of them.
    """
    counts: Counter[str] = Counter()
    for portion in portions:
        for number, (name, item) in enumerate(_read_files(portion.files, counts)):
            if portion.chosen is not None and number not in portion.chosen:
                continue
            if isinstance(item, Row):
                fields = {**item.fields, _NAME: name, **portion.facts}
                yield Row(fields, item.where, (*remarks, *item.remarks))
                remarks = ()
            else:
                yield item


def _read_files(files: Sequence[tuple[str, Path]], counts: Counter[str]) -> Iterator[tuple[str, Row | Rejected]]:
    for name, file in files:
        before = counts[file.stem]
        for item in read_rows(file):
            counts[file.stem] += 1
            where = replace(item.where, row=before + item.where.row) if before else item.where
            yield name, replace(item, where=where) if before else item


def take_name(fields: dict[str, Any], context: Context) -> Context:
    """Take the name of a row's file out of the row, and give the context in which it tells the row's number."""
    name = fields.pop(_NAME, None)
    return context if name is None else replace(context, id_prefix=f"{context.id_prefix}{name}-")
