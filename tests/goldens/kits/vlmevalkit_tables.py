"""Golden rules of VLMEvalKit's evaluations, its lossy reading of their tables included."""

import json

from goldens.product import read_predictions, read_table, score
from mmconvert.core.record import LETTERS
from mmconvert.core.text.options import gather_lettered_options
from mmscore.core.recipe import Item
from mmscore.metrics.vlmevalkit_vqa import choose_rule, compare_references, read_references, reduce_matches
from mmscore.metrics.vlmevalkit_yes_no import UNKNOWN
from mmscore.recipes.vlmevalkit_vcr import covered_texts, find_covered_texts
from support.items import rows_of

CONVERT = "mmconvert convert --read-as vlmevalkit"
SCORE = "mmscore score --recipe"
MULTIPLE_CHOICE = {"dataset": None, "task": "multiple_choice", "source.format": "lmudata"}


def _scored(recipe, given, dataset):
    rows = read_predictions(given["columns"], given["rows"], dataset)
    return score(rows, recipe, dataset=dataset)


def _line(recipe, dataset):
    return f"{SCORE} {recipe}", lambda given: _scored(recipe, given, dataset)[1][0]


def _yes_no(recipe, score):
    def encoded(given):
        scored, table = _scored(recipe, given, given["dataset"])
        extracted = [value or UNKNOWN for value in scored.column("value")]
        return {"score": table, "extracted": extracted, "hit": scored.scores[score].tolist()}

    return f"{SCORE} {recipe}", encoded


def _covered_row(given):
    dataset, label = _covered_dataset(given), json.dumps(given["answer"])
    item = Item(prediction=given["prediction"], label=label, dataset=dataset)
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
        for number, (text, one) in enumerate(zip(covered_texts(item), find_covered_texts(item), strict=True))
    }


def _covered_table(given):
    _, table = _scored("vlmevalkit_vcr", given, _covered_dataset(given))
    return {**table[0], "returned": None}


def _covered_dataset(given):
    return f"VCR_{given['language'].upper()}_EASY_ALL"


def _vqa(given):
    dataset = given["dataset"]
    _, table = _scored("vlmevalkit_vqa", given, dataset)
    rows = read_table(given["columns"], given["rows"])
    return {"score": table, "eval_score": [_mean_match(row, choose_rule(dataset)) for row in rows]}


def _mean_match(row, rule):
    return reduce_matches(
        compare_references(row["prediction"], read_references(row["answer"]), rule.method).values, "mean"
    )


def _multiple_choice(version):
    def run(given):
        dataset = read_table(given["columns"], given["rows"])
        kept = [n for n in range(len(dataset)) if n not in given["dropped_rows"]]
        predictions = [[*dataset[n].values(), given["predictions"][n]] for n in kept]
        rows = read_table([*given["columns"], "prediction"], predictions)
        facts = {**MULTIPLE_CHOICE, "dataset": given["dataset"]}
        asked = [{**facts, **_choice(row), **_reference(dataset[n])} for n, row in zip(kept, rows, strict=True)]
        scored, table = score(rows_of(asked), version=version)
        hits, *_ = scored.scores.values()
        hits = {id: int(hit) for id, hit in zip(scored.column("id"), hits.tolist(), strict=True) if hit == hit}
        return {"acc": table, "hit": hits}

    return "mmscore score --recipe vlmevalkit_mcq", run


def _choice(row):
    return {
        "id": row["index"],
        "group": row.get("g_index"),
        "question": row["question"],
        "options": gather_lettered_options(row.get(letter) for letter in LETTERS),
        "category": row.get("category"),
        "l2_category": row.get("l2-category"),
        "split": row.get("split"),
        "prediction": row["prediction"],
    }


def _reference(row):
    return {"label": json.dumps(row["answer"])} if "answer" in row else {}


RULES = {
    ("vlmeval_mcq_eval", "mcq_table"): _multiple_choice("v3"),
    ("vlmeval_mcq_eval", "mcq_table@v2"): _multiple_choice("v2"),
    ("vlmeval_yorn", "MME_table"): _yes_no("vlmevalkit_mme", "accuracy"),
    ("vlmeval_yorn", "POPE_table"): _yes_no("vlmevalkit_pope", "acc"),
    ("vlmeval_yorn", "HallusionBench_table"): _yes_no("vlmevalkit_hallusionbench", "aAcc"),
    ("vlmeval_yorn", "AMBER_table"): _yes_no("vlmevalkit_amber", "accuracy"),
    ("vlmeval_yorn", "VSR_table"): _yes_no("vlmevalkit_vsr", "acc"),
    ("vlmeval_yorn", "default_yorn_table"): _yes_no("vlmevalkit_yorn", "accuracy"),
    ("vlmeval_ocrbench", "ocrbench_table"): _line("vlmevalkit_ocrbench", "OCRBench"),
    ("vlmeval_coco", "coco_table"): _line("vlmevalkit_caption", "COCO_VAL"),
    ("vlmeval_vcr", "vcr_row"): ("mmscore score --recipe vlmevalkit_vcr", _covered_row),
    ("vlmeval_vcr", "vcr_table"): ("mmscore score --recipe vlmevalkit_vcr", _covered_table),
    ("vlmeval_vqa", "vqa_table"): ("mmscore score --recipe vlmevalkit_vqa", _vqa),
}
