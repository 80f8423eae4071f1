"""What rules of reading responses contribute to a number, and to the difference of two."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import asdict

from mmconvert.core.arrow import build_scalar, number_values
from mmscore.core.table import Floats, Scored


class RuleShare(msgspec.Struct, frozen=True):
    """The rows in which one rule of a recipe fired.

    Attributes:
        how: The rule, in words.
        rows: How many scored rows it read.
        total: Sum of their scores.
    """

    how: str
    rows: int
    total: float


class RulePair(msgspec.Struct, frozen=True):
    """The rows in which one rule fired in the first recipe and one in the second.

    Attributes:
        how_a: Rule of the first recipe.
        how_b: Rule of the second.
        rows: Rows that both scored and read so.
        changed: Those of them whose scores differ.
        sum_a: Sum of the first recipe's scores over them.
        sum_b: Sum of the second's.
        contribution: Their part of the gap: `(sum_b - sum_a)` over all rows that both scored.
    """

    how_a: str
    how_b: str
    rows: int
    changed: int
    sum_a: float
    sum_b: float
    contribution: float


class Coverage(msgspec.Struct, frozen=True):
    """The rows that one recipe alone scored, and what its number owes to them."""

    rows: int
    contribution: float


class Gap(msgspec.Struct, frozen=True):
    """Where the difference of two recipes' numbers comes from.

    Attributes:
        difference: The second number minus the first: the sum of all contributions.
        rows: Rows that both scored.
        pairs: Pairs of rules, the largest contribution first.
        only_a: Rows that the second recipe leaves out.
        only_b: Rows that the first leaves out.
    """

    difference: float
    rows: int
    pairs: tuple[RulePair, ...]
    only_a: Coverage
    only_b: Coverage

    def to_json(self) -> dict[str, Any]:
        """Give the object `gap` of schemas/explain.json."""
        pairs = [asdict(pair) for pair in self.pairs]
        return asdict(self) | {"pairs": pairs, "only_a": asdict(self.only_a), "only_b": asdict(self.only_b)}


class Side(msgspec.Struct, frozen=True):
    """One recipe's scores.

    Attributes:
        rows: Rows that both recipes scored, in the same order on both sides.
        values: Their scores.
        every: Scores of all rows that this recipe scored, the other or not.
    """

    rows: Scored
    values: Floats
    every: Floats


def count_rules(rows: Scored, values: Floats) -> tuple[RuleShare, ...]:
    """Count the rows in which each rule fired, the most frequent rule first.

    Args:
        rows: Scored rows.
        values: Their scores.
    """
    rules = [RuleShare(how, len(where), math.fsum(values[where])) for (how,), where in _number_rules(rows).items()]
    return tuple(sorted(rules, key=lambda rule: (-rule.rows, rule.how)))


def split_gap(a: Side, b: Side) -> Gap:
    """Split the difference of two means exactly.

    With C the rows that both scored, the difference is the mean change over C, which pairs of rules share
    among them, plus what each mean owes to the rows outside C.

    Args:
        a: The recipe to start from.
        b: The other; at least one row is scored by both.
    """
    n = len(a.values)
    found = _number_rules(a.rows, b.rows)
    pairs = []
    for (how_a, how_b), where in found.items():
        of_a, of_b = a.values[where], b.values[where]
        sum_a, sum_b = math.fsum(of_a), math.fsum(of_b)
        contribution = float((Fraction(sum_b) - Fraction(sum_a)) / n)
        pairs.append(RulePair(how_a, how_b, len(of_a), int(np.sum(of_a != of_b)), sum_a, sum_b, contribution))
    pairs.sort(key=lambda pair: (-abs(pair.contribution), -pair.rows, pair.how_a, pair.how_b))
    only_a = Coverage(len(a.every) - n, float(_average(a.values) - _average(a.every)))
    only_b = Coverage(len(b.every) - n, float(_average(b.every) - _average(b.values)))
    parts = [pair.contribution for pair in pairs]
    difference = math.fsum([*parts, only_a.contribution, only_b.contribution])
    return Gap(difference, n, tuple(pairs), only_a, only_b)


def _average(values: Floats) -> Fraction:
    return Fraction(math.fsum(values)) / len(values)


def _number_rules(*sides: Scored) -> Mapping[tuple[str, ...], npt.NDArray[np.int64]]:
    """Number the rows in which the same rules fired."""
    numbered = [number_values(side.rows["how"].fill_null(build_scalar("no rule"))) for side in sides]
    codes = np.stack([numbers for numbers, _ in numbered], axis=1)
    distinct, which = np.unique(codes, axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    bounds = np.searchsorted(which.ravel()[order], np.arange(len(distinct) + 1))
    names = [words for _, words in numbered]
    return {
        tuple(words[code] for words, code in zip(names, codes, strict=True)): order[bounds[n] : bounds[n + 1]]
        for n, codes in enumerate(distinct.tolist())
    }
