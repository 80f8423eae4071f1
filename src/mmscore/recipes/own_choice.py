"""Multiple choice by our own rules: the best reading of a reply, nothing guessed.

`accuracy` counts a reply that nothing can be read from as wrong. Two more numbers show how much
hangs on that: `accuracy_if_unparsed_dropped` leaves such replies out, `accuracy_if_unparsed_guessed`
gives them the chance of a blind guess. Rows without a reference are left out.

Parity: own definition.
"""

from collections.abc import Mapping

from mmconvert.errors import RowError, got
from mmconvert.options import letters_of
from mmscore.parsed import Parsed
from mmscore.parsers.own_choice import own_choice
from mmscore.recipe import OWN, Facts, Item, Recipe


def _parse(item: Item, version: str) -> Parsed:
    if item.method == "likelihood":
        return Parsed(item.prediction, "likelihood")
    return own_choice(item.prediction, item.options)


def _metrics(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    if item.answer is None:
        return {}
    letters = letters_of(item.options)
    if len(item.answer) != 1 or item.answer not in letters:
        raise RowError("answer.not_an_option", "answer", f"expected one of {', '.join(letters)} {got(item.answer)}.")
    right = float(parsed.value == item.answer)
    if parsed.value is None:
        return {"accuracy": right, "accuracy_if_unparsed_guessed": 1 / len(letters)}
    return {"accuracy": right, "accuracy_if_unparsed_dropped": right, "accuracy_if_unparsed_guessed": right}


def _default_for(facts: Facts) -> str | None:
    return "multiple-choice rows of no kit" if facts.tasks == {"multiple_choice"} else None


RECIPE = Recipe(
    summary="Multiple choice by our own rules",
    parity=OWN,
    versions={"1": "own definition"},
    columns=("options", "answer", "method"),
    parse=_parse,
    metrics=_metrics,
    default_for=_default_for,
    judges=("own",),
)
