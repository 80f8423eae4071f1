"""SPBench as VLMEvalKit reports it: letters by accuracy, numbers by mean relative accuracy, averaged over kinds.

`relative_accuracy` of a number is the share of ten margins, 5 % to 50 % of the reference in steps of 5 %, that it is
within; of a reference of 0 the margins are absolute. `overall` gives each kind of question the same weight.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/spbench.py:SPBench.evaluate, vlmeval/dataset/vsibench.py:
VsiBench.evaluate, _aggregate, vlmeval/dataset/utils/spatial_bench/cal_scores.py:compute_mcq_score, compute_na_score
(with `exact_matching`). Not kept: the two texts that repeat the summary; a row whose kind is unknown, at which the
framework stops, has no score; a failed inference is no answer here and counts apart.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from mmconvert.core.errors import RowError, show
from mmscore.core.estimates import compute_macro
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item, Metrics, Recipe, Row
from mmscore.core.table import SCORED, Scored
from mmscore.kits.vlmevalkit.rows import (
    KIT,
    RESULTS,
    VERSIONS,
    offer_for_names,
    read_answer_cell,
    read_other_cells,
    require_cell,
)
from mmscore.kits.vlmevalkit.spatial import parse_choice, score_choice
from mmscore.parsers.vlmevalkit_spatial_number import vlmevalkit_spatial_number

KIND = "question_type"
LETTERED = ("object_rel_distance", "object_rel_direction")
NUMBERED = ("object_counting", "object_abs_distance", "object_size_estimation")
MARGINS = 1 - np.linspace(0.5, 0.95, 10)
ACCURACY, RELATIVE = "accuracy", "relative_accuracy"
LABELS = {ACCURACY: "accuracy", RELATIVE: "MRA:.5:.95:.05"}


def _parse(item: Item, version: str) -> Parsed:
    numbered = _read_kind(item) in NUMBERED
    return vlmevalkit_spatial_number(item.prediction) if numbered else parse_choice(item, version)


def _score(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    if _read_kind(item) in LETTERED:
        return score_choice(item, parsed, version)
    try:
        reference = float(read_answer_cell(item))
    except ValueError:
        reference = math.nan
    return {RELATIVE: 0.0 if parsed.value is None else compute_relative_accuracy(float(parsed.value), reference)}


def compute_relative_accuracy(number: float, reference: float) -> float:
    """Compute the share of margins that a number is within; 0.0 where the reference is none.

    Example:
        >>> compute_relative_accuracy(11, 10), compute_relative_accuracy(0.3, 0)
        (0.9, 0.5)
    """
    if not math.isfinite(reference) or not math.isfinite(number):
        return 0.0
    distance = abs(number - reference if reference == 0 else (number - reference) / reference)
    return float((distance <= MARGINS).mean())


def _read_kind(item: Item) -> str:
    """Give the kind of a question.

    Raises:
        RowError: The row has none, or one that the benchmark does not have.
    """
    kind = require_cell(read_other_cells(item), KIND)
    if kind not in (*LETTERED, *NUMBERED):
        message = f"expected one of {', '.join((*LETTERED, *NUMBERED))} {show(kind)}. Keep the framework's column."
        raise RowError("extra.kind", f"extra.{KIND}", message)
    return kind


def _reduce(scored: Scored, version: str) -> Metrics:
    kinds = [rows.mean(ACCURACY if name in LETTERED else RELATIVE) for name, rows in scored.split(f"extra.{KIND}")]
    return {"overall": compute_macro(kinds)} | {name: scored.mean(name) for name in LABELS if name in scored.scores}


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    line: dict[str, float] = {}
    for name, rows in scored.with_status(SCORED).split(f"extra.{KIND}"):
        score = ACCURACY if name in LETTERED else RELATIVE
        line[f"{name}_{LABELS[score]}"] = rows.mean(score).value * 100
    return [{"overall": math.fsum(line.values()) / len(line)} | line]


RECIPE = Recipe(
    "SPBench as VLMEvalKit scores it: accuracy of letters, relative accuracy of numbers (exact matching)",
    KIT,
    VERSIONS,
    columns=("answer", "label", "extra"),
    parse=_parse,
    metrics=_score,
    default_for=offer_for_names(
        "SPBench", frozenset(f"SPBench-{part}{kind}" for part in ("MV", "SI") for kind in ("", "_CoT"))
    ),
    reduce=_reduce,
    table=_build_table,
    keep=(f"extra.{KIND}",),
    groups=(f"extra.{KIND}",),
    results=RESULTS,
)
