import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mmconvert.curation.groups import join_pairs

PAIRS = st.lists(st.lists(st.tuples(st.integers(0, 29), st.integers(0, 29)), max_size=30), max_size=4)


@given(batches=PAIRS)
def test_groups_are_the_connected_parts_named_by_their_smallest(batches: list[list[tuple[int, int]]]) -> None:
    arrays = [np.array(batch, dtype=np.int64).reshape(-1, 2) for batch in batches]
    found = join_pairs(30, ((pairs[:, 0], pairs[:, 1]) for pairs in arrays))
    ends = np.concatenate([np.zeros((0, 2), dtype=np.int64), *arrays])
    edges = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(30, 30))
    parts = connected_components(edges, directed=False)[1]
    assert found.tolist() == [int(np.flatnonzero(parts == part)[0]) for part in parts]


def test_a_long_chain_is_one_group() -> None:
    order = np.random.default_rng(0).permutation(10_000)
    assert not join_pairs(10_000, [(order[:-1], order[1:])]).any()
