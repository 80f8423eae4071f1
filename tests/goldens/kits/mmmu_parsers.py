"""Golden rules of MMMU's, MMMU-Pro's and lmms-eval's parsers and tables."""

from random import Random

from mmscore.kits.mmmu.grading import MULTIPLE_CHOICE, GradedAnswer, grade
from mmscore.metrics.mmmu_accuracy import AccuracyShare, build_breakdown, count_hits, is_right_choice, mmmu_accuracy
from mmscore.metrics.mmmu_open_match import mmmu_open_match
from mmscore.parsers.lmms_choice import lmms_choice
from mmscore.parsers.lmms_mmmu_choice import lmms_mmmu_choice
from mmscore.parsers.mmmu_choice import draw_choice, mmmu_choice
from mmscore.parsers.mmmu_open import extract_numbers, mmmu_open, normalize_str
from mmscore.parsers.mmmu_pro_choice import mmmu_pro_choice


def _choosing(parse):
    def run(given):
        value = parse(given["response"], given["all_choices"], given["index2ans"]).value
        return {"parsed": value, "fallback": value is None}

    return run


def _seeded(given):
    rng = Random(given["seed"])
    drawn = []
    for letters in given["all_choices"]:
        parsed = mmmu_choice(given["response"], letters, {})
        drawn.append(draw_choice(letters, rng) if parsed.value is None else parsed.value)
    return drawn


def _encoded(values):
    return [["s", value] if isinstance(value, str) else ["f", repr(value)] for value in values]


def _shares(hits):
    return {subject: count_hits(list(values)) for subject, values in hits.items()}


def _table(subjects, digits):
    return {
        n: {"num": share.count, "acc": round(share.accuracy, digits)} for n, share in build_breakdown(subjects).items()
    }


def _eval_only(given):
    answers = {
        key: GradedAnswer(value["question_type"], value["ground_truth"]) for key, value in given["answers"].items()
    }
    graded = grade(given["predictions"], answers)
    return _table(_shares({subject: hits.values() for subject, hits in graded.items()}), 3)


def _parse_and_eval(given):
    rng = Random(given["seed"])
    hits, judged = {}, {}
    for subject in given["subjects_in_order"]:
        hits[subject] = []
        for row in given["outputs"][subject]:
            if row["question_type"] == MULTIPLE_CHOICE:
                letter = mmmu_choice(row["response"], row["all_choices"], row["index2ans"]).value
                letter = letter or draw_choice(row["all_choices"], rng)
                right, shown = is_right_choice(letter, row["answer"]), [letter]
            else:
                right, shown = mmmu_open_match(row["answer"], mmmu_open(row["response"])), []
            hits[subject].append(right)
            judged[row["id"]] = ["Correct" if right else "Wrong", *shown]
    shares = _shares(hits)
    return {
        "table": [[name, row["num"], row["acc"]] for name, row in _table(shares, 3).items()],
        "result_json": {n: {"acc": share.accuracy, "num_example": share.count} for n, share in shares.items()},
        "judge": judged,
    }


def _lmms_aggregate(given):
    hits = {}
    for row in given["results"]:
        right = any(is_right_choice(letter, row["answer"]) for letter in row["parsed_pred"])
        hits.setdefault(row["subdomain"], []).append(right)
    table = _table(_shares(hits), 5)
    return {"overall_acc": table["Overall"]["acc"], "printable": table}


def _ins_level(given):
    return mmmu_accuracy(AccuracyShare(x["acc"], x["num_example"]) for x in given["results"].values()).accuracy


RULES = {
    ("mmmu_eval", "mmmu_eval_only"): _eval_only,
    ("mmmu_eval", "mmmu_parse_and_eval"): _parse_and_eval,
    ("mmmu_eval", "mmmu_ins_level_acc"): _ins_level,
    ("mmmu_eval", "lmms_mmmu_aggregate"): _lmms_aggregate,
    ("mmmu_parse_mc", "mmmu_parse_mc"): _choosing(mmmu_choice),
    ("mmmu_parse_mc", "mmmu_pro_parse_mc"): _choosing(mmmu_pro_choice),
    ("mmmu_parse_mc", "lmms_mmmu_parse_mc"): _choosing(lmms_mmmu_choice),
    ("mmmu_parse_mc", "mmmu_parse_mc_seeded"): _seeded,
    ("mmmu_parse_mc", "lmms_mcq_extract"): lambda given: lmms_choice(given["response"], given["choices"]).value or "",
    ("mmmu_parse_open", "mmmu_parse_open"): lambda given: sorted(_encoded(mmmu_open(given["response"]))),
    ("mmmu_parse_open", "mmmu_normalize_str"): lambda given: _encoded(normalize_str(given["string"])),
    ("mmmu_parse_open", "mmmu_extract_numbers"): lambda given: extract_numbers(given["string"]),
    ("mmmu_parse_open", "mmmu_eval_open"): lambda given: mmmu_open_match(given["gold"], mmmu_open(given["response"])),
}
