"""Golden rules of MMBench: its own loader, and lmms-eval's wording and static scoring."""

import tempfile
from pathlib import Path

from goldens.product import score_groups
from goldens.rules import refusal_or
from mmconvert.core.errors import Error
from mmconvert.prompts.lmms_mmbench import build_lmms_mmbench_text
from mmscore.compat.mmbench import MMBenchDataset, inference_prompt
from mmscore.parsers.lmms_mmbench_option import lmms_mmbench_option
from support.items import rows_of


def _coded(value):
    if value is None:
        return ["none"]
    value = value.item() if hasattr(value, "item") else value
    kind = {str: "s", bool: "b", int: "i", float: "f"}[type(value)]
    return [kind, value if kind in "sb" else repr(value)]


def _loaded(given):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.tsv"
        file.write_text(given["tsv"], "utf-8", newline="")
        dataset = MMBenchDataset(file)
        try:
            sample = dataset[given["row"]]
        except IndexError as error:
            raise Error(str(error)) from None
    coded = ("question", "answer", "category", "l2-category", "index", "context")
    return {
        **{name: _coded(sample[name]) for name in coded},
        "options": sample["options"],
        "options_dict": {letter: _coded(text) for letter, text in sample["options_dict"].items()},
        "image_size": list(sample["img"].size),
        "len": len(dataset),
        "prompt": refusal_or(lambda: inference_prompt(sample)),
    }


def _worded(given):
    closing = given["kwargs"]["post_prompt"] if given["kwargs"] else None
    return build_lmms_mmbench_text(given["doc"], given["lang"], closing)


def _static(given):
    rows = rows_of([_prediction(row) for row in given["results"]])
    metrics, groups = score_groups(rows, "lmms_mmbench_static")
    by = {column: {name: _rate(part) for name, part in parts.items()} for column, parts in groups.items()}
    return {"overall": _rate(metrics), **by}


def _rate(metrics):
    return metrics["circular_accuracy"].value / 100


def _prediction(row):
    return {
        "id": str(row["index"]),
        "options": [row[letter] for letter in "ABCD"],
        "answer": row["answer"],
        "category": row["category"],
        "l2_category": row["L2-category"],
        "prediction": row["prediction"],
    }


RULES = {
    ("mmbench_prompt", "mmbench_prompt"): ("mmscore.compat.mmbench.MMBenchDataset", _loaded),
    ("mmbench_prompt", "mmbench_prompt_lmms"): ("mmconvert convert --prompt lmms_mmbench", _worded),
    ("mmbench_prompt", "lmms_mmbench_static"): ("mmscore score --recipe lmms_mmbench_static", _static),
    ("mmbench_prompt", "lmms_mmbench_can_infer"): (
        "mmscore score --recipe lmms_mmbench_static",
        lambda given: lmms_mmbench_option(given["prediction"], given["choices"]).value or False,
    ),
}
