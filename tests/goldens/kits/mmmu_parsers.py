"""Golden rules of MMMU's, MMMU-Pro's and lmms-eval's parsers and tables."""

import json
import tempfile
from contextlib import contextmanager
from pathlib import Path
from random import Random

from goldens.product import score, score_groups
from mmconvert.core.record import LETTERS
from mmscore.core.predictions.load import open_rows
from mmscore.metrics.mmmu_accuracy import AccuracyShare, mmmu_accuracy
from mmscore.metrics.mmmu_open_match import mmmu_open_match
from mmscore.parsers.lmms_choice import lmms_choice
from mmscore.parsers.lmms_mmmu_choice import lmms_mmmu_choice
from mmscore.parsers.mmmu_choice import draw_choice, mmmu_choice
from mmscore.parsers.mmmu_open import extract_numbers, mmmu_open, normalize_str
from mmscore.parsers.mmmu_pro_choice import mmmu_pro_choice

SUBJECT = "Math"
TEXTS = {letter: f"option {letter}" for letter in LETTERS}
"""Options of questions whose texts the cases leave out."""
PROMPT = "\n".join(["Which?", *(f"{letter}. {text}" for letter, text in TEXTS.items())])


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
    outputs = [_output(id, response, given["answers"].get(id)) for id, response in given["predictions"].items()]
    with _outputs({SUBJECT: outputs}) as rows:
        _, table = score(rows, "mmmu_val@eval_only")
    return _lines(table)


def _output(id, response, reference):
    """Write a final answer as a model's output, without the fields of a reference that is not there."""
    output = {"id": id, "response": response, "all_choices": list(TEXTS), "index2ans": TEXTS}
    return output | (
        {"question_type": reference["question_type"], "answer": reference["ground_truth"]} if reference else {}
    )


def _parse_and_eval(given):
    with _outputs(given["outputs"]) as rows:
        scored, table = score(rows, "mmmu_val")
        _, groups = score_groups(rows, "mmmu_val")
    means = {subject: metrics["accuracy"] for subject, metrics in groups["subject"].items()}
    columns = zip(*map(scored.column, ("id", "value", "options")), scored.scores["accuracy"], strict=True)
    return {
        "table": [[line["name"], line["num"], line["acc"]] for line in table],
        "result_json": {name: {"acc": mean.value, "num_example": mean.n} for name, mean in means.items()},
        "judge": {
            id: ["Correct" if right else "Wrong", *([value] if options else [])]
            for id, value, options, right in columns
        },
    }


@contextmanager
def _outputs(outputs):
    """Open a folder of outputs as `mmscore score FOLDER` does."""
    with tempfile.TemporaryDirectory() as folder:
        for subject, rows in outputs.items():
            file = Path(folder, subject, "output.json")
            file.parent.mkdir()
            file.write_text(json.dumps(rows))
        yield open_rows(folder, format="mmmu_outputs")


def _lmms_aggregate(given):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "samples_mmmu_val.jsonl")
        file.write_text("".join(json.dumps(_sample(*row)) + "\n" for row in enumerate(given["results"])))
        _, table = score(open_rows(file, format="lmms_eval_samples"), "lmms_mmmu")
    printable = _lines(table)
    return {"overall_acc": printable["Overall"]["acc"], "printable": printable}


def _sample(number, row):
    """Write a logged sample whose responses are read as the letters that the case has."""
    responses = [f"({letter})" for letter in row["parsed_pred"]]
    logged = {"doc_id": number, "input": PROMPT, "target": row["answer"], "filtered_resps": responses}
    return {**logged, "mmmu_acc": row}


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
