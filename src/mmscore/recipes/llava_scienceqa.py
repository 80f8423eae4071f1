"""ScienceQA as LLaVA scores its answers: a letter alone, before `. `, or behind `The answer is`; else wrong.

`img_accuracy` counts the questions that have an image. Every question of the key must have an answer: the script counts
a question without one as wrong, here it is missing.

Parity: haotian-liu/LLaVA@c121f04 llava/eval/eval_science_qa.py.
"""

import json
import re
from collections.abc import Mapping

from mmconvert.core.errors import RowError
from mmscore.core.parsed import UNPARSED, Parsed
from mmscore.core.recipe import Item, NoReferenceError, Recipe, has_options
from mmscore.kits.llava.answers import VERSIONS, offer_for

OPTIONS = tuple("ABCDE")
_ANSWER = re.compile(r"The answer is ([A-Z]).")


def _parse(item: Item, version: str) -> Parsed:
    text = item.prediction
    if text in OPTIONS:
        return Parsed(text, "letter alone", (0, 1))
    if len(text) >= 3 and text[0] in OPTIONS and text[1:3] == ". ":
        return Parsed(text[0], "letter and dot", (0, 1))
    found = [*_ANSWER.finditer(text)]
    return Parsed(found[0][1], "The answer is", found[0].span(1)) if len(found) == 1 else UNPARSED


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    if item.answer is None:
        raise NoReferenceError("answer")
    allowed = OPTIONS[: len(item.options)]
    right = float(parsed.value in allowed and parsed.value == item.answer)
    return {"accuracy": right, **({"img_accuracy": right} if _has_image(item) else {})}


def _has_image(item: Item) -> bool:
    try:
        fields = json.loads(item.extra)
    except (ValueError, RecursionError):
        raise RowError("extra.json", "extra", "expected a JSON object. Write the column as one.") from None
    return isinstance(fields, dict) and bool(fields.get("image"))


RECIPE = Recipe(
    summary="ScienceQA as LLaVA's eval_science_qa.py scores answers",
    parity="LLaVA eval_science_qa.py",
    versions=VERSIONS,
    columns=("options", "answer"),
    optional=("extra",),
    parse=_parse,
    metrics=_score_row,
    default_for=offer_for("ScienceQA", "scienceqa"),
    has_options=has_options,
)
