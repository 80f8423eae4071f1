"""Golden rules of VLMEvalKit's other tables: yes/no, OCRBench, the circular tool; their lossy reading included."""

from mmconvert.circular_rows import circular_rows
from mmconvert.errors import RowError
from mmconvert.literals import parse_list
from mmconvert.plugins import load
from mmscore.metrics.vlmevalkit_ocrbench import scoreboard, vlmevalkit_ocrbench
from mmscore.metrics.vlmevalkit_yes_no import (
    Reply,
    amber,
    by_category,
    hallusion_bench,
    mme,
    pope,
    vlmevalkit_yes_no,
    vsr,
)
from mmscore.parsers.vlmevalkit_yes_no import vlmevalkit_yes_no as extract

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
    return {"columns": columns, "rows": [list(row.values()) for row in written]}


def _yes_no(report, *, any_case=False, needed=()):
    def run(given):
        for column in needed:
            if column not in given["columns"]:
                raise RowError("column.missing", column, "the table has no such column.")
        replies = [_reply(row) for row in _read(given["columns"], given["rows"])]
        return {
            "score": report(replies),
            "extracted": [reply.extracted for reply in replies],
            "hit": [vlmevalkit_yes_no(reply, any_case=any_case) for reply in replies],
        }

    return run


def _reply(row):
    return Reply(
        answer=str(row["answer"]),
        extracted=extract(_text(row["prediction"])).value or "Unknown",
        category=row.get("category"),
        l2_category=row.get("l2-category"),
        image=str(row.get("image_path")),
        index=str(row["index"]),
    )


def _by_split(report):
    return lambda replies: sorted(
        ({"split": name, **values} for name, values in report(replies).items()),
        key=lambda line: (line["split"] != "Overall", line["split"]),
    )


RULES = {
    ("vlmeval_yorn", "MME_table"): _yes_no(lambda replies: [mme(replies)]),
    ("vlmeval_yorn", "POPE_table"): _yes_no(_by_split(pope)),
    ("vlmeval_yorn", "HallusionBench_table"): _yes_no(_by_split(hallusion_bench), needed=["l2-category"]),
    ("vlmeval_yorn", "AMBER_table"): _yes_no(lambda replies: [amber(replies)], any_case=True),
    ("vlmeval_yorn", "VSR_table"): _yes_no(lambda replies: [vsr(replies)]),
    ("vlmeval_yorn", "default_yorn_table"): _yes_no(lambda replies: [by_category(replies)]),
    ("vlmeval_ocrbench", "ocrbench_table"): _ocrbench,
    ("vlmeval_circular", "circular"): _circular,
}
