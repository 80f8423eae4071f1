"""What VLMEvalKit's yes/no recipes share: the word that is read, and whether it is the reference."""

from collections.abc import Callable, Mapping
from typing import Any

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Facts, Item, Recipe
from mmscore.kits.vlmevalkit.rows import KIT, RESULTS, VERSIONS, read_answer_cell
from mmscore.metrics.vlmevalkit_yes_no import vlmevalkit_yes_no
from mmscore.parsers.vlmevalkit_yes_no import vlmevalkit_yes_no as read_yes_no
from mmscore.scoring.yes_no_rates import score_yes

COLUMNS = ("answer", "label")
YES = "Yes"


def parse(item: Item, version: str) -> Parsed:
    """Read yes or no; see `mmscore.parsers.vlmevalkit_yes_no`."""
    return read_yes_no(item.prediction)


def score_accuracy(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    """Give a row its `score_accuracy`: 1.0 where the word is the reference as the table spells it."""
    return {"accuracy": float(vlmevalkit_yes_no(read_answer_cell(item), parsed.value))}


def score_yes_rates(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    """Give a row the scores behind accuracy (`acc`), `precision` and `recall` of `Yes`."""
    answer = read_answer_cell(item)
    right = float(vlmevalkit_yes_no(answer, parsed.value))
    return {"acc": right, **score_yes(right, said=parsed.value == YES, wanted=answer == YES)}


def build_yes_no_recipe(summary: str, default_for: Callable[[Facts], str | None], **others: Any) -> Recipe:
    """Make a recipe for yes/no questions; `others` are further fields of `Recipe`, or other than here."""
    fields = {"versions": VERSIONS, "columns": COLUMNS, "metrics": score_accuracy, "results": RESULTS, **others}
    judges = ("vlmevalkit_yes_no",)
    return Recipe(summary=summary, parity=KIT, parse=parse, default_for=default_for, judges=judges, **fields)
