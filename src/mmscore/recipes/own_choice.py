"""Multiple choice by our own rules: the best reading of a response, nothing guessed.

`accuracy` counts a response that nothing can be read from as wrong. Two more numbers show how much
depends on that: `accuracy_if_unparsed_dropped` leaves such responses out, `accuracy_if_unparsed_guessed`
gives them the chance of a blind guess. Rows without a reference are left out.

Where questions have several responses, `mean_accuracy`, `pass@k` and `majority_accuracy` count each
question once (see `mmscore.scoring.repeats`). Responses vote for the text of an option, so that options may
stand in another order in each copy.

Parity: own definition.
"""

from collections.abc import Mapping, Sequence

from mmconvert.core.errors import RowError, show
from mmconvert.core.record import LETTERS
from mmconvert.core.text.options import list_letters
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import MEANS, OWN, Facts, Item, Metrics, Recipe, has_options
from mmscore.core.table import Scored
from mmscore.parsers.own_choice import own_choice
from mmscore.scoring.repeats import COLUMNS, QUESTION, compute_repeat_metrics, find_repeats


def _parse(item: Item, version: str) -> Parsed:
    if item.method == "likelihood":
        return Parsed(item.prediction, "likelihood")
    return own_choice(item.prediction, item.options)


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    if item.answer is None:
        return {}
    letters = list_letters(item.options)
    if not letters:
        raise RowError("options.missing", "options", "the row has no options.")
    if len(item.answer) != 1 or item.answer not in letters:
        raise RowError("answer.not_an_option", "answer", f"expected one of {', '.join(letters)} {show(item.answer)}.")
    right = float(parsed.value == item.answer)
    if parsed.value is None:
        return {"accuracy": right, "accuracy_if_unparsed_guessed": 1 / len(letters)}
    return {"accuracy": right, "accuracy_if_unparsed_dropped": right, "accuracy_if_unparsed_guessed": right}


def _list_option_texts(scored: Scored) -> list[str | None]:
    pairs = zip(scored.column("value"), scored.column("options"), strict=True)
    return [None if letter is None else _find_option_text(letter, options or ()) for letter, options in pairs]


def _find_option_text(letter: str, options: Sequence[str | None]) -> str:
    place = LETTERS.find(letter)
    return (options[place] if 0 <= place < len(options) else None) or letter


def _reduce(scored: Scored, version: str) -> Metrics:
    return {**MEANS(scored, version), **compute_repeat_metrics(scored, "accuracy")}


def _default_for(facts: Facts) -> str | None:
    return "multiple-choice samples of no framework" if facts.tasks == {"multiple_choice"} else None


RECIPE = Recipe(
    summary="Multiple choice by our own rules",
    parity=OWN,
    versions={"1": "own definition"},
    columns=("options", "answer", "method"),
    parse=_parse,
    metrics=_score_row,
    keep=(*COLUMNS, "options"),
    settle=lambda scored, version: find_repeats(scored, _list_option_texts).without("options"),
    reduce=_reduce,
    default_for=_default_for,
    joint=(QUESTION,),
    judges=("own",),
    has_options=has_options,
)
