"""A Ray cluster of two nodes on this machine."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest

ray = pytest.importorskip("ray", reason="needs the extra: pip install 'mmconvert[ray]'")

DEATHS_ARE_SEEN_SOON = {
    "health_check_period_ms": 500,
    "health_check_initial_delay_ms": 0,
    "health_check_failure_threshold": 5,
}
"""A node that was killed counts as dead after seconds, not a quarter of a minute."""


@contextmanager
def two_nodes() -> Iterator[Any]:
    """Two nodes of one core each, at the address that RAY_ADDRESS then names."""
    from ray.cluster_utils import Cluster

    with mock.patch.dict(os.environ, {"RAY_USAGE_STATS_ENABLED": "0"}):
        head = {"num_cpus": 1, "include_dashboard": False, "_system_config": DEATHS_ARE_SEEN_SOON}
        made = Cluster(initialize_head=True, head_node_args=head)
        made.add_node(num_cpus=1)
        os.environ["RAY_ADDRESS"] = made.address
        try:
            yield made
        finally:
            ray.shutdown()
            made.shutdown()
