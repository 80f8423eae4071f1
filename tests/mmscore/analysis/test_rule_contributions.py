import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmscore.analysis.rule_contributions import Side, count_rules, split_gap
from mmscore.core.table import ROW_FIELDS, Scored

HOWS = st.sampled_from(["boxed", "letter", "text"])
SCORES = st.one_of(st.integers(0, 1), st.floats(0, 1))
ROWS = st.lists(st.tuples(HOWS, SCORES, HOWS, SCORES), min_size=1, max_size=30)
OTHERS = st.lists(SCORES, max_size=10)


def side(hows, values, others=()):
    hows = pa.array(hows, pa.string())
    table = pa.table([hows if f.name == "how" else pa.nulls(len(hows), f.type) for f in ROW_FIELDS], schema=ROW_FIELDS)
    scored = Scored(table, {}).with_scores(accuracy=values)
    every = scored.with_scores(accuracy=values).scores["accuracy"].tolist() + list(others)
    return Side(scored, scored.scores["accuracy"], Scored(table, {}).with_scores(x=every).scores["x"])


@given(ROWS, OTHERS, OTHERS)
def test_contributions_add_up_to_the_difference_of_the_two_means(rows, only_a, only_b):
    hows_a, a, hows_b, b = zip(*rows, strict=True)
    gap = split_gap(side(hows_a, a, only_a), side(hows_b, b, only_b))
    parts = [pair.contribution for pair in gap.pairs] + [gap.only_a.contribution, gap.only_b.contribution]
    assert math.fsum(parts) == gap.difference
    mean_a, mean_b = math.fsum([*a, *only_a]) / len([*a, *only_a]), math.fsum([*b, *only_b]) / len([*b, *only_b])
    assert gap.difference == pytest.approx(mean_b - mean_a, abs=1e-14)
    assert (gap.only_a.rows, gap.only_b.rows) == (len(only_a), len(only_b))


@given(st.lists(st.tuples(HOWS, st.integers(0, 1), HOWS, st.integers(0, 1)), min_size=1))
def test_every_row_is_in_one_pair_and_right_answers_are_counted_exactly(rows):
    hows_a, a, hows_b, b = zip(*rows, strict=True)
    gap = split_gap(side(hows_a, a), side(hows_b, b))
    assert sum(pair.rows for pair in gap.pairs) == gap.rows == len(rows)
    assert sum(pair.sum_a for pair in gap.pairs) == sum(a)
    assert sum(pair.sum_b for pair in gap.pairs) == sum(b)
    assert sum(pair.changed for pair in gap.pairs) == sum(x != y for x, y in zip(a, b, strict=True))
    assert len({(pair.how_a, pair.how_b) for pair in gap.pairs}) == len(gap.pairs)


def test_the_pair_that_matters_most_stands_first():
    gap = split_gap(side(["x", "x", "y", "y", "y"], [0, 0, 1, 1, 1]), side(["u", "u", "v", "w", "w"], [0, 0, 1, 0, 0]))
    assert [(p.how_a, p.how_b, p.contribution) for p in gap.pairs] == [
        ("y", "w", -0.4),
        ("x", "u", 0.0),
        ("y", "v", 0.0),
    ]


def test_a_row_that_no_rule_read_counts_too():
    scored = side([None, "boxed", None], [0, 1, 1])
    assert [(rule.how, rule.rows, rule.total) for rule in count_rules(scored.rows, scored.values)] == [
        ("no rule", 2, 1.0),
        ("boxed", 1, 1.0),
    ]
