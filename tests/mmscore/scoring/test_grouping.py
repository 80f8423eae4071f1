import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmscore.scoring.grouping import find_undecided, score_jointly

HITS = st.lists(st.sampled_from([0.0, 1.0, math.nan]), max_size=6)


@given(HITS)
def test_one_wrong_row_settles_a_group_and_an_open_one_leaves_it_open(hits):
    value = score_jointly(hits)
    assert (value == 0.0) == (0.0 in hits)
    assert math.isnan(value) == (0.0 not in hits and any(map(math.isnan, hits)))


@pytest.mark.parametrize(
    ("hits", "open_ones"), [([1.0, math.nan], {"a"}), ([0.0, math.nan], set()), ([1.0, 1.0], set())]
)
def test_open_groups_are_found_by_name(hits, open_ones):
    assert find_undecided(["a", "a", None], [*hits, math.nan]) == open_ones
