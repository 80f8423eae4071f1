"""The rows of a table with its cells as pandas would have read them, for `--read-as`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from mmconvert.core.errors import UsageError
from mmconvert.core.rows import Rejected, Row
from mmconvert.io.pandas_dtypes import Cell, read_cells
from mmconvert.io.tables import format_row
from mmconvert.kits.vlmevalkit.lmu_table import ROTATION_OF

WORKBOOK = ".xlsx"
SUFFIXES = (".tsv", ".csv", WORKBOOK)

_LONG = 64
_STAND_IN = "text"


def retype_rows(path: Path, rows: Iterable[Row | Rejected]) -> Iterator[Row | Rejected]:
    """Give rows whose cells are the texts that Python prints for pandas' values.

    Args:
        path: The table; its ending tells a workbook from a text.
        rows: All its rows: what a column holds depends on every one of them. They are kept in memory.

    Yields:
        The rows in order, refused ones as they are; None for a cell that pandas takes for missing.

    Raises:
        UsageError: The file is not a table.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"{path}: only a {', '.join(SUFFIXES)} table can be read as pandas reads it.")
    items = [format_row(item) if isinstance(item, Row) else item for item in rows]
    table = [item.fields for item in items if isinstance(item, Row)]
    names = [name for name in dict.fromkeys(name for fields in table for name in fields) if name != ROTATION_OF]
    sheet = path.suffix.lower() == WORKBOOK
    columns = _print_cells({name: [fields.get(name) for fields in table] for name in names}, sheet)
    position = 0
    for item in items:
        if isinstance(item, Row):
            read = {name: columns[name][position] for name in item.fields if name in columns}
            item = replace(item, fields={**item.fields, **read})
            position += 1
        yield item


def _print_cells(columns: Mapping[str, Sequence[Cell]], sheet: bool) -> dict[str, list[str | None]]:
    # An image as base64 makes a column of texts as any other text does; pandas need not see all of it.
    short = {
        name: [_STAND_IN if isinstance(cell, str) and len(cell) > _LONG else cell for cell in cells]
        for name, cells in columns.items()
    }
    read = read_cells(short, sheet=sheet)
    return {
        name: [
            None if value is None else str(value if known is cell else cell)
            for cell, known, value in zip(cells, short[name], read[name], strict=True)
        ]
        for name, cells in columns.items()
    }
