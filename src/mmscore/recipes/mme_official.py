"""MME as its own evaluation tool scores result folders: points for perception and cognition.

A category has 100 times its accuracy, and again its share of images with both questions right.
The two questions of an image are rows that follow each other; rows that name no image are paired
in file order. Categories that MME does not have are not counted.

Parity: BradyFU/Awesome-Multimodal-Large-Language-Models tools/eval_tool/calculation.py.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Facts, Item, Metrics, Recipe, Row
from mmscore.core.table import MISSING, REJECTED, Scored
from mmscore.kits.mme.points import COGNITION, PAIR, PERCEPTION, compute_mme_metrics, count_category_points, score_pairs
from mmscore.parsers.mme_yes_no import mme_yes_no
from mmscore.scoring.yes_no_rates import check_word

TOTALS = dict.fromkeys(PERCEPTION, "perception") | dict.fromkeys(COGNITION, "cognition")
DATASET = "MME"
FORMATS = frozenset(("mme_results",))
LLAVA = frozenset(("llava_answers",))
"""Formats of LLaVA's answers, which its `convert_answer_to_mme.py` brings into MME's form."""


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    if item.category not in TOTALS:
        return {}
    return {"accuracy": float(parsed.value == check_word((item.answer or "").lower()))}


def _adjust_rows(scored: Scored, version: str) -> Scored:
    """Pair the rows of a category that name one image, two by two."""
    seen: Counter[tuple[str, str | None]] = Counter()
    keys: list[tuple[str, str | None, int] | None] = []
    columns = (scored.column(name) for name in ("status", "category", "group"))
    for status, category, image in zip(*columns, strict=True):
        if status in (MISSING, REJECTED) or category is None:
            keys.append(None)
        else:
            keys.append((category, image, seen[category, image] // PAIR))
            seen[category, image] += 1
    return score_pairs(scored, keys)


def _reduce(scored: Scored, version: str) -> Metrics:
    return compute_mme_metrics(scored, TOTALS.get)


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    totals = _reduce(scored, version)
    parts = dict(scored.split("category"))
    lines = []
    for total in dict.fromkeys(TOTALS.values()):
        if total in totals:
            lines.append({"task": total, "score": totals[total].value})
            names = [name for name in TOTALS if TOTALS[name] == total and name in parts]
            lines += [{"task": name, "score": count_category_points(parts[name]).value} for name in names]
    return lines


def _default_for(facts: Facts) -> str | None:
    if facts.formats and facts.formats <= FORMATS:
        return "MME's own result files"
    return "LLaVA's answers to MME" if facts.formats == LLAVA and facts.datasets == {DATASET} else None


RECIPE = Recipe(
    summary="MME as its own evaluation tool scores it, in points",
    parity="MME calculation.py",
    versions={"1": "BradyFU/Awesome-Multimodal-Large-Language-Models, MME eval_tool"},
    columns=("answer", "category"),
    parse=lambda item, version: mme_yes_no(item.prediction),
    metrics=_score_row,
    settle=_adjust_rows,
    reduce=_reduce,
    table=_build_table,
    keep=("category", "group"),
    groups=("category",),
    default_for=_default_for,
    additive=True,
)
