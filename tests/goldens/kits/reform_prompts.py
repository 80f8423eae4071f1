"""Golden rules of ReForm-Eval's preprocessors."""

import inspect
from random import Random

from mmconvert.kits.reform_eval.conversation_text import FIRST_QUERIES
from mmscore.compat import reform_eval

LAYER = "mmscore.compat.reform_eval"
UNSET = "__unset__"


def _processor(given):
    settings = given["processor"]
    named = getattr(reform_eval, settings["class"])
    arguments = {name: settings[name] for name in inspect.signature(named).parameters if name in settings}
    if "first_query_fn" in arguments:
        arguments["first_query_fn"] = FIRST_QUERIES[settings["first_query_fn"]]
    processor = named(**arguments)
    if given["set_mark"] != UNSET:
        processor.set_mark(given["set_mark"])
    processor.rng = Random(given["seed"])
    return processor


def _dialogue(given):
    return {"text": _processor(given)(given["sample"])}


def _process_qa(given):
    asked, said = _processor(given).process_qa(given["question"], given["options"], given["answer"])
    return {"full_question": asked, "full_answer": said}


RULES = {
    ("reform_prompt", "dialogue"): (f"{LAYER}.ConvSingleChoiceProcessor", _dialogue),
    ("reform_prompt", "process_qa"): (f"{LAYER}.ConvSingleChoiceProcessor", _process_qa),
}
