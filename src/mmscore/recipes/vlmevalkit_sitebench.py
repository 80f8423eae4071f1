"""SITE-Bench as VLMEvalKit reports it: the letter that a response ends with, accuracy and chance-adjusted accuracy.

`caa` is how much of what chance leaves is reached: (hits - chance) / (rows - chance), where a row of n options adds 1/n
to chance; 0 where chance leaves nothing. The options are a list in `candidates`, else in `options`; a row without one
counts as 4. The table has the categories that the framework lists, in percent; one without rows is left out.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/sitebench.py:SiteBenchBase.evaluate,
vlmeval/dataset/utils/spatial_bench/cal_scores.py:compute_mcq_score, compute_caa_score (with `exact_matching`). Not
kept: the two texts that repeat the summary; a failed inference is no answer here and counts apart.
"""

from collections.abc import Sequence

from mmconvert.core.errors import RowError
from mmconvert.core.text.literals import parse_short_literal
from mmscore.core.estimates import Estimate
from mmscore.core.recipe import Metrics, Recipe, Row
from mmscore.core.table import SCORED, Scored
from mmscore.kits.vlmevalkit.rows import KIT, RESULTS, VERSIONS, offer_for_names
from mmscore.kits.vlmevalkit.spatial import parse_choice, score_choice

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/sitebench.py:SiteBenchBase._task_category
CATEGORIES = (
    "counting & existence", "object localization & positioning", "3d information understanding",
    "multi-view & cross-image reasoning", "spatial relationship reasoning", "movement prediction & navigation",
)  # fmt: skip
LISTS = ("extra.candidates", "extra.options")
CHOICES = 4
"""Options of a row that has no list of them."""


def _reduce(scored: Scored, version: str) -> Metrics:
    return {"caa": Estimate(_adjust(scored), len(scored)), "accuracy": scored.mean("accuracy")}


def _adjust(scored: Scored) -> float:
    """Compute the chance-adjusted accuracy of rows that all have a score."""
    lists = next((cells for name in LISTS if any(cells := scored.column(name))), [None] * len(scored))
    chance = sum(1.0 / _count_options(cell) for cell in lists)
    left = len(scored) - chance
    return float((scored.scores["accuracy"].sum() - chance) / left) if left else 0.0


def _count_options(cell: str | None) -> int:
    try:
        options = parse_short_literal(cell or "")
    except RowError:
        return CHOICES
    return len(options) or CHOICES if isinstance(options, list) else CHOICES


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    scored = scored.with_status(SCORED)
    parts = dict(scored.split("category"))
    line = {"overall_accuracy": scored.mean("accuracy").value * 100, "overall_caa": _adjust(scored) * 100}
    for name in CATEGORIES:
        if name in parts:
            line[f"{name}_accuracy"] = parts[name].mean("accuracy").value * 100
            line[f"{name}_caa"] = _adjust(parts[name]) * 100
    return [line]


RECIPE = Recipe(
    "SITE-Bench as VLMEvalKit scores it: accuracy, and what is better than chance (exact matching)",
    KIT,
    VERSIONS,
    columns=("answer", "label"),
    parse=parse_choice,
    metrics=score_choice,
    default_for=offer_for_names("SITE-Bench", frozenset(("SiteBenchImage",))),
    reduce=_reduce,
    table=_build_table,
    keep=("category", *LISTS),
    groups=("category",),
    results=RESULTS,
)
