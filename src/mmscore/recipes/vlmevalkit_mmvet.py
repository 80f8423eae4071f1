"""MM-Vet as VLMEvalKit reports it: a judge's grades from 0 to 1, in percent, by capability.

Without a judge no row has a score. The table is the framework's first report, in which a row counts for every
capability that its category names; the second, by exact category, is in the groups. Kept on
purpose: in the table a row of a single capability counts twice under its name.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_vqa.py:MMVet.evaluate,
vlmeval/dataset/utils/mmvet.py:MMVet_acc. Not kept: a response of the judge without a number is no
score here, the framework counts it as 0.
"""

from collections.abc import Sequence

import numpy as np

from mmscore.core.recipe import Facts, Metrics, Recipe, Row, parse_whole_response
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.mmvet import CAPABILITIES, build_mmvet_tables
from mmscore.kits.vlmevalkit.rows import JUDGED_KIT, RESULTS, VERSIONS, offer_for

BENCHMARK, KEY, LLAVA = "MM-Vet", "mm_vet", "llava_answers"
"""Name of the benchmark, format of its questions, and of LLaVA's answers to them."""


def _reduce(scored: Scored, version: str) -> Metrics:
    categories = [name or "" for name in scored.column("category")]
    parts = {name: scored.where(np.array([name in category for category in categories])) for name in CAPABILITIES}
    estimates = {name: part.mean("score") for name, part in (("score", scored), *parts.items()) if len(part)}
    return {name: estimate.scale(100, "percent") for name, estimate in estimates.items()}


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    categories = [name or "" for name in scored.column("category")]
    return build_mmvet_tables(zip(categories, scored.scores["score"].tolist(), strict=True))[0]


def _default_for(facts: Facts) -> str | None:
    if facts.datasets == {BENCHMARK} and facts.formats and facts.formats <= {LLAVA, KEY}:
        return "answers to MM-Vet's own questions, which a judge grades"
    return offer_for(BENCHMARK, "MMVet")(facts)


RECIPE = Recipe(
    summary="MM-Vet as VLMEvalKit scores it: a judge's grades",
    parity=JUDGED_KIT,
    versions=VERSIONS,
    columns=("question", "answer", "label"),
    parse=parse_whole_response,
    metrics=lambda item, parsed, version: {},
    reduce=_reduce,
    table=_build_table,
    keep=("category",),
    groups=("category",),
    results=RESULTS,
    default_for=_default_for,
    judges=("vlmevalkit_mmvet",),
    needs_judge=True,
)
