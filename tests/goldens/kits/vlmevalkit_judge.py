"""Golden rules of VLMEvalKit's judges: scripted replies, and the tables after them."""

import json

from goldens.product import ask_judge
from mmconvert.core.record import LETTERS
from mmscore.kits.vlmevalkit.judge_responses import infer_judged_option, read_judged_yes_no
from mmscore.kits.vlmevalkit.llavabench import OVERALL, build_llavabench_table, parse_pair
from mmscore.kits.vlmevalkit.mathvista import (
    GradedQuestion,
    MathvistaQuestion,
    build_mathvista_table,
    is_right,
    read_directly,
)
from mmscore.kits.vlmevalkit.mmvet import build_mmvet_tables, build_table_row, grade
from mmscore.metrics.vlmevalkit_yes_no import UNKNOWN

DRAWN = "<random of options + Z>"
DIRECTLY = "Prefetch succeed"


def _option(given):
    options, prediction = {letter: str(text) for letter, text in given["options"].items()}, str(given["prediction"])
    listed = [options.get(letter) for letter in LETTERS]
    _, replies = ask_judge(
        "vlmevalkit_mcq", "vlmevalkit_option", given["judge_replies"], prediction=prediction, options=listed
    )
    judged = infer_judged_option(prediction, options, replies)
    return {"result": {"opt": judged.parsed.value or DRAWN, "log": judged.log}, "n_calls": len(replies)}


def _yes_no(given):
    _, replies = ask_judge("vlmevalkit_yorn", "vlmevalkit_yes_no", given["judge_replies"])
    return {"result": read_judged_yes_no(replies).value or UNKNOWN, "n_calls": len(replies)}


def _mmvet(given):
    question, answer, prediction = (str(given["line"][name]) for name in ("question", "answer", "prediction"))
    prompts, replies = ask_judge(
        "vlmevalkit_mmvet",
        "vlmevalkit_mmvet",
        given["judge_replies"],
        question=question,
        label=json.dumps(answer),
        prediction=prediction,
    )
    found = grade(replies)
    return {
        "result": {"log": found.log, "score": found.score},
        "n_calls": len(replies),
        "prompt_tail": prompts[0][prompts[0].rindex("\n" + build_table_row(question, answer, prediction)) :],
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


UNREAD = [-1, -1]
"""What the framework takes for a pair that it cannot read."""


def _llavabench_pair(given):
    return list(parse_pair(given["review"]) or UNREAD)


def _llavabench_table(rows):
    pairs = [parse_pair(row["review"]) for row in rows]
    table = build_llavabench_table(zip([row["category"] for row in rows], pairs, strict=True))
    return {"scores": [list(pair) for pair in pairs], "table": sorted(table, key=_put_overall_first)}


def _put_overall_first(line):
    return line["split"] != OVERALL, line["split"]


def _lines(given):
    return [dict(zip(given["columns"], row, strict=True)) for row in given["rows"]]


def _question(row):
    return MathvistaQuestion(*(str(row[name]) for name in MathvistaQuestion.__struct_fields__))


SCORE = "mmscore score --recipe"
MMVET, MATHVISTA, LLAVABENCH = (
    f"{SCORE} vlmevalkit_{name} --judge vlmevalkit_{name}" for name in ("mmvet", "mathvista", "llavabench")
)
RULES = {
    ("vlmeval_judge", "mcq_judge_extract"): (f"{SCORE} vlmevalkit_mcq --judge vlmevalkit_option", _option),
    ("vlmeval_judge", "yorn_judge"): (f"{SCORE} vlmevalkit_yorn --judge vlmevalkit_yes_no", _yes_no),
    ("vlmeval_judge", "mmvet_judge"): (MMVET, _mmvet),
    ("vlmeval_judge", "mmvet_table"): (MMVET, _mmvet_table),
    ("vlmeval_judge", "mathvista_post_check"): (MATHVISTA, _post_check),
    ("vlmeval_judge", "mathvista_table"): (MATHVISTA, _mathvista_table),
    ("vlmeval_llavabench", "llavabench_parse"): (LLAVABENCH, _llavabench_pair),
    ("vlmeval_llavabench", "llavabench_table"): (LLAVABENCH, _llavabench_table),
}
