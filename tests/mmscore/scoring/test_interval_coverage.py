"""A few cells of docs/intervals.md, with fewer simulations: `scripts/coverage` runs them all."""

import pytest

from mmscore.core import estimates
from mmscore.core.distributions import Z95
from support.interval_coverage import CELLS, GROUPS, cover_difference, cover_macro, cover_share


@pytest.mark.parametrize(("clusters", "share", "correlation"), [(8, 0.2, 0.5), (8, 0.5, 0.0), (20, 0.8, 0.2)])
def test_intervals_of_shares_out_of_few_clusters_hold_the_truth(clusters, share, correlation):
    assert (clusters, share, correlation) in CELLS
    assert 92.5 <= cover_share(clusters, share, correlation, 800) <= 97.5


def test_the_normal_distribution_would_be_too_narrow(monkeypatch):
    monkeypatch.setattr(estimates, "_find_quantile", lambda *clusters: Z95)
    assert cover_share(8, 0.2, 0.5, 400) < 90


def test_intervals_of_differences_out_of_few_clusters_hold_the_truth():
    assert 92 <= cover_difference(8, 0.5, 0.2, 400, resamples=500) <= 98.5


@pytest.mark.parametrize(("groups", "rows", "share"), [(5, (1, 1), 0.9), (5, (5, 5), 0.9), (20, (1, 30), 0.5)])
def test_intervals_of_averages_over_small_groups_hold_the_truth(groups, rows, share):
    assert (groups, rows, share) in GROUPS
    assert cover_macro(groups, rows, share, 250) >= 91
