"""How EvalScope turns the scores of samples into named numbers: means, pass@k, vote@k, pass^k."""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from mmconvert.core.errors import Error
from mmscore.core.table import Floats

Release = Literal["1.3.0", "1.10.0", "1.14.1"]

NEW = "1.14.1"
"""Since this release metrics have identities, and groups of repeats count once."""

MEAN = "mean"
KINDS = {
    MEAN: None,
    "mean_and_pass_at_k": "pass_at_k",
    "mean_and_vote_at_k": "vote_at_k",
    "mean_and_pass_hat_k": "pass_hat_k",
}
"""What an aggregation gives beside the mean."""

OLD_MARKS = {"pass_at_k": "pass@", "vote_at_k": "vote@", "pass_hat_k": "pass^"}
STATISTICS = {"R": "recall", "P": "precision", "F": "f1"}


class ResponseScores(msgspec.Struct, frozen=True):
    """The scored responses of a subset, column by column.

    Attributes:
        scores: Score name -> a value a response, NaN for none.
        groups: Equal for repeats of one question.
        extracted: What was read in each response, "" for nothing.
    """

    scores: Mapping[str, Floats]
    groups: Sequence[int | str | None] = ()
    extracted: Sequence[str] = ()


class Identity(msgspec.Struct, frozen=True):
    """What a number is: metric, aggregation, and dimensions such as the order of n-grams, sorted by name."""

    name: str
    aggregation: str = "mean"
    dimensions: tuple[tuple[str, Any], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Give the object of the framework's report."""
        return {"name": self.name, "aggregation": self.aggregation, "dimensions": dict(self.dimensions)}

    def __str__(self) -> str:
        """Write it as the framework's tables of data do."""
        listed = ",".join(f"{key}={json.dumps(value)}" for key, value in self.dimensions)
        return f"{self.name}:{self.aggregation}[{listed}]" if listed else f"{self.name}:{self.aggregation}"


class Aggregate(msgspec.Struct, frozen=True):
    """One number over the samples of a subset.

    Attributes:
        identity: What it is.
        label: How the release calls it.
        value: The number, not rounded.
        num: How many samples, or since 1.14 groups, it counts.
        metadata: Coverage of groups since 1.14, None for means.
    """

    identity: Identity
    label: str
    value: float
    num: int
    metadata: Mapping[str, float] | None = None


def parse_identity(score: str) -> Identity:
    """Read the identity out of a score's name.

    Example:
        >>> str(parse_identity("Rouge-L-R")), str(parse_identity("bleu-2")), str(parse_identity("acc"))
        ('rouge:mean[statistic="recall",variant="l"]', 'bleu:mean[ngram=2]', 'accuracy:mean')
    """
    head, *parts = score.split("-")
    if head == "bleu" and len(parts) == 1:
        return Identity(head, dimensions=(("ngram", int(parts[0])),))
    if head == "Rouge" and len(parts) == 2:
        kind, statistic = parts
        if kind == "L":
            return Identity("rouge", dimensions=(("statistic", STATISTICS[statistic]), ("variant", "l")))
        return Identity("rouge", dimensions=(("ngram", int(kind)), ("statistic", STATISTICS[statistic])))
    return Identity("accuracy" if score == "acc" else score)


def build_label(score: str, release: Release) -> str:
    """Name the mean of a score as a release does.

    Example:
        >>> build_label("bleu-1", "1.10.0"), build_label("bleu-1", "1.14.1")
        ('mean_bleu-1', 'bleu:mean[ngram=1]')
    """
    return str(parse_identity(score)) if release == NEW else f"mean_{score}"


def aggregate(responses: ResponseScores, aggregation: str, release: Release) -> list[Aggregate]:
    """Compute every number of one subset.

    Args:
        responses: The subset's responses in order.
        aggregation: A key of `KINDS`.
        release: Release whose behaviour is wanted.

    Returns:
        Score after score, the mean of each first; a response without a score does not count for it.

    Raises:
        Error: Until 1.10 pass^k cannot be had of a group that is shorter than the mean.
    """
    kind = KINDS[aggregation]
    numbers = []
    for name, column in responses.scores.items():
        having = np.flatnonzero(~np.isnan(column)).tolist()
        values = column[having].tolist()
        if values:
            mean = sum(values) / len(values)
            numbers.append(Aggregate(parse_identity(name), build_label(name, release), mean, len(values)))
        if values and kind is not None:
            numbers += _aggregate_at_k(responses, having, name, kind, release)
    return numbers


def _aggregate_at_k(
    responses: ResponseScores, having: Sequence[int], name: str, kind: str, release: Release
) -> Iterator[Aggregate]:
    groups: dict[int | str | None, list[int]] = {}
    for number in having:
        groups.setdefault(responses.groups[number], []).append(number)
    most = min(map(len, groups.values())) if release == NEW else len(having) // len(groups)
    for k in range(1, most + 1):
        values = [_score_group(responses, group, name, kind, k, release) for group in groups.values()]
        identity = Identity(parse_identity(name).name, kind, (("k", k),))
        if release == NEW:
            total = len(groups)
            coverage = {"eligible": total, "total": total, "coverage": 1.0, "excluded": 0}
            yield Aggregate(identity, str(identity), sum(values) / total, total, coverage)
        else:
            # Every response carries the value of its group.
            weighed = sum(value * len(group) for value, group in zip(values, groups.values(), strict=True))
            yield Aggregate(identity, f"mean_{name}_{OLD_MARKS[kind]}{k}", weighed / len(having), len(having))


def _score_group(
    responses: ResponseScores, group: Sequence[int], name: str, kind: str, k: int, release: Release
) -> float:
    scores, extracted = responses.scores[name], responses.extracted
    n, right = len(group), sum(bool(scores[number] == 1.0) for number in group)
    if kind == "pass_at_k":
        return 1.0 if n - right < k else 1.0 - math.comb(n - right, k) / math.comb(n, k)
    if kind == "pass_hat_k":
        if n < k:
            raise Error(f"group: one has {n} repeats, fewer than the {k} of the mean. Give every question as many.")
        return math.comb(right, k) / math.comb(n, k)
    voters = [number for number in group[:k] if release != NEW or extracted[number].strip()]
    if not voters:
        return 0.0
    winner, _ = Counter(extracted[number] for number in voters).most_common(1)[0]
    return float(any(extracted[number] == winner and scores[number] == 1.0 for number in voters))
