"""Golden rules of ReForm-Eval's preprocessors."""

from random import Random

from mmconvert.kits.reform_eval.conversation_text import (
    FIRST_QUERIES,
    Processor,
    build_round,
    format_conversation,
    format_mmgpt,
    format_plain,
    format_question_answer,
)

CLASSES = {
    "ConvSingleChoiceProcessor": format_conversation,
    "MMGPTSingleChoiceProcessor": format_mmgpt,
    "SingleChoiceProcessor": format_question_answer,
    "BaseProcessor": lambda sample, processor, _: format_plain(sample, processor),
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
    asked, said = build_round(
        given["question"], given["options"], given["answer"], _processor(given), Random(given["seed"])
    )
    return {"full_question": asked, "full_answer": said}


RULES = {("reform_prompt", "dialogue"): _dialogue, ("reform_prompt", "process_qa"): _process_qa}
