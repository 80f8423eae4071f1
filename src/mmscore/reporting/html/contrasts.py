"""Results held against each other: models under one recipe, recipes on one file."""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

from mmconvert.core.errors import Error
from mmscore.analysis.compare import compare_results
from mmscore.analysis.explain import explain_gap
from mmscore.scoring.paired_tests import adjust_holm
from mmscore.scoring.scored_file import Result

EACH_WITH_EACH = 4
"""Up to so many files, each is held against each; more are held against the first one only."""


def differences(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Compare files under one recipe, row by row.

    Args:
        results: All of a run.

    Returns:
        For each pair: positions `a` and `b`, and of `mmscore compare --json` the objects `rows` (the ids counted),
        `scores` and `metrics`; scores have `p_holm`, their p-value adjusted for the number of pairs. A pair
        that has no row in common is left out.
    """
    found = []
    for a, b in _pairs_of_files(results):
        try:
            facts = compare_results(results[a], results[b], every=True).to_json()
        except Error:
            continue
        rows = {name: ids if name == "compared" else len(ids) for name, ids in facts["rows"].items()}
        found.append({"a": a, "b": b, "rows": rows, "scores": facts["scores"], "metrics": facts["metrics"]})
    for name in dict.fromkeys(name for one in found for name in one["scores"]):
        having = [one["scores"][name] for one in found if name in one["scores"]]
        for score, p in zip(having, adjust_holm([score["p"] for score in having]), strict=True):
            score["p_holm"] = p
    return found


def _pairs_of_files(results: Sequence[Result]) -> Iterator[tuple[int, int]]:
    """Pair results of one recipe and, as far as files say it, one dataset."""
    for group in _group(results, lambda result: (result.entry.recipe, result.entry.version, result.entry.dataset)):
        if len(group) <= EACH_WITH_EACH:
            yield from combinations(group, 2)
        else:
            yield from ((group[0], other) for other in group[1:])


def gaps(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Explain how far the recipes on one file differ, each held against the first.

    Args:
        results: All of a run.

    Returns:
        For each pair of recipes: positions `a` and `b`, the `scores` that are held against each other, the first of
        each recipe, and of `mmscore explain --json` the object `gap`. Recipes that score no row in common are left out.
    """
    found = []
    for group in _group(results, lambda result: id(result.rows)):
        first, *others = group
        for other in others:
            a, b = results[first].settled, results[other].settled
            names = [next(iter(side.rows.scores)) for side in (a, b)]
            try:
                gap = explain_gap(a, b, names)
            except Error:
                continue
            found.append({"a": first, "b": other, "scores": names, "gap": gap.to_json()})
    return found


def _group(results: Sequence[Result], key: Callable[[Result], object]) -> list[list[int]]:
    """Give the positions of results of one key; of those that have scores."""
    groups: dict[object, list[int]] = {}
    for number, result in enumerate(results):
        if result.scored.scores:
            groups.setdefault(key(result), []).append(number)
    return list(groups.values())
