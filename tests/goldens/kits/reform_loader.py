"""Golden rules of ReForm-Eval's data loader, run with the kit's own instructions."""

from functools import cache
from pathlib import Path
from random import Random

from goldens.rules import Whole
from mmconvert.core.errors import Error
from mmconvert.kits.reform_eval.conversation_text import Processor, build_labeled_question
from mmconvert.kits.reform_eval.loader import load
from mmconvert.kits.reform_eval.pools import read_pools
from mmconvert.kits.reform_eval.setup import Setup

ROOT = Path(__file__).resolve().parents[3]


@cache
def _pools():
    return read_pools(ROOT.parent / "shared/data/reform_eval_pools.json")


def _setup(given):
    settings = given["processor"]
    processor = settings and Processor(
        sep=settings["sep"],
        sep2=settings.get("sep2"),
        roles=tuple(settings["roles"]),
        style=settings["sep_style"],
        mark=settings["set_mark"],
        method=given["args"].get("inference_method", "generation"),
        response_prefix=settings["response_prefix"],
    )
    names = ("dataset_name", "formulation", "config")
    return Setup(**{name: given[name] for name in names}, **given["args"], processor=processor, pools=_pools())


def _seen(sample):
    return {name: value for name, value in sample.items() if name != "image"}


def _load(given):
    samples = load(given["data"], _setup(given), Random(given["seed"]))
    return {"len": len(samples), "samples": [_seen(samples[index]) for index in given["indices"]]}


def _walk(case):
    given = case["input"]
    dialogs = load(given["data"], _setup(given), Random(given["seed"]), lambda name: given["image_files_exist"])
    trace = []
    for index, fed in enumerate(case["expected"].get("trace", ())):
        try:
            sample = dialogs[index]
        except Error as error:
            trace.append({"index": index, "error": type(error).__name__})
            continue
        trace.append({"index": index, "sample": _seen(sample), "fed_prediction": fed["fed_prediction"]})
        if given["args"]["online_multi_round"]:
            dialogs.update_history([[(sample["sample_id"], fed["fed_prediction"])]])
    return {"len": len(dialogs), "trace": trace}


def _question_with_options(given):
    text = build_labeled_question(given["sample"], given["option_mark"], Random(given["seed"]))
    return {"question_with_option": text}


LOADER = "mmscore.compat.reform_eval.load_reform_dataset"
RULES = {
    ("reform_loader", "question_with_options"): (LOADER, _question_with_options),
    ("reform_loader", "load_reform_dataset"): (LOADER, _load),
    ("reform_loader", "visdial_walk"): (LOADER, Whole(_walk)),
}
