"""Golden rules of VLMEvalKit's judges: scripted replies, and the tables after them."""

import math

from mmscore.kits.vlmevalkit.judge_prompts import build_mmvet_prompt
from mmscore.kits.vlmevalkit.judge_responses import infer_judged_option, read_judged_yes_no
from mmscore.kits.vlmevalkit.mathvista import (
    GradedQuestion,
    MathvistaQuestion,
    build_mathvista_table,
    is_right,
    read_directly,
)
from mmscore.kits.vlmevalkit.mmvet import build_mmvet_tables, build_table_row, grade

FAILED_CALL = "Failed to obtain answer via API."
DRAWN = "<random of options + Z>"
UNKNOWN = "Unknown"
DIRECTLY = "Prefetch succeed"


def _asking(decide, scripted):
    """Give a rule one more scripted reply until it decides; failed calls follow the script.

    Returns:
        What it decided, and how many replies it took.
    """
    replies = []
    while (decided := decide(replies)) is None:
        replies.append(scripted[len(replies)] if len(replies) < len(scripted) else FAILED_CALL)
    return decided, len(replies)


def _option(given):
    options = {letter: str(text) for letter, text in given["options"].items()}
    prediction = str(given["prediction"])
    judged, calls = _asking(lambda replies: infer_judged_option(prediction, options, replies), given["judge_replies"])
    return {"result": {"opt": judged.parsed.value or DRAWN, "log": judged.log}, "n_calls": calls}


def _yes_no(given):
    parsed, calls = _asking(read_judged_yes_no, given["judge_replies"])
    return {"result": parsed.value or UNKNOWN, "n_calls": calls}


def _mmvet(given):
    cells = [str(given["line"][name]) for name in ("question", "answer", "prediction")]
    found, calls = _asking(grade, given["judge_replies"])
    score = 0.0 if found.score is None else found.score
    prompt = build_mmvet_prompt(None, *cells)
    return {
        "result": {"log": found.log, "score": "NaN" if math.isnan(score) else score},
        "n_calls": calls,
        "prompt_tail": prompt[prompt.rindex("\n" + build_table_row(*cells)) :],
    }


def _mmvet_table(given):
    score, fine = build_mmvet_tables((row["category"], float(row["score"])) for row in _lines(given))
    return {"score": score, "fine": fine}


def _post_check(given):
    question = _question(given)
    direct = read_directly(question, str(given["prediction"]))
    return {"prefetch": False if direct is None else direct, "final": is_right(question, str(given["res"]))}


def _mathvista_table(given):
    return build_mathvista_table(
        GradedQuestion(row["task"], row["skills"], row["log"] == DIRECTLY, is_right(_question(row), str(row["res"])))
        for row in _lines(given)
    )


def _lines(given):
    return [dict(zip(given["columns"], row, strict=True)) for row in given["rows"]]


def _question(row):
    return MathvistaQuestion(*(str(row[name]) for name in MathvistaQuestion.__struct_fields__))


SCORE = "mmscore score --recipe"
MMVET, MATHVISTA = (f"{SCORE} vlmevalkit_{name} --judge vlmevalkit_{name}" for name in ("mmvet", "mathvista"))
RULES = {
    ("vlmeval_judge", "mcq_judge_extract"): (f"{SCORE} vlmevalkit_mcq --judge vlmevalkit_option", _option),
    ("vlmeval_judge", "yorn_judge"): (f"{SCORE} vlmevalkit_yorn --judge vlmevalkit_yes_no", _yes_no),
    ("vlmeval_judge", "mmvet_judge"): (MMVET, _mmvet),
    ("vlmeval_judge", "mmvet_table"): (MMVET, _mmvet_table),
    ("vlmeval_judge", "mathvista_post_check"): (MATHVISTA, _post_check),
    ("vlmeval_judge", "mathvista_table"): (MATHVISTA, _mathvista_table),
}
