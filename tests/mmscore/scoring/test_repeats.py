"""Several replies to one question, scored by the own recipes from a predictions file."""

import itertools
import math
import random
import statistics

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.plugins.registry import load
from mmscore.core.recipe import Item
from mmscore.scoring.evaluate import score
from mmscore.scoring.repeats import pass_at_k
from support.items import score_items
from support.predictions import write_predictions

CHOICE = load("mmscore.recipes", "own_choice")
SHORT = load("mmscore.recipes", "own_short_answer")
OPTIONS = ["red", "green", "blue"]


def replies(sample, answer, letters, **more):
    return [
        {
            "id": f"{sample}#{variant}",
            "sample": sample,
            "variant": variant,
            "task": "multiple_choice",
            "options": OPTIONS,
            "answer": answer,
            "prediction": letter,
            **more,
        }
        for variant, letter in enumerate(letters)
    ]


def entry_of(tmp_path, rows, **options):
    (entry,) = score(write_predictions(tmp_path / "p.parquet", rows), "own_choice", **options).entries
    return entry


def values(metrics):
    return {name: estimate.value for name, estimate in metrics.items() if "_if_" not in name}


def test_every_question_counts_once_beside_the_mean_of_rows(tmp_path):
    rows = replies("q1", "A", "AABC") + replies("q2", "B", "AAAB") + replies("q3", "C", "C")
    found = entry_of(tmp_path, rows).metrics
    assert values(found) == {
        "accuracy": 4 / 9,
        "mean_accuracy": pytest.approx((2 / 4 + 1 / 4 + 1) / 3),
        "pass@2": pytest.approx((5 / 6 + 1 / 2) / 2),
        "pass@4": 1.0,
        "majority_accuracy": pytest.approx((1 + 0 + 1) / 3),
    }
    assert {name: e.n for name, e in found.items() if "_if_" not in name} == {
        "accuracy": 9, "mean_accuracy": 3, "pass@2": 2, "pass@4": 2, "majority_accuracy": 3,
    }  # fmt: skip
    assert {(e.unit, e.higher_is_better) for e in found.values()} == {("fraction", True)}


def test_errors_take_the_question_or_its_group_as_cluster(tmp_path):
    rows = [row for n in range(6) for row in replies(f"q{n}", "A", "AA" if n % 2 else "BB")]
    alone = entry_of(tmp_path, rows).metrics
    # Two equal replies tell no more than one: the error is that of six rows.
    assert alone["accuracy"].stderr == pytest.approx(statistics.stdev([0, 1] * 3) / math.sqrt(6))
    assert alone["mean_accuracy"].stderr == pytest.approx(alone["accuracy"].stderr)
    grouped = [{**row, "group": f"g{number // 4}"} for number, row in enumerate(rows)]
    one_wrong_one_right = entry_of(tmp_path, grouped).metrics
    assert one_wrong_one_right["majority_accuracy"].stderr == pytest.approx(0.0, abs=1e-12)


def test_a_vote_is_for_the_text_of_an_option_and_not_for_its_letter(tmp_path):
    orders = [OPTIONS, ["green", "blue", "red"], ["blue", "red", "green"]]
    rows = replies("q", "A", "ACA")
    for row, options in zip(rows, orders, strict=True):
        row |= {"options": options, "answer": "ABC"[options.index("red")]}
    # red, red, blue
    found = entry_of(tmp_path, rows).metrics
    assert found["majority_accuracy"].value == 1.0
    assert found["accuracy"].value == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("letters", "value"),
    [("AB", 0.5), ("ABC", 1 / 3), ("AABB", 0.5), (["hm", "hm"], 0.0), (["A", "hm", "hm"], 1.0), ("BBA", 0.0)],
)
def test_ties_share_and_replies_that_say_nothing_have_no_vote(tmp_path, letters, value):
    found = entry_of(tmp_path, replies("q", "A", letters)).metrics
    assert found["majority_accuracy"].value == pytest.approx(value)


def test_short_answers_vote_alike_when_they_mean_the_same():
    texts = ["two", "2", "three", "3", "3.", "the 3"]
    items = [Item(id=str(n), sample="q", variant=n, prediction=t, answers=["3"]) for n, t in enumerate(texts)]
    found = SHORT.reduce(score_items(items, SHORT), "1")
    assert values(found) == {
        "accuracy": pytest.approx(4 / 6), "mean_accuracy": pytest.approx(4 / 6),
        "pass@2": pytest.approx(1 - 1 / 15), "pass@4": 1.0, "pass@6": 1.0, "majority_accuracy": 1.0,
    }  # fmt: skip


