import numpy as np
import pytest

from mmconvert.core.errors import Error
from mmscore.kits.evalscope.aggregation import Identity, ResponseScores, aggregate
from mmscore.kits.evalscope.report import (
    ReportHeader,
    aggregate_metrics,
    build_report_json,
    build_report_rows,
    choose_primary_metric,
    draw_report_table,
)

RIGHT, WRONG = [1.0], [0.0]


def _replies(accuracy, groups=(), extracted=(), **more):
    scores = {"acc": accuracy, **more}
    return ResponseScores({name: np.array(values, float) for name, values in scores.items()}, groups, extracted)


def _metrics(subsets, categories, release):
    return aggregate_metrics({n: _replies(values) for n, values in subsets.items()}, categories, "mean", release)


def _setting(**more):
    return ReportHeader("m", "d", "D", {}, **more)


def test_rounding_happens_at_every_level():
    metrics = _metrics({"a": [1, 0, 0], "b": [1, 1, 0]}, {}, "1.10.0")
    assert [subset.score for subset in metrics[0].subsets] == [0.3333, 0.6667]
    assert metrics[0].score == 0.5


def test_categories_are_sorted_and_subsets_keep_their_order():
    subsets = {"z": RIGHT, "y": WRONG, "x": RIGHT}
    (metric,) = _metrics(subsets, {"z": "b", "y": ["a", "deep"], "x": "b"}, "1.10.0")
    assert [subset.name for subset in metric.subsets] == ["y", "z", "x"]
    assert build_report_rows([metric], _setting(), "1.10.0")[1][1][-2:] == ["b", None]


@pytest.mark.parametrize(("release", "lines"), [("1.3.0", 1), ("1.10.0", 1), ("1.14.1", 2)])
def test_only_the_first_metric_has_an_overall_line_until_1_10(release, lines):
    replies = _replies([1.0], anls=[0.5])
    metrics = aggregate_metrics({"a": replies, "b": replies}, {}, "mean", release)
    rows = build_report_rows(metrics, _setting(overall=True), release)[1]
    assert sum(row[3] == "OVERALL" for row in rows) == lines


def _repeats(*scores, extracted=None):
    return _replies(scores, [0] * len(scores), extracted or [""] * len(scores))


@pytest.mark.parametrize(
    ("aggregation", "samples", "values"),
    [
        ("mean_and_pass_at_k", _repeats(1, 0, 0), [1 / 3, 2 / 3, 1.0]),
        ("mean_and_pass_hat_k", _repeats(1, 1, 0), [2 / 3, 1 / 3, 0.0]),
        ("mean_and_vote_at_k", _repeats(0, 1, 1, extracted="ABB"), [0.0, 0.0, 1.0]),
    ],
)
def test_numbers_over_repeats(aggregation, samples, values):
    found = aggregate(samples, aggregation, "1.14.1")
    assert [number.value for number in found[1:]] == pytest.approx(values)
    assert [number.num for number in found] == [3, 1, 1, 1]
    assert [number.num for number in aggregate(samples, aggregation, "1.10.0")] == [3, 3, 3, 3]


def test_blank_votes_do_not_count_since_1_14():
    samples = _repeats(0, 0, 1, extracted=["", "", "A"])
    assert aggregate(samples, "mean_and_vote_at_k", "1.14.1")[-1].value == 1.0
    assert aggregate(samples, "mean_and_vote_at_k", "1.10.0")[-1].value == 0.0


def test_several_known_metrics_need_a_choice():
    metrics = aggregate_metrics({"a": _replies([1.0], anls=[0.5])}, {}, "mean", "1.14.1")
    with pytest.raises(Error, match="several metrics"):
        choose_primary_metric(metrics, None)
    assert choose_primary_metric(metrics, Identity("anls")).score == 0.5


def test_a_choice_that_nothing_meets_is_told():
    metrics = _metrics({"a": RIGHT}, {}, "1.14.1")
    report = build_report_json(metrics, _setting(primary=Identity("bleu")), "1.14.1")
    assert report["primary_metric_identity"] is None
    assert "{'name': 'bleu', 'aggregation': 'mean', 'dimensions': {}}" in report["primary_metric_unavailable_reason"]


def test_nothing_scored_is_refused():
    with pytest.raises(Error, match="no response"):
        _metrics({"a": []}, {}, "1.3.0")


def test_the_newest_table_drops_categories_that_say_nothing():
    metrics = _metrics({"a": RIGHT, "b": WRONG}, {}, "1.14.1")
    assert "Category" not in draw_report_table(metrics, _setting(overall=True), "1.14.1")
    metrics = _metrics({"a": RIGHT, "b": WRONG}, {"a": "c"}, "1.14.1")
    lines = draw_report_table(metrics, _setting(), "1.14.1").splitlines()
    assert "Category" in lines[1]
    assert "100%" in lines[3] or "100%" in lines[5]


def test_pass_hat_k_needs_groups_as_long_as_the_mean_until_1_10():
    uneven = _replies([1.0] * 4, [0, 0, 0, 1])
    with pytest.raises(Error, match="repeats"):
        aggregate(uneven, "mean_and_pass_hat_k", "1.10.0")
    assert [number.identity.aggregation for number in aggregate(uneven, "mean_and_pass_hat_k", "1.14.1")] == [
        "mean",
        "pass_hat_k",
    ]
