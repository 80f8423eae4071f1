"""MMBench's way to read its table: pandas with all defaults, options A to E, both categories needed.

Words such as `None` become empty cells and whole columns numbers, as `--read-as vlmevalkit` does it; a
question that is lost so is refused, and columns F to Z are no options.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from mmconvert.core.errors import Error, suggest_spelling
from mmconvert.core.record import LETTERS
from mmconvert.core.rows import Rejected, Row
from mmconvert.kits.vlmevalkit.lossy_tables import retype_rows

NEEDED = ("index", "question", "category", "l2-category")
NO_OPTIONS = LETTERS[5:]


def mmbench(path: Path, rows: Iterable[Row | Rejected]) -> Iterator[Row | Rejected]:
    """Give the rows of a table as the benchmark's loader reads them.

    Args:
        path: A .tsv, .csv or .xlsx file.
        rows: Its rows as a format reads them.

    Yields:
        The rows, cells as the texts that Python prints, None for missing ones. Columns F to Z are left
        out, with a remark.

    Raises:
        UsageError: The file is not a table.
        Error: A column that the loader needs is missing; names are compared letter by letter.

    Parity: open-compass/MMBench@20faed3 README, section on loading the data.
    """
    for item in retype_rows(path, rows):
        if isinstance(item, Row):
            for name in NEEDED:
                if name not in item.fields:
                    hint = suggest_spelling(name, item.fields)
                    raise Error(f"{path}:1 {name}: MMBench's loader needs such a column.{hint} Add or rename it.")
            more = [name for name in NO_OPTIONS if item.fields.get(name) is not None]
            fields = {name: value for name, value in item.fields.items() if name not in NO_OPTIONS}
            remarks = ("an option behind E is left out",) if more else ()
            item = replace(item, fields=fields, remarks=(*item.remarks, *remarks))
        yield item


READING = mmbench
