"""Golden rule of VLMEvalKit's whole multiple-choice evaluation, its lossy table reading included."""

import json
import math

from mmconvert.core.errors import Error
from mmconvert.core.record import LETTERS
from mmconvert.io.pandas_dtypes import read_cells
from mmscore.core.recipe import Facts, Item
from mmscore.core.select_recipe import choose_recipe
from mmscore.core.table import SCORED
from mmscore.scoring.score import score_items


def _table(version):
    def run(given):
        items = _items(given)
        facts = Facts(frozenset([given["dataset"]]), frozenset(["multiple_choice"]), frozenset(["lmudata"]))
        recipe = choose_recipe(facts).recipe
        scored = score_items(items, recipe, version)
        score = next(iter(scored.scores))
        table = [
            {name: "NaN" if isinstance(value, float) and math.isnan(value) else value for name, value in line.items()}
            for line in recipe.table(scored.with_status(SCORED), version)
        ]
        hits = {i: int(v) for i, v in zip(scored.column("id"), scored.scores[score], strict=True) if not math.isnan(v)}
        in_order = dict(sorted(hits.items(), key=lambda hit: (len(hit[0]), hit[0])))
        return {"acc": sorted(table, key=lambda line: line.get("split", "")), "hit": in_order}

    return run


def _items(given):
    """Read the dataset as the kit reads its TSV, then the predictions as it reads its xlsx."""
    names = given["columns"]
    dataset = read_cells({name: [row[n] for row in given["rows"]] for n, name in enumerate(names)})
    dataset["prediction"] = given["predictions"][: len(given["rows"])]
    kept = [n for n in range(len(given["rows"])) if n not in given["dropped_rows"]]
    predictions = read_cells({name: [values[n] for n in kept] for name, values in dataset.items()})
    if "answer" not in dataset:
        raise Error("answer: the table has no such column.")
    return [_item(given["dataset"], predictions, row, dataset["answer"][kept[row]]) for row in range(len(kept))]


def _item(dataset, table, row, gold):
    cell = {name: values[row] for name, values in table.items()}
    options = [None if cell.get(letter) is None else str(cell[letter]) for letter in LETTERS]
    while options and options[-1] is None:
        options.pop()
    return Item(
        id=str(cell["index"]),
        group=None if cell.get("g_index") is None else str(cell["g_index"]),
        dataset=dataset,
        question=str(cell["question"]),
        options=options,
        label=None if gold is None else json.dumps(gold),
        category=cell.get("category"),
        l2_category=cell.get("l2-category"),
        split=cell.get("split"),
        prediction="nan" if cell["prediction"] is None else str(cell["prediction"]),
    )


RULES = {
    ("vlmeval_mcq_eval", "mcq_table"): _table("v3"),
    ("vlmeval_mcq_eval", "mcq_table@v2"): _table("v2"),
}
