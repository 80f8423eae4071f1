"""Tell the family of a ReForm-Eval item from its fields, and name the fields that a family writes."""

from collections.abc import Mapping
from typing import Any

import msgspec

from mmconvert.core.errors import RowError
from mmconvert.io.columns import restore_integer

_MARKS = (
    ("annos", "Caption"),
    ("region", "RefCOCO"),
    ("method", "WikiHow"),
    ("claim", "MCV"),
    ("rationale_options", "VQAR"),
    ("rationale", "VQRA"),
    ("context", "KVQA"),
    ("questions", "MP3D"),
    ("Image_ID", "ObjectCounting"),
    ("ans_source", "TDIUC"),
)
"""Fields that one family alone has, to be looked for in this order."""


class Shape(msgspec.Struct, frozen=True):
    """Names of the fields of a family's items; "" where it has none.

    Attributes:
        key: The id.
        image: The image.
        question: The question.
        options: The options.
        answer: The answer.
        array: The file is an array of items, not an object with `data`.
    """

    key: str
    image: str
    question: str
    options: str
    answer: str
    array: bool = False


_VQA = Shape("question_id", "image_id", "question", "answer_options", "answer")
_CORE = Shape("question_id", "image", "question", "answer_options", "answer")
_READING = Shape("question_id", "image", "question", "", "answer_txt")
_GT = Shape("", "img", "", "options", "gt")

SHAPES: dict[str, Shape] = {
    **dict.fromkeys(("VQA", "KVQA", "VQRA", "CaptionSelection"), _VQA),
    "VQAR": Shape("question_id", "image_id", "question", "rationale_options", "rationale"),
    "MCV": Shape("instance_id", "image_id", "", "answer_options", "answer"),
    **dict.fromkeys(("Core", "CLEVR", "VSR"), _CORE),
    "MP3D": Shape("question_id", "image", "questions", "answer_options", "answer"),
    "ITM": Shape("", "img", "", "", "gt"),
    "ITS": Shape("", "img", "", "anno", "gt"),
    "SNLI-VE": Shape("", "img", "", "", "gt"),
    **dict.fromkeys(("WikiHow", "MEDIC"), _GT),
    "RefCOCO": Shape("id", "img", "", "options", "gt"),
    "Classification": Shape("id", "image", "question", "options", "answer", array=True),
    "ObjectCounting": Shape("", "Image_ID", "Question", "", "Answer", array=True),
    **dict.fromkeys(("OCR", "KIE"), _READING),
    "TextVQA": Shape("question_id", "image_id", "question", "", "answer"),
    **dict.fromkeys(("Caption", "TextCaps"), Shape("", "img", "", "", "annos")),
}


def find_family(fields: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """Tell the family of an item.

    Args:
        fields: The item.
        facts: The file's other members.

    Returns:
        A key of `families.FAMILIES`.

    Raises:
        RowError: `item.shape`: it is like no family's.

    Example:
        >>> find_family({"img": "", "anno": "a cat", "gt": 1}, {"dataset_name": "MSCOCO"})
        'ITM'
    """
    if "annos" in fields and facts.get("dataset_name") == "textcaps":
        return "TextCaps"
    for name, family in _MARKS:
        if name in fields:
            return family
    if "anno" in fields and "gt" in fields:
        if isinstance(fields["anno"], list):
            return "ITS"
        return "SNLI-VE" if "gt_info" in facts or facts.get("dataset_name") == "SNLI-VE" else "ITM"
    if "gt" in fields and "options" in fields:
        return "MEDIC"
    if "answer_txt" in fields:
        return "OCR" if isinstance(fields.get("question"), list) else "KIE"
    if "answer_options" in fields and "question_id" in fields:
        if "instructs" in facts:
            return "CLEVR"
        if isinstance(fields.get("question"), list):
            return "VSR"
        return "VQA" if "image_id" in fields and not isinstance(restore_integer(fields.get("answer")), int) else "Core"
    if {"id", "image", "question", "options", "answer"} <= fields.keys():
        return "Classification"
    if {"question_id", "image_id", "question", "answer"} <= fields.keys():
        return "TextVQA"
    raise RowError("item.shape", "", f"no family of items has the fields {', '.join(list(fields)[:12]) or '(none)'}.")
