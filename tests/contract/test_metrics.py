"""What every metric owes: a number within its range for any texts, or an error of ours."""

import itertools
import math
import typing
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import Error
from mmconvert.plugins.registry import find_plugins, load
from mmscore.metrics.mmmu_accuracy import AccuracyShare
from mmscore.metrics.vlmevalkit_vqa import Aggregation, Method, VqaRule

METRICS = list(find_plugins("mmscore.metrics"))

WORDS = ["a", "cat", "Cat.", "two", "2", "2.0", "5%", "1/2", "猫", "the", "\n", "", "nan", "inf", "1e400", "yes"]
TEXTS = st.text(max_size=20) | st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
LISTS = st.lists(TEXTS, min_size=1, max_size=3)
RIGHT = st.floats(0, 1)
LABELS = st.sampled_from(["cat", "dog", 0, 1])
DEGREES = st.sampled_from([-100.0, -50.0, 0.0, 50.0, math.nan])
BOXES = st.lists(st.floats(-10, 10), min_size=4, max_size=4) | st.just([math.nan] * 4)
RULES = [VqaRule(*rule) for rule in itertools.product(typing.get_args(Method), typing.get_args(Aggregation))]


def _tables(columns: int, *, smallest: int = 0) -> st.SearchStrategy[tuple[list[str], list[list[str]]]]:
    row = st.tuples(TEXTS, LISTS)
    return st.lists(row, min_size=smallest, max_size=columns).map(
        lambda rows: ([said for said, _ in rows], [meant for _, meant in rows])
    )


def _paired(values: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[list[Any], list[Any]]]:
    return st.lists(st.tuples(values, values), max_size=6).map(
        lambda rows: ([a for a, _ in rows], [b for _, b in rows])
    )


CASES: dict[str, tuple[st.SearchStrategy[tuple[Any, ...]], float, float]] = {
    "coco_bleu": (_tables(4, smallest=1), 0, 1),
    "coco_cider": (_tables(4, smallest=1), 0, 10),
    "coco_rouge_l": (st.tuples(TEXTS, LISTS), 0, 1),
    "evalscope_accuracy": (st.tuples(TEXTS, TEXTS | LISTS, st.sampled_from(["1.3.0", "1.10.0", "1.14.1"])), 0, 1),
    "evalscope_bleu_rouge": (st.tuples(TEXTS, TEXTS, st.sampled_from(["1.3.0", "1.10.0", "1.14.1"])), 0, 1),
    "label_accuracy": (_paired(LABELS), 0, 1),
    "lmms_ocrbench": (st.tuples(TEXTS, LISTS), 0, 1),
    "lmms_vqa": (st.tuples(TEXTS, LISTS), 0, 1),
    "mmmu_accuracy": (
        st.tuples(st.lists(st.builds(AccuracyShare, RIGHT, st.integers(0, 9)), min_size=1, max_size=5)),
        0,
        1,
    ),
    "mmmu_open_match": (st.tuples(TEXTS | LISTS, st.lists(TEXTS | st.floats(-9, 9), max_size=4)), 0, 1),
    "mmtrust_box_iou": (_paired(BOXES), 0, 100),
    "mmtrust_pearson": (_paired(DEGREES).map(lambda sides: (np.nan_to_num(sides[0]).tolist(), sides[1])), -1, 1),
    "normalized_match": (st.tuples(TEXTS, LISTS), 0, 1),
    "precision_recall": (_paired(st.sampled_from([0, 1])), 0, 1),
    "reform_instability": (st.tuples(st.lists(st.lists(TEXTS, min_size=1, max_size=5), min_size=1)), 0, math.log(5)),
    "reform_round_trend": (
        st.tuples(st.dictionaries(st.integers(1, 5).map(float), st.lists(RIGHT, min_size=1, max_size=4), min_size=1)),
        -1,
        1,
    ),
    "reform_word_match": (st.tuples(TEXTS, TEXTS | LISTS), 0, 1),
    "vlmevalkit_chartqapro": (
        st.tuples(TEXTS, TEXTS | LISTS.map(repr), st.lists(st.sampled_from(["YES", "NO"]), max_size=2)),
        0,
        1,
    ),
    "vlmevalkit_ocrbench": (st.tuples(TEXTS, LISTS, TEXTS), 0, 1),
    "vlmevalkit_vcr": (st.tuples(st.lists(TEXTS, max_size=5), TEXTS, st.lists(TEXTS, min_size=1, max_size=3)), 0, 1),
    "vlmevalkit_vqa": (st.tuples(TEXTS, LISTS, st.sampled_from(RULES)), 0, 1),
    "vlmevalkit_yes_no": (st.tuples(TEXTS, TEXTS | st.none()), 0, 1),
}
"""Metric -> arguments, and the range of every number that it gives."""


SLOW = {"coco_meteor"}
"""Metrics that start a JVM for each call; their own tests compare them with the original."""


def _numbers(found: Any) -> Iterator[float]:
    """Give every number that a metric returned, counts aside."""
    if isinstance(found, msgspec.Struct):
        yield from (number for value in msgspec.structs.astuple(found) for number in _numbers(value))
    elif isinstance(found, dict):
        yield from (number for value in found.values() for number in _numbers(value))
    elif isinstance(found, list | tuple | np.ndarray):
        yield from (number for value in found for number in _numbers(value))
    elif isinstance(found, float | bool | np.floating):
        yield float(found)


def test_every_metric_has_a_case() -> None:
    assert {*CASES, *SLOW} == set(METRICS)


@pytest.mark.parametrize("name", CASES)
def test_every_number_lies_in_its_range(name: str) -> None:
    metric: Callable[..., Any] = load("mmscore.metrics", name)
    arguments, low, high = CASES[name]

    @given(given_=arguments)
    def holds(given_: tuple[Any, ...]) -> None:
        try:
            numbers = list(_numbers(metric(*given_)))
        except Error:
            return
        assert all(math.isnan(number) or low - 1e-9 <= number <= high + 1e-9 for number in numbers), numbers

    holds()
