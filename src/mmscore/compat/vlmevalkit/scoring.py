"""The kit's own benchmarks scored by the recipes that give its numbers."""

import json
import os
from collections.abc import Mapping
from typing import Any

import pandas as pd

from mmconvert.core.errors import UsageError, suggest_spelling
from mmscore.core.predictions.load import open_rows
from mmscore.core.recipe import OWN
from mmscore.core.report import Entry
from mmscore.core.select_recipe import RecipeChoice, choose_recipe, find_recipe, gather_facts
from mmscore.scoring.evaluate import score
from mmscore.scoring.judging.request import JudgeRequest

RULES_ONLY = ("exact_matching", "", None)
"""Values of `model` by which nobody is asked."""

_WITHOUT_EFFECT = ("verbose", "retry", "timeout", "use_verifier", "use_vllm", "key", "dataset")
_KNOWN = ("model", "nproc", "api_nproc", "api_base", "base_url", "temperature", "max_tokens")


def kit_result(eval_file: str, dataset: str, judge_kwargs: Mapping[str, Any], recipe: str = "") -> Any:
    """Score a file of predictions as the kit does.

    Args:
        eval_file: `{model}_{dataset}.xlsx`, or another result file.
        dataset: The benchmark.
        judge_kwargs: What the kit's `evaluate` takes: `model` (`exact_matching` for none), `nproc`, `api_base`.
        recipe: The recipe where the benchmark's name tells none of the kit's; "" for none.

    Returns:
        The kit's table as a DataFrame; a dict of the numbers where the kit has none.

    Raises:
        UsageError: No recipe fits the benchmark, an argument is unknown, or a judge must be named.
        Error: The file is damaged.
    """
    entry = kit_entry(eval_file, dataset, judge_kwargs, recipe)
    if entry.table:
        return pd.DataFrame(list(entry.table))
    return {name: estimate.value for name, estimate in entry.metrics.items()}


def kit_entry(
    predictions: str, dataset: str, judge_kwargs: Mapping[str, Any], recipe: str = "", *, model: str | None = None
) -> Entry:
    """Score predictions of any form as the kit does; see `kit_result`."""
    chosen = _choice(predictions, dataset, recipe)
    request = judge_request(judge_kwargs, chosen)
    report = score(predictions, chosen.name, dataset=dataset, judge=request, model=model)
    return report.entries[0]


def _choice(predictions: str, dataset: str, recipe: str) -> RecipeChoice:
    try:
        fitting = choose_recipe(gather_facts(open_rows(predictions), dataset))
    except UsageError:
        if not recipe:
            raise
        return find_recipe(recipe)
    return find_recipe(recipe) if recipe and fitting.recipe.parity == OWN else fitting


def judge_request(judge_kwargs: Mapping[str, Any], choice: RecipeChoice) -> JudgeRequest | None:
    """Read the kit's arguments of a judge.

    Returns:
        The judge; None where nobody is to be asked.

    Raises:
        UsageError: An argument is unknown, or the recipe has no judge.
    """
    for name in judge_kwargs:
        if name not in (*_KNOWN, *_WITHOUT_EFFECT):
            raise UsageError(f"no judge argument {name!r}.{suggest_spelling(name, _KNOWN)} Known: {', '.join(_KNOWN)}.")
    model = judge_kwargs.get("model")
    if model in RULES_ONLY:
        return None
    if not choice.recipe.judges:
        raise UsageError(f"recipe {choice.name!r} knows no judge. Leave the judge out, or name exact_matching.")
    address = judge_kwargs.get("api_base") or judge_kwargs.get("base_url") or os.environ.get("OPENAI_API_BASE")
    generation = {name: judge_kwargs[name] for name in ("temperature", "max_tokens") if name in judge_kwargs}
    return JudgeRequest(
        name=choice.recipe.judges[0],
        model=model,
        base_url=str(address).removesuffix("/chat/completions") if address else None,
        concurrency=int(judge_kwargs.get("nproc") or judge_kwargs.get("api_nproc") or 8),
        generation=json.dumps(generation),
    )
