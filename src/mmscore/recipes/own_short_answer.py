"""Short answers by our own rules: what a response states at last, compared with every reference by meaning.

`accuracy` counts a blank response as wrong. Rows without a reference are left out.

Where questions have several responses, `mean_accuracy`, `pass@k` and `majority_accuracy` count each
question once (see `mmscore.scoring.repeats`). Responses vote alike when their normalised texts are equal.

Parity: own definition.
"""

from collections.abc import Mapping

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import MEANS, OWN, Facts, Item, Metrics, Recipe
from mmscore.core.table import Scored
from mmscore.metrics.normalized_match import normalize_text, normalized_match
from mmscore.parsers.own_short_answer import own_short_answer
from mmscore.scoring.repeats import COLUMNS, QUESTION, compute_repeat_metrics, find_repeats

TASKS = frozenset(("vqa", "yes_no", "ocr", "kie"))


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    references = item.answers or ([] if item.answer is None else [item.answer])
    if not references:
        return {}
    return {"accuracy": 0.0 if parsed.value is None else normalized_match(parsed.value, references)}


def _list_texts(scored: Scored) -> list[str | None]:
    return [None if value is None else normalize_text(value) for value in scored.column("value")]


def _reduce(scored: Scored, version: str) -> Metrics:
    return {**MEANS(scored, version), **compute_repeat_metrics(scored, "accuracy")}


def _default_for(facts: Facts) -> str | None:
    return "short answers of no framework" if facts.tasks and facts.tasks <= TASKS else None


RECIPE = Recipe(
    summary="Short answers by our own rules",
    parity=OWN,
    versions={"1": "own definition"},
    columns=("answer", "answers"),
    parse=lambda item, version: own_short_answer(item.prediction),
    metrics=_score_row,
    keep=COLUMNS,
    settle=lambda scored, version: find_repeats(scored, _list_texts),
    reduce=_reduce,
    default_for=_default_for,
    joint=(QUESTION,),
    judges=("own",),
)
