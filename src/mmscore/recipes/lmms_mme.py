"""MME as lmms-eval scores it: points for perception and cognition.

The two rows of one category and question id are an image. A category that MME does not have counts
as cognition. The table needs exactly two rows an image, as the framework does.

Parity: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/mme/utils.py:mme_process_results,
mme_aggregate_results.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from mmconvert.core.errors import Error, show
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item, Recipe, Row
from mmscore.core.table import EXCLUDED, Scored
from mmscore.kits.lmms_eval.rows import COLUMNS, KIT, VERSIONS, offer_for, read_reference, score_first_response
from mmscore.kits.mme.points import PAIR, PERCEPTION, build_points_line, compute_mme_metrics, score_pairs
from mmscore.parsers.lmms_mme_yes_no import lmms_mme_yes_no
from mmscore.scoring.yes_no_rates import check_word

TOTALS = ("mme_perception_score", "mme_cognition_score")


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    answer = check_word(read_reference(item).lower().strip().replace(".", ""))
    return {"accuracy": float(parsed.value == answer)}


def _adjust_rows(scored: Scored, version: str) -> Scored:
    rows = zip(*map(scored.column, ("status", "category", "group")), strict=True)
    keys = [None if image is None or status == EXCLUDED else (category, image) for status, category, image in rows]
    return score_pairs(scored, keys)


def _find_total(category: str) -> str:
    return TOTALS[category not in PERCEPTION]


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    """Lay out totals and categories in one line.

    Raises:
        Error: An image has other than two answered questions.
    """
    counts = Counter(zip(scored.column("category"), scored.column("group"), strict=True))
    if odd := [image for image, count in counts.items() if count != PAIR]:
        raise Error(f"group: {len(odd)} images have not two answered questions, the first {show(odd[0][1])}.")
    return [build_points_line(dict(scored.split("category")), _find_total)]


RECIPE = Recipe(
    summary="MME as lmms-eval scores it, in points",
    parity=KIT,
    versions=VERSIONS,
    columns=COLUMNS,
    parse=lambda item, version: lmms_mme_yes_no(item.prediction),
    metrics=score_first_response(_score_row),
    settle=_adjust_rows,
    reduce=lambda scored, version: compute_mme_metrics(scored, _find_total),
    table=_build_table,
    keep=("category", "group"),
    groups=("category",),
    default_for=offer_for("MME", "mme"),
    additive=True,
)
