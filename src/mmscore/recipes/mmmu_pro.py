"""MMMU-Pro as its own evaluation script scores model outputs, but for its random letters.

The script draws a letter for a choice that it cannot read, from a generator that nobody seeded.
`accuracy_without_fallback` counts such choices as wrong, `accuracy_expected` gives them the chance of
the draw, which is what the script's number is on average; `fallback_share` says how many there are.

Parity: MMMU-Benchmark/MMMU@bb0b95a mmmu-pro/evaluate.py. Not kept: the draw. A failed request is an object in the
script's own files, which it takes for an empty response and draws for.
"""

from collections.abc import Mapping

from mmconvert.core.errors import RowError, show
from mmconvert.core.record import LETTERS
from mmconvert.core.text.options import list_letters
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Facts, Item, OwnResults, Recipe, has_options
from mmscore.kits.mmmu.fallback import average_undrawn_scores, score_without_draw
from mmscore.parsers.mmmu_pro_choice import mmmu_pro_choice

FORMATS = frozenset(("mmmu_pro_outputs",))
DATASETS = frozenset(("MMMU_Pro",))


def _parse(item: Item, version: str) -> Parsed:
    texts = {letter: text for letter, text in zip(LETTERS, item.options, strict=False) if text is not None}
    return mmmu_pro_choice(item.prediction, list(texts), texts)


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    if item.answer is None:
        raise RowError("answer.missing", "answer", f"the row has no reference {show(None)}. Give --answers.")
    return score_without_draw(parsed.value, item.answer, list_letters(item.options))


def _default_for(facts: Facts) -> str | None:
    if (facts.formats and facts.formats <= FORMATS) or facts.datasets == DATASETS:
        return "answers to MMMU-Pro"
    return None


RECIPE = Recipe(
    summary="MMMU-Pro as its own script scores model outputs, unread choices not drawn",
    parity="MMMU-Pro evaluate.py",
    versions={"1": "MMMU-Benchmark/MMMU@bb0b95a"},
    columns=("options", "answer"),
    parse=_parse,
    metrics=_score_row,
    reduce=average_undrawn_scores,
    groups=("subset", "l2_category", "category"),
    default_for=_default_for,
    results=OwnResults(FORMATS, absent=""),
    has_options=has_options,
)
