import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr

from mmconvert.core.errors import Error
from mmscore.metrics.mmtrust_box_iou import compute_overlap, mmtrust_box_iou, read_box
from mmscore.metrics.mmtrust_pearson import mmtrust_pearson

degrees = st.sampled_from([-100, -50, 0, 12.5, 50, 100])


@given(st.lists(st.tuples(degrees, degrees), min_size=3, max_size=12))
def test_the_correlation_is_pearsons(pairs):
    x, y = [float(a) for a, _ in pairs], [float(b) for _, b in pairs]
    found = mmtrust_pearson(x, y)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert math.isnan(found)
    else:
        assert -1 <= found <= 1
        assert found == pytest.approx(pearsonr(x, y).statistic, rel=1e-5, abs=1e-6)


def test_failed_predictions_are_left_out_or_replaced():
    nan = math.nan
    assert mmtrust_pearson([1, 2, 4], [None, 2, 3]) == 1.0
    assert math.isnan(mmtrust_pearson([1, 2], [nan, 3]))
    assert math.isnan(mmtrust_pearson(None, [nan, 3]))
    assert mmtrust_pearson([-100, 0], [nan, -50], nan_to_num=0) == -1.0
    assert mmtrust_pearson([1, 2, 3], [1, 2]) == 1.0


@pytest.mark.parametrize(
    ("true", "said", "settings", "message"),
    [
        (None, [1, 2], {}, "0 references for 2"),
        ([1, 2], [1, 2, 3], {}, "2 references for 3"),
        ([1, math.nan, 2], [1, 2, 3], {}, "not finite"),
        ([1, 2, 3], [math.inf, math.inf, 3], {"nan_to_num": 0}, "too large"),
        ([1, 2], ["x", 1], {}, "expected numbers"),
        ([[1, 2], [3, 4]], [1, 2], {}, "one number a sample"),
        ([1, 2], [1, 2], {"nan_to_num": "x"}, "nan_to_num"),
    ],
)
def test_what_has_no_correlation_is_refused(true, said, settings, message):
    with pytest.raises(Error, match=message):
        mmtrust_pearson(true, said, **settings)


@given(st.text(max_size=40) | st.text(alphabet="[]0123456789./,' \n-", max_size=40))
def test_any_reply_is_a_list_of_numbers_or_divides_by_zero(reply):
    try:
        numbers = read_box(reply)
    except Error:
        assert "/" in reply
        return
    assert all(isinstance(number, float) for number in numbers)


def test_boxes_are_read_out_of_brackets_and_quotes_only():
    assert read_box("'''\n[0.5, 1/2, 3]\n'''") == [0.5, 0.5, 3.0]
    assert read_box("Box: [0, 0, 1, 1].") == [0.0, 1.0]


def test_overlap_above_one_half_is_a_hit():
    unit = "[0, 0, 1, 1]"
    assert mmtrust_box_iou([unit] * 3, ["[0,0,1,0.5]", "[0,0,1,0.51]", "[0,0,1]"]) == pytest.approx(100 / 3)
    assert compute_overlap([1, 1, 0, 0], [1, 1, 0, 0]) == 0.0
    assert compute_overlap([0, 0, 0, 0], [0, 0, 0, 0]) == 0.0


@pytest.mark.parametrize(
    ("true", "said", "message"),
    [
        ([], [], "no references"),
        (["[0, 0, 1, 1]"], [], "1 references for 0"),
        ([[0, 0, 1, 1]], ["[0, 0, 1, 1]"], "four numbers"),
        (["[0, 0, 1]"], ["[0, 0, 1, 1]"], "four numbers"),
        (["nothing"], ["[0, 0, 1, 1]"], "four numbers"),
        (["[0, 0, 1, 1" + "0" * 400 + "]"], ["[0, 0, 1, 1]"], "four numbers"),
        (["[0, 0, 1, 1]"], [None], "expected a text"),
    ],
)
def test_what_is_no_box_is_refused(true, said, message):
    with pytest.raises(Error, match=message):
        mmtrust_box_iou(true, said)
