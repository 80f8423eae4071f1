"""Golden rules of MMBench: its own loader, and lmms-eval's wording and static scoring."""

import io
import math
import tempfile
from pathlib import Path

from PIL import Image

from goldens.rules import refusal_or
from mmconvert.errors import Error, RowError
from mmconvert.images import decode_base64
from mmconvert.pandas_tables import read_cells
from mmconvert.prompts.lmms_mmbench import lmms_mmbench_text
from mmconvert.prompts.mmbench import mmbench_text, options_text, question_of
from mmconvert.sources import Rejected, tables
from mmscore.parsers.lmms_choice import lmms_choice
from mmscore.parsers.lmms_mmbench_option import lmms_mmbench_option


def _rows(text):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.tsv"
        file.write_text(text, "utf-8", newline="")
        rows = [*tables.rows(file)]
        names = tables.header(file)
    if refused := [row for row in rows if isinstance(row, Rejected)]:
        raise Error(str(refused[0]))
    cells = read_cells({name: [row.fields[name] for row in rows] for name in names})
    return [dict(zip(names, values, strict=True)) for values in zip(*cells.values(), strict=True)]


def _coded(value):
    if value is None:
        return ["none"]
    kind = {str: "s", bool: "b", int: "i", float: "f"}[type(value)]
    return [kind, value if kind in "sb" else repr(value)]


def _size(cell):
    """Take width and height off the picture; the product's own check stands in `mmconvert.images`."""
    if cell is None:
        raise RowError("image.missing", "image", "the cell is empty.")
    try:
        return list(Image.open(io.BytesIO(decode_base64(cell))).size)
    except OSError as error:
        raise RowError("image.format", "image", str(error)) from None


def _loaded(given):
    rows = _rows(given["tsv"])
    if not 0 <= given["row"] < len(rows):
        raise Error("no such row.")
    question = question_of(rows[given["row"]])
    return {
        "question": _coded(question.question),
        "answer": _coded(question.answer),
        "category": _coded(question.category),
        "l2-category": _coded(question.l2_category),
        "index": _coded(question.index),
        "context": _coded(question.context),
        "options": options_text(question.options),
        "options_dict": {letter: _coded(text) for letter, text in question.options.items()},
        "image_size": _size(rows[given["row"]]["image"]),
        "len": len(rows),
        "prompt": refusal_or(lambda: mmbench_text(question.question, question.options, question.context)),
    }


def _worded(given):
    closing = given["kwargs"]["post_prompt"] if given["kwargs"] else None
    return lmms_mmbench_text(given["doc"], given["lang"], closing)


def _static(given):
    """Score in circular groups: every pass must be right; groups without their first pass vanish."""
    right, heads = {}, {}
    for row in given["results"]:
        group = int(row["index"] % 1_000_000)
        right[group] = right.get(group, True) and _chosen(row) == row["answer"]
        if row["index"] == group:
            heads[group] = row
    hits = {group: float(right[group]) for group in heads}

    def by(column):
        parts = {}
        for group, row in heads.items():
            parts.setdefault(row[column], []).append(hits[group])
        return {name: _mean(values) for name, values in parts.items()}

    return {"overall": _mean([*hits.values()]), "category": by("category"), "l2_category": by("L2-category")}


def _chosen(row):
    parsed = lmms_mmbench_option(row["prediction"], {letter: row[letter] for letter in "ABCD"})
    return parsed.value or lmms_choice(row["prediction"], "ABCD").value


def _mean(values):
    return sum(values) / len(values) if values else math.nan


RULES = {
    ("mmbench_prompt", "mmbench_prompt"): _loaded,
    ("mmbench_prompt", "mmbench_prompt_lmms"): _worded,
    ("mmbench_prompt", "lmms_mmbench_static"): _static,
    ("mmbench_prompt", "lmms_mmbench_can_infer"): lambda given: (
        lmms_mmbench_option(given["prediction"], given["choices"]).value or False
    ),
}
