"""Golden rules of VLMEvalKit's other tables, their lossy reading included."""

import json

from mmconvert.core.errors import RowError
from mmconvert.core.text.literals import parse_list
from mmconvert.io.pandas_dtypes import read_cells
from mmconvert.kits.vlmevalkit.circular import build_circular_rows
from mmconvert.plugins.registry import load
from mmscore.core.recipe import Item
from mmscore.core.table import SCORED
from mmscore.metrics.vlmevalkit_vcr import JOINERS, Found, read_assistant_text, refuses, vlmevalkit_vcr
from mmscore.metrics.vlmevalkit_yes_no import UNKNOWN
from mmscore.scoring.score import score_items


def _read(columns, rows):
    """Read a table as the kit does; rows are objects, None a missing cell."""
    table = read_cells({name: [row[number] for row in rows] for number, name in enumerate(columns)})
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*table.values(), strict=True)]


def _ocrbench(given):
    recipe = load("mmscore.recipes", "vlmevalkit_ocrbench")
    scored = score_items([_item(row) for row in _read(given["columns"], given["rows"])], recipe)
    (line,) = recipe.table(scored, "1")
    return line


def _captions(given):
    recipe = load("mmscore.recipes", "vlmevalkit_caption")
    scored = score_items([_item(row) for row in _read(given["columns"], given["rows"])], recipe)
    (line,) = recipe.table(scored, "1")
    return line


def _covered_row(given):
    cut = given["prediction_tokens"], given["answer_tokens"]
    answer = given["answer"]
    texts = parse_list(answer) if isinstance(answer, str) else answer
    refused = refuses(read_assistant_text(given["prediction"]))
    joiner = JOINERS[given["language"]]
    found = [
        Found() if refused else vlmevalkit_vcr(cut[0], text, words, joiner)
        for text, words in zip(texts, cut[1], strict=True)
    ]
    return {
        str(number): {
            "crossed_text": text,
            "max_sim_string": one.text,
            "max_sim_val": one.likeness,
            "precision": one.precision,
            "recall": one.recall,
            "f1": one.f1,
            "jaccard": one.jaccard,
            "exact_match": one.exact,
        }
        for number, (text, one) in enumerate(zip(texts, found, strict=True))
    }


def _covered_table(given):
    recipe = load("mmscore.recipes", "vlmevalkit_vcr")
    dataset = f"VCR_{given['language'].upper()}_EASY_ALL"
    rows = _read(given["columns"], given["rows"])
    if not all(isinstance(row["prediction"], str) for row in rows):
        raise RowError("prediction.type", "prediction", "the kit takes texts only here.")
    items = [_item(row)._replace(dataset=dataset) for row in rows]
    (line,) = recipe.table(score_items(items, recipe), "1")
    return {**line, "returned": None}


def _text(cell):
    return "nan" if cell is None else str(cell)


def _name(cell):
    return None if cell is None else str(cell)


def _circular(given):
    rows = build_circular_rows(_read(given["columns"], given["rows"]))
    columns = list(rows[0])
    written = _read(columns, [list(row.values()) for row in rows])
    return {"columns": columns, "rows": [list(row.values()) for row in written]}


def _yes_no(name, score="accuracy", *, by_split=False):
    recipe = load("mmscore.recipes", f"vlmevalkit_{name}")

    def run(given):
        scored = score_items([_item(row) for row in _read(given["columns"], given["rows"])], recipe)
        lines = recipe.table(scored.with_status(SCORED), next(iter(recipe.versions)))
        if by_split:
            lines = sorted(lines, key=lambda line: (line["split"] != "Overall", line["split"]))
        return {
            "score": lines,
            "extracted": [value or UNKNOWN for value in scored.column("value")],
            "hit": [bool(hit) for hit in scored.scores[score]],
        }

    return run


def _item(row):
    return Item(
        id=str(row["index"]),
        group=row.get("image_path"),
        label=json.dumps(_text(row["answer"])),
        category=_name(row.get("category")),
        l2_category=_name(row.get("l2-category")),
        prediction=_text(row["prediction"]),
    )


RULES = {
    ("vlmeval_yorn", "MME_table"): _yes_no("mme"),
    ("vlmeval_yorn", "POPE_table"): _yes_no("pope", "acc", by_split=True),
    ("vlmeval_yorn", "HallusionBench_table"): _yes_no("hallusionbench", "aAcc", by_split=True),
    ("vlmeval_yorn", "AMBER_table"): _yes_no("amber"),
    ("vlmeval_yorn", "VSR_table"): _yes_no("vsr", "acc"),
    ("vlmeval_yorn", "default_yorn_table"): _yes_no("yorn"),
    ("vlmeval_ocrbench", "ocrbench_table"): _ocrbench,
    ("vlmeval_vcr", "vcr_row"): _covered_row,
    ("vlmeval_vcr", "vcr_table"): _covered_table,
    ("vlmeval_coco", "coco_table"): _captions,
    ("vlmeval_circular", "circular"): _circular,
}
