import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import Error, RowError
from mmscore.metrics.label_accuracy import label_accuracy
from mmscore.metrics.precision_recall import precision_recall

labels = st.one_of(st.integers(0, 3), st.sampled_from(["yes", "no"]), st.booleans(), st.floats(), st.none())


@given(st.lists(st.tuples(labels, labels), max_size=6), st.sampled_from(["binary", "micro", "macro", "weighted"]))
def test_rates_lie_between_0_and_1_or_the_labels_are_refused(pairs, average):
    true, said = [t for t, _ in pairs], [s for _, s in pairs]
    try:
        rates = precision_recall(true, said, average=average)
        accuracy = label_accuracy(true, said)
    except Error:
        return
    for rate in (rates.precision, rates.recall, rates.f1, accuracy):
        assert math.isnan(rate) or 0 <= rate <= 1
    if average == "micro" and pairs:
        assert rates.f1 == pytest.approx(accuracy)


def test_permuted_samples_have_the_same_rates():
    true, said = [1, 0, 1, 1, 0], [1, 1, 0, 1, 0]
    order = [4, 2, 0, 3, 1]
    assert precision_recall([true[i] for i in order], [said[i] for i in order]) == precision_recall(true, said)


def test_labels_without_a_rate_are_left_out_of_averages():
    rates = precision_recall([0, 0, 1], [0, 0, 0], average="macro", zero_division=math.nan)
    assert rates.precision == pytest.approx(2 / 3)
    assert rates.recall == 0.5
    assert math.isnan(precision_recall([], [], average="macro").f1)


def test_weights_count_samples_and_every_label_is_given_without_an_average():
    assert label_accuracy([1, 0], [1, 1], sample_weight=[3, 1]) == 0.75
    assert label_accuracy([1, 0], [1, 1], normalize=False) == 1.0
    assert precision_recall([2, 1], [2, 2], average=None, labels=[2, 1, 7]).recall.tolist() == [1, 0, 0]
    assert precision_recall(["a"], ["a"], labels=[1], average="macro", zero_division=1).recall == 1.0


def test_texts_never_equal_numbers():
    assert label_accuracy(["1", "0"], [1, 0]) == 0.0

    with pytest.raises(Error, match="one side holds texts"):
        precision_recall(["1", "0"], [1, 0])


def test_a_row_of_marks_is_right_as_a_whole():
    true = [[1, 0], [0, 1], [1, 1], [0, 0]]
    assert label_accuracy(true, [[1, 0], [0, 0], [1, 1], [1, 0]]) == 0.5
    assert label_accuracy(true, [[1.0, 0], [0, 1], [1, 1], [0, 0]], sample_weight=[1, 2, 3, 4]) == 1.0
    for said in ([1, 0, 1, 0], [[1, 0, 0]] * 4, [[0, 1], [2, 0], [0, 0], [0, 0]], [["a", "b"]] * 4, [[0.5, 1]] * 4):
        with pytest.raises(RowError):
            label_accuracy(true, said)
    with pytest.raises(RowError):
        precision_recall(true, true)


@pytest.mark.parametrize(
    ("true", "said", "settings", "message"),
    [
        (None, [1], {}, "one text or whole number"),
        ([None], [1], {}, "one text or whole number"),
        ([0.5], [1], {}, "one text or whole number"),
        ([math.nan], [1], {}, "one text or whole number"),
        ([["a", "b"], ["c"]], [1, 0], {}, "one text or whole number"),
        ([1, 0], [1], {}, "2 references for 1"),
        ([1, 2, 0], [1, 0, 0], {}, "takes two"),
        (["no", "yes"], ["no", "no"], {}, "pos_label 1"),
        ([1], [1], {"pos_label": None}, "pos_label"),
        ([1], [1], {"average": "samples"}, "no such average"),
        ([1], [1], {"zero_division": 0.5}, "zero_division"),
        ([1], [1], {"average": "macro", "labels": [None]}, "labels"),
        ([1], [1], {"sample_weight": [1, 2]}, "1 finite numbers"),
        ([1], [1], {"sample_weight": ["x"]}, "expected numbers"),
    ],
)
def test_what_cannot_be_compared_is_refused(true, said, settings, message):
    with pytest.raises(Error, match=message):
        precision_recall(true, said, **settings)


def test_accuracy_refuses_weights_of_nothing_and_odd_settings():
    with pytest.raises(Error, match="add up to nothing"):
        label_accuracy([1], [1], sample_weight=[0])
    with pytest.raises(Error, match="normalize"):
        label_accuracy([1], [1], normalize="yes")
    assert math.isnan(label_accuracy([], []))
