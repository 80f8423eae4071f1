"""Golden rules of VLMEvalKit's other tables: OCRBench and the circular tool, their lossy reading included."""

from mmconvert.circular_rows import circular_rows
from mmconvert.literals import parse_list
from mmconvert.plugins import load
from mmscore.metrics.vlmevalkit_ocrbench import scoreboard, vlmevalkit_ocrbench

READING = load("mmconvert.readings", "vlmevalkit")


def _read(columns, rows):
    """Read a table as the kit does; rows are objects, None a missing cell."""
    table = READING({name: [row[number] for row in rows] for number, name in enumerate(columns)})
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*table.values(), strict=True)]


def _ocrbench(given):
    rows = _read(given["columns"], given["rows"])
    return scoreboard(
        (
            row["category"],
            vlmevalkit_ocrbench(_text(row["prediction"]), parse_list(_text(row["answer"])), row["category"]),
        )
        for row in rows
    )


def _text(cell):
    return "nan" if cell is None else str(cell)


def _circular(given):
    rows = circular_rows(_read(given["columns"], given["rows"]))
    columns = list(rows[0])
    written = _read(columns, [list(row.values()) for row in rows])
    # The kit's reference to a row is a text, and stays one in the table's text column.
    return {"columns": columns, "rows": [list(row.values()) for row in written]}


RULES = {
    ("vlmeval_ocrbench", "ocrbench_table"): _ocrbench,
    ("vlmeval_circular", "circular"): _circular,
}
