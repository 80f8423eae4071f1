"""What EvalScope's recipes share: releases by version, names of metrics, the table."""

from collections.abc import Mapping, Sequence

from mmconvert.kits.evalscope.outputs import BENCHMARKS
from mmscore.core.recipe import Facts, Metrics, Row
from mmscore.core.table import Scored
from mmscore.kits.evalscope.aggregation import MEAN, Release, ResponseScores, build_label
from mmscore.kits.evalscope.report import DEFAULT, ReportHeader, aggregate_metrics, build_report_rows

RELEASES: Mapping[str, Release] = {"1.14": "1.14.1", "1.10": "1.10.0", "1.3": "1.3.0"}
VERSIONS: Mapping[str, str] = {version: f"modelscope/evalscope {release}" for version, release in RELEASES.items()}
OUTPUTS = frozenset(("evalscope_predictions", "evalscope_reviews"))
"""Formats that EvalScope writes."""


def has_rule_of(facts: Facts, data: str, *benchmarks: str) -> bool:
    """Tell whether a file holds the user's own data in a format of EvalScope's, or its results on some benchmarks.

    Args:
        facts: What the file says.
        data: Format of the user's own data.
        benchmarks: Names as the framework registers them.

    Example:
        >>> logged = Facts(frozenset(["chartqa"]), formats=OUTPUTS)
        >>> has_rule_of(logged, "openai_messages", "general_vqa"), has_rule_of(logged, "openai_messages", "chartqa")
        (False, True)
    """
    if not facts.formats & OUTPUTS:
        return facts.formats == {data}
    names = facts.list_known_names(BENCHMARKS.__contains__)
    return facts.formats <= OUTPUTS | {data} and bool(names) and names <= {*benchmarks}


def compute_labeled_means(scored: Scored, version: str) -> Metrics:
    """Average every score under the name that the release gives to its mean."""
    return {build_label(name, RELEASES[version]): scored.mean(name) for name in scored.scores}


def build_table(scored: Scored, version: str, aggregation: str = MEAN) -> Sequence[Row]:
    """Lay out numbers as the framework's data frame does, without model and dataset.

    Args:
        scored: Rows with the column `subset`; `default` where none has one. With `sample` where not means alone are
            wanted: equal for responses to one question.
        version: A key of `VERSIONS`.
        aggregation: A key of `aggregation.KINDS`.

    Returns:
        Metric, Subset, Num, Score and category, metric after metric; Score is a fraction rounded to four digits.

    Raises:
        Error: Until 1.10 pass^k cannot be had of a question with fewer responses than the mean.
    """
    release = RELEASES[version]
    parts = dict(scored.split("subset")) or {DEFAULT: scored}
    subsets = {name: _gather_responses(part, aggregation) for name, part in parts.items()}
    metrics = aggregate_metrics(subsets, {}, aggregation, release)
    headings, lines = build_report_rows(metrics, ReportHeader("", "", "", {}), release)
    return [dict(zip(headings[2:], line[2:], strict=True)) for line in lines]


def _gather_responses(scored: Scored, aggregation: str) -> ResponseScores:
    if aggregation == MEAN:
        return ResponseScores(scored.scores)
    questions = [sample or id for sample, id in zip(scored.column("sample"), scored.column("id"), strict=True)]
    return ResponseScores(scored.scores, questions, [value or "" for value in scored.column("value")])
