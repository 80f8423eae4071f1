"""Golden rules of lmms-eval's scorers."""

import json

from mmconvert.plugins.registry import load
from mmscore.core.recipe import Item
from mmscore.metrics.lmms_ocrbench import FORMULAS, lmms_ocrbench
from mmscore.metrics.lmms_vqa import (
    lmms_vqa,
    lmms_vqav2,
    normalize_evalai_answer,
    normalize_evalai_tokens,
    normalize_vqav2_answer,
)
from mmscore.nlp.relaxed_match import is_relaxed_match
from mmscore.nlp.vqa_normalize import DOT_BEFORE_NO_DIGIT, process_digit_article, process_punctuation
from mmscore.parsers.lmms_mme_yes_no import lmms_mme_yes_no
from mmscore.scoring.score import score_items


def _table(name):
    recipe = load("mmscore.recipes", name)

    def run(given):
        items = [
            Item(
                group=str(row["question_id"]),
                label=json.dumps(row["answer"]),
                category=row.get("category"),
                prediction=row["prediction"],
            )
            for row in given["rows"]
        ]
        (line,) = recipe.table(score_items(items, recipe), "0.7")
        return line

    return run


def _mme(given):
    line = dict(_table("lmms_mme")(given))
    totals = {name: line.pop(name) for name in ("mme_perception_score", "mme_cognition_score")}
    return {**totals, "per_category": line}


def _evalai(given):
    text = given["text"]
    return {
        "call": normalize_evalai_answer(text),
        "process_punctuation": process_punctuation(text, DOT_BEFORE_NO_DIGIT),
        "process_digit_article": process_digit_article(text),
        "word_tokenize": normalize_evalai_tokens(text),
    }


def _vqav2(given):
    # Where the test split has no answers, the kit hands the prediction on as it is.
    processed = given["prediction"] if given["answers"] is None else normalize_vqav2_answer(given["prediction"])
    score = lmms_vqav2(given["prediction"], given["answers"] or [])
    return {"exact_match": score, "processed_prediction": processed}


def _textvqa(given):
    score = lmms_vqa(given["prediction"], given["answers"] or [])
    return {"exact_match": score, "processed_prediction": normalize_evalai_answer(given["prediction"])}


def _anls(given):
    recipe = load("mmscore.recipes", "lmms_docvqa")
    item = Item(label=json.dumps(given["references"]), prediction=given["prediction"])
    return recipe.metrics(item, recipe.parse(item, "0.7"), "0.7")["anls"]


def _ocrbench(given):
    return lmms_ocrbench(given["prediction"], given["answer"], formula=given["dataset"] == FORMULAS)


RULES = {
    ("lmms_pope_mme", "lmms_mme_parse"): lambda given: lmms_mme_yes_no(given["prediction"]).value or "other",
    ("lmms_pope_mme", "lmms_mme"): _mme,
    ("lmms_pope_mme", "lmms_pope"): _table("lmms_pope"),
    ("lmms_vqa", "lmms_evalai_process"): _evalai,
    ("lmms_vqa", "lmms_vqav2"): _vqav2,
    ("lmms_vqa", "lmms_textvqa"): _textvqa,
    ("lmms_vqa", "lmms_anls"): _anls,
    ("lmms_vqa", "lmms_relaxed"): lambda given: is_relaxed_match(given["target"], given["prediction"]),
    ("lmms_vqa", "lmms_ocrbench"): _ocrbench,
}
