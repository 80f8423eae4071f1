"""Golden rules of VLMEvalKit's evaluations, its lossy reading of their tables included."""

import json

import pandas as pd

from goldens.product import score_and_read_workbook, score_workbook, table_file
from mmscore.core.recipe import Item
from mmscore.kits.vlmevalkit.rows import read_answer_cell
from mmscore.metrics.vlmevalkit_vqa import choose_rule, compare_references, read_references, reduce_matches
from mmscore.metrics.vlmevalkit_yes_no import UNKNOWN
from mmscore.recipes.vlmevalkit_vcr import covered_texts, find_covered_texts

SCORE = "mmscore score --recipe"


def _scored(recipe, given, dataset):
    return score_workbook(pd.DataFrame(given["rows"], columns=given["columns"]), recipe, dataset=dataset)


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
    dataset, frame = given["dataset"], pd.DataFrame(given["rows"], columns=given["columns"])
    _, table, rows = score_and_read_workbook(frame, "vlmevalkit_vqa", dataset=dataset)
    return {"score": table, "eval_score": [_mean_match(row, choose_rule(dataset)) for row in rows]}


def _mean_match(row, rule):
    references = read_references(read_answer_cell(row))
    return reduce_matches(compare_references(row.prediction, references, rule.method).values, "mean")


def _multiple_choice(version):
    def run(given):
        with table_file("table.tsv", given["columns"], given["rows"]) as path:
            frame = pd.read_csv(path, sep="\t")
        frame["prediction"] = given["predictions"]
        scored, table = score_workbook(
            frame.drop(index=given["dropped_rows"]), dataset=given["dataset"], version=version
        )
        hits, *_ = scored.scores.values()
        hits = {id: int(hit) for id, hit in zip(scored.column("id"), hits.tolist(), strict=True) if hit == hit}
        return {"acc": table, "hit": hits}

    return "mmscore score --recipe vlmevalkit_mcq", run


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
