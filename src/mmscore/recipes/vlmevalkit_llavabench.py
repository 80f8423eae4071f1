"""LLaVA-Bench as VLMEvalKit reports it: a judge's scores of the model's answers and of GPT-4's.

`relative_score` is the model's mean as a percentage of GPT-4's; the other two are means on a scale of 10
to 100. Without a judge no row has a score.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_vqa.py:LLaVABench.evaluate,
vlmeval/dataset/utils/llavabench.py:LLaVABench_score. Not kept: a response of the judge that cannot be read
is no score here, the framework averages -1 in.
"""

from collections.abc import Sequence

from mmscore.core.estimates import Estimate
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Facts, Item, Metrics, Recipe, Row
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.llavabench import Pair, build_llavabench_table, read_reference_facts
from mmscore.kits.vlmevalkit.rows import JUDGED_KIT, RESULTS, VERSIONS, offer_for

BENCHMARK, KEY, LLAVA = "LLaVA-Bench", "llava_bench", "llava_answers"
"""Name of the benchmark, format of its questions, and of LLaVA's answers to them."""


def _parse(item: Item, version: str) -> Parsed:
    read_reference_facts(item)
    return Parsed(item.prediction, "whole response", (0, len(item.prediction)))


def _reduce(scored: Scored, version: str) -> Metrics:
    means = {name: scored.mean(name).scale(10, "points") for name in ("vlm_score", "gpt4_score")}
    return {"relative_score": _compute_relative_score(scored).scale(100, "percent"), **means}


def _compute_relative_score(scored: Scored) -> Estimate:
    """Divide the two means; the error is that of a ratio of means (delta method)."""
    model, gpt4 = scored.mean("vlm_score"), scored.mean("gpt4_score")
    ratio = model.value / gpt4.value
    rest = scored.with_scores(rest=scored.scores["vlm_score"] - ratio * scored.scores["gpt4_score"]).mean("rest")
    if rest.stderr is None or rest.ci95 is None:
        return Estimate(ratio, model.n)
    error = rest.stderr / gpt4.value
    half = (rest.ci95[1] - rest.ci95[0]) / 2 / gpt4.value if error else 0.0
    return Estimate(ratio, model.n, error, (ratio - half, ratio + half))


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    columns = scored.scores["gpt4_score"].tolist(), scored.scores["vlm_score"].tolist()
    categories = [name or "" for name in scored.column("category")]
    return build_llavabench_table(zip(categories, map(Pair, *columns), strict=True))


def _default_for(facts: Facts) -> str | None:
    if facts.datasets == {BENCHMARK} and facts.formats and facts.formats <= {LLAVA, KEY}:
        return "answers to LLaVA-Bench's own questions, which a judge compares with GPT-4's"
    return offer_for(BENCHMARK, "LLaVABench")(facts)


RECIPE = Recipe(
    summary="LLaVA-Bench as VLMEvalKit scores it: a judge's scores beside those of GPT-4's answers",
    parity=JUDGED_KIT,
    versions=VERSIONS,
    columns=("question", "extra"),
    parse=_parse,
    metrics=lambda item, parsed, version: {},
    reduce=_reduce,
    table=_build_table,
    keep=("category",),
    groups=("category",),
    results=RESULTS,
    default_for=_default_for,
    judges=("vlmevalkit_llavabench",),
    needs_judge=True,
)
