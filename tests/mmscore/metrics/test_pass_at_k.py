import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmscore.metrics.pass_at_k import pass_at_k


@given(hits=st.lists(st.booleans(), min_size=1, max_size=8), data=st.data())
def test_it_is_the_share_of_draws_that_hold_a_right_reply(hits, data):
    k = data.draw(st.integers(1, len(hits)))
    draws = list(itertools.combinations(hits, k))
    wanted = sum(any(draw) for draw in draws) / len(draws)
    assert pass_at_k(len(hits), sum(hits), k) == pytest.approx(wanted, abs=1e-12)


def test_many_replies_stay_exact():
    assert pass_at_k(2000, 1, 1000) == 0.5
    assert pass_at_k(1000, 1000, 1) == 1.0


@pytest.mark.parametrize(("replies", "right", "k"), [(3, 1, 4), (3, 1, 0), (3, 4, 1), (3, -1, 1)])
def test_numbers_that_do_not_go_together_are_refused(replies, right, k):
    with pytest.raises(ValueError, match="1 <= k <= replies"):
        pass_at_k(replies, right, k)
