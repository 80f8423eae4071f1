"""VLMEvalKit's way to read a table: pandas with all defaults, which loses words and types.

`None`, `NA`, `null`, `nan` and their like become empty cells, and a column that looks like numbers or
truth values becomes numbers or truth values as a whole (`007` is 7, and 7.0 where a cell is empty). A
question that is lost is asked as `nan`, a prediction that is lost is scored as `nan`.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from mmconvert.core.rows import Rejected, Row
from mmconvert.kits.vlmevalkit.lossy_tables import retype_rows

_PRINTED = ("question", "prediction", "answer")
"""Columns of which the framework prints what is lost."""


def vlmevalkit(path: Path, rows: Iterable[Row | Rejected]) -> Iterator[Row | Rejected]:
    """Give the rows of a table as the framework reads them.

    Args:
        path: A .tsv, .csv or .xlsx file.
        rows: Its rows as a format reads them.

    Yields:
        The rows, cells as the texts that the framework prints, None for missing ones.

    Raises:
        UsageError: The file is not a table.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/smp/file.py:load (TSV by `read_csv`, xlsx by
    `read_excel`), vlmeval/dataset/image_base.py. See `mmconvert.io.pandas_dtypes` for what is not kept.
    """
    for item in retype_rows(path, rows):
        if isinstance(item, Row):
            lost = {name: "nan" for name in _PRINTED if name in item.fields and item.fields[name] is None}
            item = replace(item, fields={**item.fields, **lost}) if lost else item
        yield item


READING = vlmevalkit
