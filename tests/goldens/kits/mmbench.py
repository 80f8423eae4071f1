"""Golden rules of MMBench: its own loader, and lmms-eval's wording and static scoring."""

import io
import tempfile
from pathlib import Path

from PIL import Image

from goldens.rules import refusal_or
from mmconvert.core.errors import Error, RowError
from mmconvert.core.rows import Rejected
from mmconvert.images.loader import decode_base64
from mmconvert.io import tables
from mmconvert.io.pandas_dtypes import read_cells
from mmconvert.plugins.registry import load
from mmconvert.prompts.lmms_mmbench import build_lmms_mmbench_text
from mmconvert.prompts.mmbench import build_mmbench_text, build_options_text, read_question
from mmscore.core.recipe import Item
from mmscore.parsers.lmms_mmbench_option import lmms_mmbench_option
from mmscore.scoring.score import score_items


def _rows(text):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.tsv"
        file.write_text(text, "utf-8", newline="")
        rows = [*tables.rows(file)]
        names = tables.read_header(file)
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
    """Take width and height off the picture; the product's own check stands in `mmconvert.images.loader`."""
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
    question = read_question(rows[given["row"]])
    return {
        "question": _coded(question.question),
        "answer": _coded(question.answer),
        "category": _coded(question.category),
        "l2-category": _coded(question.l2_category),
        "index": _coded(question.index),
        "context": _coded(question.context),
        "options": build_options_text(question.options),
        "options_dict": {letter: _coded(text) for letter, text in question.options.items()},
        "image_size": _size(rows[given["row"]]["image"]),
        "len": len(rows),
        "prompt": refusal_or(lambda: build_mmbench_text(question.question, question.options, question.context)),
    }


def _worded(given):
    closing = given["kwargs"]["post_prompt"] if given["kwargs"] else None
    return build_lmms_mmbench_text(given["doc"], given["lang"], closing)


def _static(given):
    recipe = load("mmscore.recipes", "lmms_mmbench_static")
    items = [
        Item(
            id=str(row["index"]),
            options=[row[letter] for letter in "ABCD"],
            answer=row["answer"],
            category=row["category"],
            l2_category=row["L2-category"],
            prediction=row["prediction"],
        )
        for row in given["results"]
    ]
    scored = score_items(items, recipe)

    def accuracy(part):
        return recipe.reduce(part, "0.7")["circular_accuracy"]

    def by(column):
        means = {name: accuracy(part) for name, part in scored.split(column)}
        return {name: mean.value / 100 for name, mean in means.items() if mean.n}

    overall = accuracy(scored).value / 100
    return {"overall": overall, "category": by("category"), "l2_category": by("l2_category")}


RULES = {
    ("mmbench_prompt", "mmbench_prompt"): _loaded,
    ("mmbench_prompt", "mmbench_prompt_lmms"): _worded,
    ("mmbench_prompt", "lmms_mmbench_static"): _static,
    ("mmbench_prompt", "lmms_mmbench_can_infer"): lambda given: (
        lmms_mmbench_option(given["prediction"], given["choices"]).value or False
    ),
}
