"""Mixtures: a file that lists the files of a training set and says how much of each is taken."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
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
