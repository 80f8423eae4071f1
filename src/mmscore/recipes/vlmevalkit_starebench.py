"""STARE as VLMEvalKit reports it: the letter that a response ends with; accuracy, and F1 of yes/no questions.

A category's name is `category_agg`, else `category`, in small letters. `macro` is the plain mean of six parts: 2D, 3D,
folding and tangram with and without visual simulation, temporal, perspective; yes/no parts count by the F1 of `yes`,
the others by accuracy. The question says which letter means yes; F1 leaves out rows of which it, the answer or the
response gives none.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/starebench.py:StareBench.evaluate, with `exact_matching`. Kept
on purpose: a category without rows has the accuracy 0, which counts in `macro`, while one without an F1 does not count.
Not kept: the two texts that repeat the summary; a failed inference is no answer here and counts apart.
"""

import math
import re
from collections.abc import Mapping, Sequence

from mmscore.core.estimates import Estimate
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item, Metrics, Recipe, Row
from mmscore.core.table import SCORED, Scored
from mmscore.kits.vlmevalkit.rows import KIT, RESULTS, VERSIONS, offer_for_names, read_answer_cell
from mmscore.kits.vlmevalkit.spatial import parse_choice, score_choice
from mmscore.nlp.reasoning_tags import INVISIBLE

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/starebench.py:StareBench.task_category, _macro_from_scores
LETTERED = ("2d_trans", "2d_trans_vsim", "3d_trans", "3d_trans_vsim", "temporal", "perspective")
BINARY = ("folding_nets", "folding_nets_vsim", "tangram_puzzle", "tangram_puzzle_vsim")
PARTS = (LETTERED[:2], LETTERED[2:4], BINARY[:2], BINARY[2:], ("temporal",), ("perspective",))
MEANING = re.compile(r"(?i)([A-F])\s*[.:：)）]?\s*(yes|no)")
AGGREGATED, CATEGORY = "extra.category_agg", "category"
YES, SAID_YES = "is_yes", "said_yes"
"""Scores of a row that F1 counts: 1.0 for yes, 0.0 for no."""


def _score(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    meanings = {letter.lower(): word.lower() for letter, word in MEANING.findall(_show(item.question))}
    answer, said = (meanings.get(text.lower()) for text in (read_answer_cell(item), parsed.value or ""))
    scores = dict(score_choice(item, parsed, version))
    return scores | {YES: float(answer == "yes"), SAID_YES: float(said == "yes")} if answer and said else scores


def _show(question: str | None) -> str:
    return (question or "").translate(INVISIBLE)


def _reduce(scored: Scored, version: str) -> Metrics:
    return {"macro": Estimate(_average(_rate(scored)), len(scored)), "accuracy": scored.mean("accuracy")}


def _rate(scored: Scored) -> Mapping[str, tuple[float, float | None]]:
    """Give the accuracy of each category, and its F1 where it has one."""
    scored = scored.with_column("#category", _name_categories(scored))
    parts = dict(scored.split("#category"))
    none = dict.fromkeys((*LETTERED, *BINARY), (0.0, None))
    return none | {
        name: (parts[name].mean("accuracy").value, _compute_f1(parts[name]) if name in BINARY else None)
        for name in none.keys() & parts.keys()
    }


def _name_categories(scored: Scored) -> list[str]:
    column = AGGREGATED if any(scored.column(AGGREGATED)) else CATEGORY
    return [(name or "").strip().lower() for name in scored.column(column)]


def _compute_f1(scored: Scored) -> float | None:
    """Compute the F1 of yes; None where no row has both words."""
    if YES not in scored.scores:
        return None
    is_yes, said_yes = scored.scores[YES], scored.scores[SAID_YES]
    if all(map(math.isnan, is_yes)):
        return None
    right = float(((is_yes == 1) & (said_yes == 1)).sum())
    total = float((is_yes == 1).sum() + (said_yes == 1).sum())
    return 2 * right / total if total else 0.0


def _average(rates: Mapping[str, tuple[float, float | None]]) -> float:
    parts = []
    for names in PARTS:
        values = [rates[name][name in BINARY] for name in names]
        if known := [value for value in values if value is not None]:
            parts.append(sum(known) / len(known))
    return sum(parts) / len(parts)


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    scored = scored.with_status(SCORED)
    rates = _rate(scored)
    line = {"overall_accuracy": scored.mean("accuracy").value * 100}
    for name, (accuracy, f1) in rates.items():
        line[f"{name}_accuracy"] = accuracy * 100
        if f1 is not None:
            line[f"{name}_f1"] = f1 * 100
    return [line | {"macro": _average(rates) * 100}]


RECIPE = Recipe(
    "STARE as VLMEvalKit scores it: accuracy, F1 of yes/no questions, their mean over six parts (exact matching)",
    KIT,
    VERSIONS,
    columns=("answer", "label"),
    optional=("question",),
    parse=parse_choice,
    metrics=_score,
    default_for=offer_for_names("STARE", frozenset(("StareBench", "StareBench_CoT"))),
    reduce=_reduce,
    table=_build_table,
    keep=(CATEGORY, AGGREGATED),
    groups=(CATEGORY,),
    results=RESULTS,
)
