"""Golden rules of MMMU's, MMMU-Pro's and lmms-eval's parsers and tables."""

import json
import tempfile
from pathlib import Path
from random import Random

from goldens.product import score
from mmconvert.core.record import LETTERS
from mmscore.core.predictions.load import open_rows
from mmscore.core.select_recipe import find_recipe
from mmscore.core.table import SCORED
from mmscore.metrics.mmmu_accuracy import AccuracyShare, mmmu_accuracy
from mmscore.metrics.mmmu_open_match import mmmu_open_match
from mmscore.parsers.lmms_choice import lmms_choice
from mmscore.parsers.lmms_mmmu_choice import lmms_mmmu_choice
from mmscore.parsers.mmmu_choice import draw_choice, mmmu_choice
from mmscore.parsers.mmmu_open import extract_numbers, mmmu_open, normalize_str
from mmscore.parsers.mmmu_pro_choice import mmmu_pro_choice
from mmscore.scoring.groups import compute_groups
from support.items import rows_of

MULTIPLE_CHOICE = "multiple-choice"
OPTIONS = [f"option {letter}" for letter in LETTERS]
"""Options of questions whose texts the files leave out."""


def _choosing(parse):
    def run(given):
        value = parse(given["response"], given["all_choices"], given["index2ans"]).value
        return {"parsed": value, "fallback": value is None}

    return run


def _seeded(given):
    rng = Random(given["seed"])
    return [draw_choice(letters, rng) for letters in given["all_choices"]]


def _encoded(values):
    return [["s", value] if isinstance(value, str) else ["f", repr(value)] for value in values]


def _lines(table):
    return {line["name"]: {"num": line["num"], "acc": line["acc"]} for line in table}


def _eval_only(given):
    answers = given["answers"]
    rows = [_final(id, prediction, answers.get(id)) for id, prediction in given["predictions"].items()]
    _, table = score(rows_of(rows), "mmmu_val@eval_only")
    return _lines(table)


def _final(id, prediction, answer):
    row = {"id": id, "prediction": prediction, "options": [], "answers": [], "label": None}
    if answer is not None:
        gold = answer["ground_truth"]
        row |= {"answers": gold if isinstance(gold, list) else [gold], "label": json.dumps(gold)}
    if answer is not None and answer["question_type"] == MULTIPLE_CHOICE:
        row["options"] = OPTIONS
    return row


def _parse_and_eval(given):
    with tempfile.TemporaryDirectory() as folder:
        for subject, rows in given["outputs"].items():
            file = Path(folder, subject, "output.json")
            file.parent.mkdir()
            file.write_text(json.dumps(rows))
        scored, table = score(open_rows(folder, format="mmmu_outputs"), "mmmu_val")
    choice, valid = find_recipe("mmmu_val"), scored.with_status(SCORED)
    subjects = compute_groups(valid, choice.recipe, choice.version, ())["subject"]
    means = {subject: metrics["accuracy"] for subject, metrics in subjects.items()}
    columns = zip(*map(scored.column, ("id", "value", "options")), scored.scores["accuracy"], strict=True)
    return {
        "table": [[line["name"], line["num"], line["acc"]] for line in table],
        "result_json": {name: {"acc": mean.value, "num_example": mean.n} for name, mean in means.items()},
        "judge": {
            id: ["Correct" if right else "Wrong", *([value] if options else [])]
            for id, value, options, right in columns
        },
    }


def _lmms_aggregate(given):
    rows = [_reply(row, number) for row in given["results"] for number in range(len(row["parsed_pred"]))]
    _, table = score(rows_of(rows), "lmms_mmmu")
    printable = _lines(table)
    return {"overall_acc": printable["Overall"]["acc"], "printable": printable}


def _reply(row, number):
    return {
        "id": f"{row['id']}#{number}",
        "sample": row["id"],
        "variant": number,
        "options": OPTIONS,
        "label": json.dumps(row["answer"]),
        "extra": json.dumps({"subdomain": row["subdomain"], "filtered_resps": row["parsed_pred"]}),
        "prediction": f"({row['parsed_pred'][number]})",
    }


def _ins_level(given):
    return mmmu_accuracy(AccuracyShare(x["acc"], x["num_example"]) for x in given["results"].values()).accuracy


OFFICIAL, PRO, LMMS = (f"mmscore score --recipe {name}" for name in ("mmmu_val", "mmmu_pro", "lmms_mmmu"))
RULES = {
    ("mmmu_eval", "mmmu_eval_only"): (f"{OFFICIAL}@eval_only", _eval_only),
    ("mmmu_eval", "mmmu_parse_and_eval"): (OFFICIAL, _parse_and_eval),
    ("mmmu_eval", "mmmu_ins_level_acc"): (OFFICIAL, _ins_level),
    ("mmmu_eval", "lmms_mmmu_aggregate"): (LMMS, _lmms_aggregate),
    ("mmmu_parse_mc", "mmmu_parse_mc"): (OFFICIAL, _choosing(mmmu_choice)),
    ("mmmu_parse_mc", "mmmu_pro_parse_mc"): (PRO, _choosing(mmmu_pro_choice)),
    ("mmmu_parse_mc", "lmms_mmmu_parse_mc"): (LMMS, _choosing(lmms_mmmu_choice)),
    ("mmmu_parse_mc", "mmmu_parse_mc_seeded"): (OFFICIAL, _seeded),
    ("mmmu_parse_mc", "lmms_mcq_extract"): (
        "mmscore score --recipe lmms_mmbench_static",
        lambda given: lmms_choice(given["response"], given["choices"]).value or "",
    ),
    ("mmmu_parse_open", "mmmu_parse_open"): (OFFICIAL, lambda given: sorted(_encoded(mmmu_open(given["response"])))),
    ("mmmu_parse_open", "mmmu_normalize_str"): (OFFICIAL, lambda given: _encoded(normalize_str(given["string"]))),
    ("mmmu_parse_open", "mmmu_extract_numbers"): (OFFICIAL, lambda given: extract_numbers(given["string"])),
    ("mmmu_parse_open", "mmmu_eval_open"): (
        OFFICIAL,
        lambda given: mmmu_open_match(given["gold"], mmmu_open(given["response"])),
    ),
}
