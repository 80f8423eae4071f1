"""Fixtures of a Hub on this machine: one server and one client process a module, forgotten between tests."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.hub_client import hub_client
from support.hub_server import HubServer
from support.hub_server import hub_server as started


@pytest.fixture(scope="module")
def running_hub() -> Iterator[HubServer]:
    """A Hub for all tests of a module; `hub_server` is what a test asks for."""
    with started() as server:
        yield server


@pytest.fixture(scope="module")
def hub_process(running_hub: HubServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """Calls a function of `support.hub_client` in a process whose Hub this is."""
    with hub_client(running_hub.environment(tmp_path_factory.mktemp("home"))) as call:
        yield call


@pytest.fixture
def hub_server(running_hub: HubServer) -> Iterator[HubServer]:
    """The Hub, without what an earlier test asked of it or had it do."""
    running_hub.served = 0
    yield running_hub
    running_hub.faults.clear()
    running_hub.requests.clear()
    # Equal bytes of another test would not be sent.
    running_hub.stored.clear()


@pytest.fixture
def hub() -> Iterator[HubServer]:
    """An empty Hub of a test's own; its clients are subprocesses with `hub.environment(home)`."""
    with started() as server:
        yield server
