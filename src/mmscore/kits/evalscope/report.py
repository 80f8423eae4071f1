"""EvalScope's report: numbers rolled up by subset, category and metric, rounded at every level."""

from collections.abc import Mapping, Sequence
from decimal import ROUND_FLOOR, Decimal
from typing import Any

import msgspec

from mmconvert.core.errors import Error
from mmscore.kits.evalscope.aggregation import NEW, Aggregate, Identity, Release, ResponseScores, aggregate
from mmscore.kits.evalscope.text_grid import draw_table

DIGITS = 4
DEFAULT = "default"
OVERALL = "OVERALL"
NONE = "-"

NAMES = {"accuracy": "Accuracy", "bleu": "BLEU", "rouge": "ROUGE", "anls": "Similarity", "exact_match": "Exact Match"}
"""Metrics that the framework knows, as its table calls them since 1.14; any other is diagnostic."""

KIND_NAMES = {"pass_at_k": "Pass@k", "pass_hat_k": "Pass^k"}
FIRST_DIMENSIONS = ("target", "level", "scope")
LAST_DIMENSION = "statistic"


class SubsetScore(msgspec.Struct, frozen=True):
    """A number over one subset, rounded; `category` is its path in the category map."""

    name: str
    category: tuple[str, ...]
    score: float
    num: int
    metadata: Mapping[str, float] | None


class MetricScore(msgspec.Struct, frozen=True):
    """A metric over all subsets, sorted by category, in input order within one."""

    identity: Identity
    label: str
    subsets: tuple[SubsetScore, ...]

    def group_by_category(self) -> dict[tuple[str, ...], list[SubsetScore]]:
        """Group the subsets by category."""
        groups: dict[tuple[str, ...], list[SubsetScore]] = {}
        for subset in self.subsets:
            groups.setdefault(subset.category, []).append(subset)
        return groups

    @property
    def num(self) -> int:
        """Samples of all subsets."""
        return sum(subset.num for subset in self.subsets)

    @property
    def score(self) -> float:
        """Micro average over categories, which are micro averages themselves."""
        return _compute_micro(
            [(_pool_subsets(subsets), sum(s.num for s in subsets)) for subsets in self.group_by_category().values()]
        )


class ReportHeader(msgspec.Struct, frozen=True):
    """What stands around the numbers.

    Attributes:
        model: Name of the model.
        dataset: Name of the dataset.
        pretty_name: How the framework's table calls the dataset since 1.14.
        category_map: Subset -> its category or path of categories.
        overall: Add a line over all subsets.
        primary: The metric that stands for the report since 1.14, None to take the only known one.
    """

    model: str
    dataset: str
    pretty_name: str
    category_map: Mapping[str, str | Sequence[str]]
    overall: bool = False
    primary: Identity | None = None


def aggregate_metrics(
    subsets: Mapping[str, ResponseScores],
    category_map: Mapping[str, str | Sequence[str]],
    aggregation: str,
    release: Release,
) -> list[MetricScore]:
    """Aggregate every subset and gather the numbers by metric.

    Args:
        subsets: Responses by subset; an empty one is passed over.
        category_map: Subset -> its category or path of categories.
        aggregation: A key of `aggregation.KINDS`.
        release: Release whose behaviour is wanted.

    Returns:
        Metrics in order of first appearance.

    Raises:
        Error: No response has a score.
    """
    found: dict[str, list[tuple[str, Aggregate]]] = {}
    for subset, responses in subsets.items():
        for number in aggregate(responses, aggregation, release):
            found.setdefault(number.label, []).append((subset, number))
    if not found:
        raise Error("no response has a score, so that there is nothing to report.")
    metrics = []
    for label, numbers in found.items():
        rows = [
            SubsetScore(name, _build_path(category_map.get(name)), round(n.value, DIGITS), n.num, n.metadata)
            for name, n in numbers
        ]
        metrics.append(MetricScore(numbers[0][1].identity, label, tuple(sorted(rows, key=lambda row: row.category))))
    return metrics


def _build_path(category: str | Sequence[str] | None) -> tuple[str, ...]:
    if category is None:
        return (DEFAULT,)
    return (category,) if isinstance(category, str) else tuple(category)


