"""Golden rule of VLMEvalKit's whole VQA evaluation, its lossy table reading included."""

import json

from mmconvert.io.pandas_dtypes import read_cells
from mmconvert.plugins.registry import load
from mmscore.core.recipe import Item
from mmscore.metrics.vlmevalkit_vqa import choose_rule, compare_references, read_references
from mmscore.scoring.score import score_items

RECIPE = load("mmscore.recipes", "vlmevalkit_vqa")


def _table(given):
    table = read_cells({name: [row[n] for row in given["rows"]] for n, name in enumerate(given["columns"])})
    texts = {name: ["nan" if cell is None else str(cell) for cell in table[name]] for name in ("answer", "prediction")}
    items = [
        Item(
            dataset=given["dataset"],
            label=json.dumps(texts["answer"][row]),
            prediction=texts["prediction"][row],
            split=table["split"][row] if "split" in table else None,
            category=table["category"][row] if "category" in table else None,
        )
        for row in range(len(given["rows"]))
    ]
    scored = score_items(items, RECIPE)
    method = choose_rule(given["dataset"]).method
    values = [
        compare_references(item.prediction, read_references(json.loads(item.label)), method).values for item in items
    ]
    return {
        "score": list(RECIPE.table(scored, "1")),
        "eval_score": [sum(row) / len(row) if row else "NaN" for row in values],
    }


RULES = {("vlmeval_vqa", "vqa_table"): _table}
