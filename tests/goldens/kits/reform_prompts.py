"""Golden rules of ReForm-Eval's preprocessors."""

from random import Random

from mmconvert.kits.reform_eval.dialogue import (
    FIRST_QUERIES,
    Processor,
    dialogue_text,
    mmgpt_text,
    plain_text,
    question_and_answer,
    question_answer_text,
)

CLASSES = {
    "ConvSingleChoiceProcessor": dialogue_text,
    "MMGPTSingleChoiceProcessor": mmgpt_text,
    "SingleChoiceProcessor": question_answer_text,
    "BaseProcessor": lambda sample, processor, _: plain_text(sample, processor),
}


def _processor(given):
    settings = given["processor"]
    mark = settings.get("alphabet_choice") if given["set_mark"] == "__unset__" else given["set_mark"]
    return Processor(
        sep=settings["sep"],
        sep2=settings["sep2"],
        roles=tuple(settings["roles"]),
        system=settings.get("system_msg"),
        first_query=FIRST_QUERIES[settings["first_query_fn"]],
        opening=tuple(map(tuple, settings.get("init_conv") or ())),
        style=settings["sep_style"],
        mark=mark,
        method=settings["infer_method"],
        response_prefix=settings.get("response_prefix"),
    )


def _dialogue(given):
    write = CLASSES[given["processor"]["class"]]
    return {"text": write(given["sample"], _processor(given), Random(given["seed"]))}


def _process_qa(given):
    asked, said = question_and_answer(
        given["question"], given["options"], given["answer"], _processor(given), Random(given["seed"])
    )
    return {"full_question": asked, "full_answer": said}


RULES = {("reform_prompt", "dialogue"): _dialogue, ("reform_prompt", "process_qa"): _process_qa}