def _compute_micro(parts: Sequence[tuple[float, int]]) -> float:
    return round(sum(score * num for score, num in parts) / sum(num for _, num in parts), DIGITS)


def _pool_subsets(subsets: Sequence[SubsetScore]) -> float:
    return _compute_micro([(subset.score, subset.num) for subset in subsets])


def _compute_macro(scores: Sequence[float]) -> float:
    return round(sum(scores) / len(scores), DIGITS)


def choose_primary_metric(metrics: Sequence[MetricScore], wanted: Identity | None) -> MetricScore | None:
    """Choose the metric that stands for a report since 1.14.

    Returns:
        The one with the wanted identity, None when there is none; without a wish the only metric
        that the framework knows.

    Raises:
        Error: Several metrics could stand for the report.
    """
    fitting = [m for m in metrics if (m.identity == wanted if wanted else m.identity.name in NAMES)]
    if len(fitting) > 1:
        listed = ", ".join(metric.label for metric in fitting)
        raise Error(f"several metrics could be the report's primary metric: {listed}. Name one as primary.")
    return fitting[0] if fitting else None


def choose_report_metric(metrics: Sequence[MetricScore], setting: ReportHeader, release: Release) -> MetricScore | None:
    """Choose the metric whose score is that of the report: until 1.10 the first one.

    Raises:
        Error: As `choose_primary_metric`.
    """
    return choose_primary_metric(metrics, setting.primary) if release == NEW else metrics[0]


def build_report_json(metrics: Sequence[MetricScore], setting: ReportHeader, release: Release) -> dict[str, Any]:
    """Lay out the framework's report file.

    Raises:
        Error: As `choose_primary_metric`.

    Parity: modelscope/evalscope 1.3.0, 1.10.0, 1.14.1 evalscope/report/report.py.
    """
    head = {
        "name": f"{setting.model}@{setting.dataset}",
        "dataset_name": setting.dataset,
        "dataset_pretty_name": setting.pretty_name,
        "model_name": setting.model,
    }
    listed = [_build_metric_json(metric, release) for metric in metrics]
    primary = choose_report_metric(metrics, setting, release)
    if primary and release != NEW:
        num = {"num": primary.num} if release == "1.10.0" else {}
        return {**head, "score": primary.score, "metrics": listed, **num}
    return {
        "schema_version": 2,
        **head,
        "metrics": listed,
        "primary_metric_identity": primary.identity.to_json() if primary else None,
        "primary_metric_unavailable_reason": None if primary else _explain_missing(setting.primary),
        "judge_summary": None,
        "execution_summary": None,
        "num": primary.num if primary else metrics[0].num,
    }


def _explain_missing(wanted: Identity | None) -> str:
    if wanted is None:
        return "No primary metric could be resolved."
    return f"Primary metric selector {wanted.to_json()} did not match any emitted metric identity."


def _build_metric_json(metric: MetricScore, release: Release) -> dict[str, Any]:
    categories = []
    for path, subsets in metric.group_by_category().items():
        num = sum(subset.num for subset in subsets)
        macro = _compute_macro([subset.score for subset in subsets])
        listed = [_build_subset_json(subset, release) for subset in subsets]
        categories.append(
            {"name": list(path), "num": num, "score": _pool_subsets(subsets), "macro_score": macro, "subsets": listed}
        )
    name = {"identity": metric.identity.to_json(), "legacy_name": None} if release == NEW else {"name": metric.label}
    macro = _compute_macro([_pool_subsets(subsets) for subsets in metric.group_by_category().values()])
    return {**name, "num": metric.num, "score": metric.score, "macro_score": macro, "categories": categories}


def _build_subset_json(subset: SubsetScore, release: Release) -> dict[str, Any]:
    found: dict[str, Any] = {"name": subset.name, "score": subset.score, "num": subset.num}
    if release == NEW:
        found["metadata"] = None if subset.metadata is None else dict(subset.metadata)
    return found if release == "1.3.0" else {**found, "is_aggregate": False}