def test_failed_replies_leave_a_question_only_where_too_few_are_left(tmp_path):
    rows = replies("q1", "A", ["A", "B", None]) + replies("q2", "A", "BBB") + replies("q3", "A", [None, None, None])
    entry = entry_of(tmp_path, rows)
    assert entry.counts.failed == 4
    assert {name: e.n for name, e in entry.metrics.items() if "@" in name or "m" in name[:1]} == {
        "mean_accuracy": 2, "pass@2": 2, "pass@3": 1, "majority_accuracy": 2,
    }  # fmt: skip


def test_equal_samples_of_other_subsets_or_rounds_are_other_questions(tmp_path):
    rows = replies("0", "A", "A", subset="easy") + replies("0", "A", "B", subset="hard")
    rows += replies("0", "A", "A", subset="easy", round=1)
    for number, row in enumerate(rows):
        row["id"] = str(number)
    alone = [{**row, "id": f"b{number}", "sample": None} for number, row in enumerate(rows)]
    assert list(entry_of(tmp_path, rows + alone).metrics) == [
        "accuracy",
        "accuracy_if_unparsed_dropped",
        "accuracy_if_unparsed_guessed",
    ]


def test_a_variant_is_not_needed_to_tell_replies_to_one_question(tmp_path):
    rows = [{**row, "variant": None} for row in replies("q1", "A", "AB") + replies("q2", "A", "AA")]
    assert entry_of(tmp_path, rows).metrics["pass@2"].value == 1.0


def test_groups_have_the_numbers_of_their_own_replies(tmp_path):
    rows = replies("q1", "A", "AB", category="x") + replies("q2", "A", "AA", category="y")
    entry = entry_of(tmp_path, rows, by=["variant"])
    assert values(entry.groups["category"]["x"]) == {
        "accuracy": 0.5, "mean_accuracy": 0.5, "pass@2": 1.0, "majority_accuracy": 0.5,
    }  # fmt: skip
    assert values(entry.groups["variant"]["0"]) == {"accuracy": 1.0}
    macro = entry_of(tmp_path, rows, by=["category"], average="macro")
    assert macro.metrics["majority_accuracy"].value == 0.75


def test_rows_and_counts_stay_those_of_the_file(tmp_path):
    from support.terminal import mmscore

    file = write_predictions(tmp_path / "p.parquet", replies("q1", "A", "AB"))
    assert mmscore(file, "--recipe", "own_choice", "--rows", tmp_path / "r.parquet", "--json").code == 0
    rows = pq.read_table(tmp_path / "r.parquet").to_pylist()
    assert [(row["id"], row["value"]) for row in rows] == [("q1#0", "A"), ("q1#1", "B")]


@given(
    questions=st.lists(st.lists(st.sampled_from([*"ABC", "hm"]), min_size=1, max_size=5), min_size=1, max_size=6),
    seed=st.integers(0, 99),
)
def test_numbers_are_fractions_in_order_and_do_not_hang_on_the_order_of_rows(questions, seed):
    items = [
        Item(id=f"{q}#{v}", sample=str(q), variant=v, options=OPTIONS, answer="A", prediction=letter)
        for q, letters in enumerate(questions)
        for v, letter in enumerate(letters)
    ]
    found = CHOICE.reduce(score_items(items, CHOICE), "1")
    mixed = random.Random(seed).sample(items, len(items))
    again = CHOICE.reduce(score_items(mixed, CHOICE), "1")
    assert values(again) == pytest.approx(values(found))
    assert all(0 <= estimate.value <= 1 for estimate in found.values())
    if max(map(len, questions)) == 1:
        assert not any("@" in name for name in found)
        return
    assert found["mean_accuracy"].n == len(questions)
    full = [letters for letters in questions if len(letters) == max(map(len, questions))]
    assert found[f"pass@{len(full[0])}"].value == pytest.approx(statistics.mean("A" in letters for letters in full))


@given(hits=st.lists(st.booleans(), min_size=1, max_size=8), data=st.data())
def test_pass_at_k_is_the_share_of_draws_that_hold_a_right_reply(hits, data):
    k = data.draw(st.integers(1, len(hits)))
    draws = list(itertools.combinations(hits, k))
    wanted = sum(any(draw) for draw in draws) / len(draws)
    assert pass_at_k(len(hits), sum(hits), k) == pytest.approx(wanted, abs=1e-12)


def test_many_replies_stay_exact():
    assert pass_at_k(2000, 1, 1000) == 0.5
    assert pass_at_k(1000, 1000, 1) == 1.0


@pytest.mark.parametrize(("replies", "right", "k"), [(3, 1, 4), (3, 1, 0), (3, 4, 1), (3, -1, 1)])
def test_numbers_of_replies_that_do_not_go_together_are_refused(replies, right, k):
    with pytest.raises(ValueError, match="1 <= k <= responses"):
        pass_at_k(replies, right, k)
