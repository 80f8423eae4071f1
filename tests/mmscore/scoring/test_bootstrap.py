"""Numbers that are no mean of rows: their interval and p-value from rows drawn anew."""

import math
import random

import numpy as np
import pyarrow as pa
import pytest
from msgspec.structs import replace

from mmconvert.plugins.registry import find_plugins, load
from mmscore.core.recipe import Item, Recipe
from mmscore.core.table import CLUSTER
from mmscore.scoring.bootstrap import add_errors, compare_numbers
from support.items import score_items

POPE = load("mmscore.recipes", "pope_official")
CHOICE = load("mmscore.recipes", "own_choice")
HALLUSION = load("mmscore.recipes", "vlmevalkit_hallusionbench")


def _answers(seed, share, count=80):
    """Answer yes-or-no questions, this share of them rightly."""
    draw = random.Random(seed)
    labels = ["yes", "no"] * (count // 2)
    said = [label if draw.random() < share else "no" if label == "yes" else "yes" for label in labels]
    return [
        Item(id=f"{n:03}", answer=label, prediction=s) for n, (label, s) in enumerate(zip(labels, said, strict=True))
    ]


def _differences(a, b, recipe: Recipe = POPE, **options):
    sides = [side if not isinstance(side, list) else score_items(side, recipe) for side in (a, b)]
    settings = {"resamples": 300, "seed": 0, **options}
    return compare_numbers(*sides, recipe, next(iter(recipe.versions)), **settings)


def test_a_real_difference_is_found_and_lies_in_its_interval():
    f1 = _differences(_answers(1, 0.5), _answers(2, 0.95))["f1"]
    assert f1.value == f1.b - f1.a
    low, high = f1.ci95
    assert 0 < low < f1.value < high
    assert (f1.p, f1.resamples, f1.test) == (1 / 301, 300, "paired bootstrap of the number")


def test_chance_is_not_taken_for_a_difference():
    f1 = _differences(_answers(1, 0.8), _answers(2, 0.8))["f1"]
    assert f1.p > 0.05
    assert f1.ci95[0] < 0 < f1.ci95[1]


def test_a_file_does_not_differ_from_itself():
    for number in _differences(_answers(1, 0.7), _answers(1, 0.7)).values():
        assert (number.value, number.ci95, number.p) == (0.0, None, 1.0)


def test_the_order_of_rows_changes_nothing():
    a, b = _answers(1, 0.6), _answers(2, 0.7)
    order = random.Random(3).sample(range(len(a)), len(a))
    assert _differences([a[n] for n in order], [b[n] for n in order]) == _differences(a, b)


def test_the_bootstrap_of_a_mean_is_that_of_its_rows():
    a, b = _answers(1, 0.5), _answers(2, 0.9)
    accuracy = _differences(a, b, resamples=1000)["accuracy"]
    gains = [float(y.answer == y.prediction) - float(x.answer == x.prediction) for x, y in zip(a, b, strict=True)]
    error = np.std(gains) / len(gains) ** 0.5
    assert accuracy.ci95[1] - accuracy.ci95[0] == pytest.approx(2 * 1.96 * error, rel=0.15)


def test_numbers_that_rows_are_tested_by_are_left_alone():
    found = _differences(_answers(1, 0.5), _answers(2, 0.9), means=["accuracy"])
    assert found["accuracy"].test is None
    assert found["f1"].test


@pytest.mark.slow
def test_rows_of_one_cluster_are_drawn_together():
    a, b = (score_items(_answers(seed, 0.7), POPE) for seed in (1, 2))
    clusters = pa.array(np.arange(80) // 8)
    wide = _differences(*(side.with_array(CLUSTER, clusters) for side in (a, b)))["f1"]
    one = _differences(*(side.with_array(CLUSTER, pa.array(np.zeros(80, np.int64))) for side in (a, b)))["f1"]
    assert wide.ci95 != _differences(a, b)["f1"].ci95
    assert (one.ci95, one.p, one.resamples) == (None, None, 0)


def test_means_of_a_resample_have_the_same_values_and_pass_clusters_over():
    whole = score_items(_answers(1, 0.7), POPE).with_array(CLUSTER, pa.array(np.arange(80) // 8))
    drawn, order = replace(whole, values_only=True), np.arange(79, -1, -2)
    mask = np.arange(80) % 3 > 0
    parts = [(whole, drawn), (whole.take(order), drawn.take(order)), (whole.where(mask), drawn.where(mask))]
    for all_of_it, values in parts:
        expected, found = all_of_it.mean("accuracy"), values.mean("accuracy")
        assert (found.value, found.n) == (expected.value, expected.n)
        assert found.stderr == all_of_it.without(CLUSTER).mean("accuracy").stderr != expected.stderr


def _replies(right, questions=12):
    return [
        Item(id=f"{q}#{v}", sample=str(q), variant=v, task="multiple_choice", options=["x", "y"], answer="A",
             prediction="A" if v < right(q) else "B")
        for q in range(questions) for v in range(2)
    ]  # fmt: skip


@pytest.mark.slow
def test_replies_to_one_question_stay_together_and_copies_stay_apart():
    seen = []

    def reduce(scored, version):
        seen.append(CHOICE.reduce(scored, version))
        return seen[-1]

    recipe = replace(CHOICE, reduce=reduce)
    found = _differences(_replies(lambda q: q % 2), _replies(lambda q: 2 if q % 3 else 1), recipe)
    # Two copies of a question would have four replies between them, and a pass@4.
    assert {name for metrics in seen for name in metrics if name.startswith("pass@")} == {"pass@2"}
    assert {metrics["pass@2"].n for metrics in seen} == {12}
    assert found["pass@2"].value == pytest.approx(0.5)
    assert found["pass@2"].resamples == 300


def test_figures_stay_whole():
    def rows(wrong):
        return [
            Item(id=f"VD_x_y_{s}_{f}_{q}", answer="Yes", category="VD", l2_category="x",
                 prediction="No" if (s + f + q) % 4 in wrong else "Yes")
            for s in range(10) for f in range(2) for q in range(2)
        ]  # fmt: skip

    sizes = set()

    def reduce(scored, version):
        metrics = HALLUSION.reduce(scored, version)
        sizes.add((metrics["fAcc"].n, metrics["qAcc"].n))
        return metrics

    found = _differences(rows([0]), rows([1, 2]), replace(HALLUSION, reduce=reduce))
    assert sizes == {(20, 20)}
    assert found["fAcc"].resamples == 300


def test_a_resample_that_has_no_such_number_takes_no_part():
    def reduce(scored, version):
        several = len(set(scored.column("category"))) > 1
        return {"share": replace(scored.mean("accuracy"), value=scored.mean("accuracy").value if several else math.nan)}

    sides = [[item._replace(category=item.id) for item in _answers(*of)] for of in ((1, 1, 4), (2, 0, 4))]
    found = _differences(*sides, replace(POPE, reduce=reduce))
    assert 0 < found["share"].resamples < 300


def _with_errors(items, recipe=POPE):
    scored, version = score_items(items, recipe), next(iter(recipe.versions))
    return add_errors(recipe.reduce(scored, version), scored, recipe, version)


def test_a_number_without_a_closed_form_gets_an_error_and_the_others_keep_theirs():
    items = _answers(1, 0.7)
    found, plain = _with_errors(items), POPE.reduce(score_items(items, POPE), "1")
    assert found["accuracy"] == plain["accuracy"]
    f1 = found["f1"]
    assert (f1.value, f1.n, plain["f1"].stderr) == (plain["f1"].value, plain["f1"].n, None)
    assert f1.ci95[0] < f1.value < f1.ci95[1]
    # Close to that of the accuracy, of which it is a kind.
    assert f1.stderr == pytest.approx(found["accuracy"].stderr, rel=0.3)
    order = random.Random(3).sample(items, len(items))
    assert _with_errors(order)["f1"] == f1


def test_the_error_of_a_mean_drawn_anew_is_the_closed_one():
    items = _answers(1, 0.7)
    known = score_items(items, POPE).mean("accuracy")
    recipe = replace(POPE, reduce=lambda scored, version: {"mean": replace(scored.mean("accuracy"), stderr=None)})
    mean = _with_errors(items, recipe)["mean"]
    assert mean.stderr == pytest.approx(known.stderr, rel=0.1)


def test_one_cluster_has_no_error():
    scored = score_items(_answers(1, 0.7), POPE).with_array(CLUSTER, pa.array(np.zeros(80, np.int64)))
    assert add_errors(POPE.reduce(scored, "1"), scored, POPE, "1")["f1"].stderr is None
    assert _with_errors(_answers(1, 1, 2)[:1])["f1"].stderr is None


@pytest.mark.parametrize("name", list(find_plugins("mmscore.recipes")))
def test_a_joint_column_is_kept_or_made(name):
    recipe: Recipe = load("mmscore.recipes", name)
    assert all(column.startswith("#") or column in recipe.keep for column in recipe.joint)