def build_report_rows(
    metrics: Sequence[MetricScore], setting: ReportHeader, release: Release
) -> tuple[list[str], list[list[Any]]]:
    """Lay out the framework's data frame.

    Returns:
        Headings and lines; None for a category level that a subset does not have.
    """
    depth = max(len(subset.category) for metric in metrics for subset in metric.subsets)
    headings = ["Model", "Dataset", "Metric", "Subset", "Num", "Score", *(f"Cat.{n}" for n in range(depth))]
    lines = []
    for number, metric in enumerate(metrics):
        head = [setting.model, setting.dataset, metric.label]
        for subset in metric.subsets:
            missing = [None] * (depth - len(subset.category))
            lines.append([*head, subset.name, subset.num, subset.score, *subset.category, *missing])
        # Until 1.10 only the first metric gets the line over all subsets.
        wanted = setting.overall and (release == NEW or number == 0)
        if wanted and len(metric.subsets) > 1 and all(subset.name != OVERALL for subset in metric.subsets):
            lines.append([*head, OVERALL, metric.num, metric.score, NONE, *[None] * (depth - 1)])
    return headings, lines


def draw_report_table(metrics: Sequence[MetricScore], setting: ReportHeader, release: Release) -> str:
    """Draw the framework's table.

    Parity: modelscope/evalscope 1.3.0, 1.10.0, 1.14.1 evalscope/report/combinator.py:gen_table.
    """
    headings, lines = build_report_rows(metrics, setting, release)
    if release != NEW:
        shown = [["nan" if cell is None else cell for cell in line] for line in lines]
        return draw_table(shown, headings, "grid" if release == "1.3.0" else "simple_grid")
    by_label = {metric.label: metric.identity for metric in metrics}
    fixed = headings.index("Score") + 1
    names = [DEFAULT if cell is None else cell for line in lines for cell in line[fixed:] if line[3] != OVERALL]
    levels = 0 if all(name == DEFAULT for name in names) else len(headings) - fixed
    columns = ["Category"] if levels == 1 else [f"Category {n + 1}" for n in range(levels)]
    drawn = []
    for line in lines:
        identity = by_label[line[2]]
        score = format_percent(line[5]) if identity.name in NAMES else str(line[5])
        path = [NONE if cell in (None, DEFAULT) else cell for cell in line[fixed : fixed + levels]]
        drawn.append([line[0], setting.pretty_name, format_metric_name(identity), line[3], line[4], score, *path])
    return draw_table(drawn, [*headings[:fixed], *columns])


def format_metric_name(identity: Identity) -> str:
    """Name a metric as the framework's table does since 1.14.

    Example:
        >>> format_metric_name(Identity("rouge", dimensions=(("ngram", 1), ("statistic", "f1"))))
        'ROUGE ↑ · n-gram 1 · F1'
        >>> format_metric_name(Identity("accuracy", "pass_at_k", (("k", 2),)))
        'Pass@k ↑ · k 2'
        >>> format_metric_name(Identity("my_metric"))
        'my_metric:mean'
    """
    if identity.name not in NAMES:
        return str(identity)
    given = dict(identity.dimensions)
    first = [key for key in FIRST_DIMENSIONS if key in given]
    last = [key for key in (LAST_DIMENSION,) if key in given]
    order = [*first, *sorted(given.keys() - {*first, *last}), *last]
    name = KIND_NAMES.get(identity.aggregation, NAMES[identity.name])
    return " · ".join([f"{name} ↑", *(_format_dimension(key, given[key]) for key in order)])


def _format_dimension(key: str, value: Any) -> str:
    if key == "ngram":
        return f"n-gram {value}"
    if isinstance(value, str):
        return " ".join(word[:1].upper() + word[1:] for word in value.split("_"))
    return f"{key} {value}"


def format_percent(value: float) -> str:
    """Write a fraction as percent with at most one decimal, ties toward positive infinity.

    Example:
        >>> format_percent(0.5), format_percent(0.5075), format_percent(0.5455)
        ('50%', '50.7%', '54.6%')
    """
    # The decimal text of the product: 0.5075 * 100 is 50.74999999999999 and rounds down.
    tenths = (Decimal(repr(value * 100)) * 10 + Decimal("0.5")).to_integral_value(ROUND_FLOOR)
    return f"{f'{tenths / 10:f}'.removesuffix('.0')}%"
