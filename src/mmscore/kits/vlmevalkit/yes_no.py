"""What VLMEvalKit's yes/no recipes share: the word that is read, and whether it is the reference."""

from collections.abc import Mapping

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item
from mmscore.kits.vlmevalkit.rows import read_answer_cell
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
