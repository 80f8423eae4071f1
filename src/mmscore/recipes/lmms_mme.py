"""MME as lmms-eval scores it: points for perception and cognition.

The two rows of one category and question id are a picture. A category that MME does not have counts
as cognition. The table needs exactly two rows a picture, as the kit does.

Parity: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/mme/utils.py:mme_process_results,
mme_aggregate_results.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from mmconvert.core.errors import Error, got
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Facts, Item, Metrics, Recipe, Row
from mmscore.core.table import EXCLUDED, Scored
from mmscore.kits.lmms_eval.rows import KIT, VERSIONS, is_task, of_first_reply, one_reference
from mmscore.kits.mme.points import PAIR, PERCEPTION, mme_metrics, points_line, with_pairs
from mmscore.parsers.lmms_mme_yes_no import lmms_mme_yes_no
from mmscore.scoring.yes_no_rates import checked_word

TOTALS = ("mme_perception_score", "mme_cognition_score")


def _parse(item: Item, version: str) -> Parsed:
    return lmms_mme_yes_no(item.prediction)


def _metrics(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    answer = checked_word(one_reference(item).lower().strip().replace(".", ""))
    return {"accuracy": float(parsed.value == answer)}


def _settle(scored: Scored, version: str) -> Scored:
    rows = zip(*map(scored.column, ("status", "category", "group")), strict=True)
    keys = [
        None if picture is None or status == EXCLUDED else (category, picture) for status, category, picture in rows
    ]
    return with_pairs(scored, keys)


def _reduce(scored: Scored, version: str) -> Metrics:
    return mme_metrics(scored, _total_of)


def _total_of(category: str) -> str:
    return TOTALS[category not in PERCEPTION]


def _table(scored: Scored, version: str) -> Sequence[Row]:
    """Lay out totals and categories in one line.

    Raises:
        Error: A picture has other than two answered questions.
    """
    counts = Counter(zip(scored.column("category"), scored.column("group"), strict=True))
    if odd := [picture for picture, count in counts.items() if count != PAIR]:
        raise Error(f"group: {len(odd)} pictures have not two answered questions, the first {got(odd[0][1])}.")
    return [points_line(dict(scored.split("category")), _total_of)]


def _default_for(facts: Facts) -> str | None:
    return "lmms-eval's log of MME" if is_task(facts, "mme") else None


RECIPE = Recipe(
    summary="MME as lmms-eval scores it, in points",
    parity=KIT,
    versions=VERSIONS,
    columns=("answer", "answers", "label", "extra", "variant"),
    parse=_parse,
    metrics=of_first_reply(_metrics),
    settle=_settle,
    reduce=_reduce,
    table=_table,
    keep=("category", "group"),
    groups=("category",),
    default_for=_default_for,
    additive=True,
)
