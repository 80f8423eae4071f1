"""Golden rules of lmms-eval's scorers."""

import json

from goldens.product import score, score_row
from mmscore.metrics.lmms_vqa import normalize_evalai_answer, normalize_evalai_tokens
from mmscore.nlp.relaxed_match import is_relaxed_match
from mmscore.nlp.vqa_normalize import DOT_BEFORE_NO_DIGIT, process_digit_article, process_punctuation
from mmscore.parsers.lmms_mme_yes_no import lmms_mme_yes_no
from support.items import rows_of


def _table(recipe):
    def run(given):
        _, table = score(rows_of([_prediction(number, row) for number, row in enumerate(given["rows"])]), recipe)
        return table[0]

    return run


def _prediction(number, row):
    return {
        "id": str(number),
        "group": str(row["question_id"]),
        "label": json.dumps(row["answer"]),
        "category": row.get("category"),
        "prediction": row["prediction"],
    }


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


def _annotated(recipe):
    def run(given):
        parsed, scores = score_row(recipe, label=json.dumps(given["answers"]), prediction=given["prediction"])
        return {**scores, "processed_prediction": parsed.value}

    return run


def _anls(given):
    _, scores = score_row("lmms_docvqa", label=json.dumps(given["references"]), prediction=given["prediction"])
    return scores["anls"]


def _relaxed(given):
    return is_relaxed_match(given["target"], given["prediction"])


def _ocrbench(given):
    extra, label = json.dumps({"dataset": given["dataset"]}), json.dumps(given["answer"])
    _, scores = score_row("lmms_ocrbench", label=label, extra=extra, prediction=given["prediction"])
    return scores["accuracy"]


SCORE = "mmscore score --recipe"
RULES = {
    ("lmms_pope_mme", "lmms_mme_parse"): (
        f"{SCORE} lmms_mme",
        lambda given: lmms_mme_yes_no(given["prediction"]).value or "other",
    ),
    ("lmms_pope_mme", "lmms_mme"): (f"{SCORE} lmms_mme", _mme),
    ("lmms_pope_mme", "lmms_pope"): (f"{SCORE} lmms_pope", _table("lmms_pope")),
    ("lmms_vqa", "lmms_evalai_process"): (f"{SCORE} lmms_textvqa", _evalai),
    ("lmms_vqa", "lmms_vqav2"): (f"{SCORE} lmms_vqav2", _annotated("lmms_vqav2")),
    ("lmms_vqa", "lmms_textvqa"): (f"{SCORE} lmms_textvqa", _annotated("lmms_textvqa")),
    ("lmms_vqa", "lmms_anls"): (f"{SCORE} lmms_docvqa", _anls),
    ("lmms_vqa", "lmms_relaxed"): (f"{SCORE} lmms_chartqa", _relaxed),
    ("lmms_vqa", "lmms_ocrbench"): (f"{SCORE} lmms_ocrbench", _ocrbench),
}
