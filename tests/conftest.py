"""Fixtures for every test: where the shared reference material stands, and a clean environment."""

import asyncio
import gc
import os
import re
import signal
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

from support.browser import browser, session_browser  # noqa: F401 - fixtures for every test
from support.hub_fixtures import hub, hub_process, hub_server, running_hub  # noqa: F401
from support.store_fixtures import bucket, store_server  # noqa: F401

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_DATASETS_OFFLINE", "1")
os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
# Several processes share the cores, and threads of tiny models would wait for each other more than they work.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# No test takes the machine's power away, and waiting for its disk is a part of the time of all that write.
os.fsync = lambda _: None

# Whoever starts the suite in the background (`scripts/test &`, nohup) has it ignore Ctrl-C, and so would the programs
# that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run: a failure is of the change at hand. HYPOTHESIS_PROFILE=search looks for new ones.
# No test has a deadline, for a busy machine would miss it.
settings.register_profile("steady", derandomize=True, deadline=None, max_examples=6)
settings.register_profile("release", derandomize=True, deadline=None, max_examples=200)
settings.register_profile("fast", derandomize=True, deadline=None, max_examples=5)
settings.register_profile("search", max_examples=500, deadline=None)

# What scripts/mutation is made of, looked into for doctests, needs packages of scripts/setup --release.
collect_ignore = [] if find_spec("mutmut") else ["mutation"]

TESTS = Path(__file__).resolve().parent
REPOSITORY = TESTS.parent
SLOW_FOLDERS = {"contract", "goldens", "seeds", "cli", "compat"}
"""Tests of whole commands, and of every plug-in there is."""

MARKED_FILE = r"^pytestmark = \[?pytest\.mark\.{}\b[,\]\n]"
MODEL_FIXTURES = {"trained_llava", "random_llava", "idefics3", "blip2_opt", "blip2_t5"}
SLOW_FIXTURES = {"browser", "session_browser", "hub", "hub_process", "hub_server", "bucket"}


@pytest.fixture(scope="session")
def repository() -> Path:
    """The checkout."""
    return REPOSITORY


@pytest.fixture(scope="session")
def shared() -> Path:
    """Golden files, real files and hostile inputs; they lie beside the checkout and not in it."""
    folder = REPOSITORY.parent / "shared"
    if not folder.is_dir():
        pytest.skip("no ../shared beside the checkout: golden and real files cannot be compared")
    return folder


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Addresses to which an event loop of this process attempted a connection."""
    found, connect = [], asyncio.SelectorEventLoop.sock_connect

    async def counted(self, sock, address):
        found.append(address)
        return await connect(self, sock, address)

    monkeypatch.setattr(asyncio.SelectorEventLoop, "sock_connect", counted)
    return found


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.environ["HF_HOME"] = str(tmp_path_factory.mktemp("hf"))
    os.environ["HF_DATASETS_CACHE"] = str(tmp_path_factory.mktemp("hf-datasets"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the contract tests write down what the examples give now, and a run leave out slow tests."""
    parser.addoption("--write-expected", action="store_true", help="rewrite tests/data/*/expected.jsonl")
    parser.addoption("--fast", action="store_true", help="leave out slow tests, and do not import files of them")


def pytest_configure(config: pytest.Config) -> None:
    """Choose how many examples property tests try."""
    profile = "fast" if config.getoption("--fast") else "steady"
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", profile))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files of tests that do not run before they import torch, a browser or Ray."""
    fast = config.getoption("--fast")
    if collection_path.is_dir():
        return (fast and TESTS in collection_path.parents and collection_path.name in SLOW_FOLDERS) or None
    chosen = config.option.markexpr
    marks = [mark for mark in ("release", "static") if f"not {mark}" in chosen] + ["slow"] * fast
    if collection_path.suffix != ".py" or not marks:
        return None
    text = collection_path.read_text(encoding="utf-8")
    return any(re.search(MARKED_FILE.format(mark), text, re.MULTILINE) for mark in marks) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put files with slow tests first; with --fast leave them out, and all that want a browser, a Hub or a model."""
    # Files go to workers in this order, and one that takes long must not be the last.
    slow = [item for item in items if item.get_closest_marker("slow") or _is_slow(item)]
    slow_files = {item.path for item in slow}
    items.sort(key=lambda item: item.path not in slow_files)
    if not config.getoption("--fast"):
        return
    config.hook.pytest_deselected(items=slow)
    items[:] = [item for item in items if item not in {*slow}]


def _is_slow(item: pytest.Item) -> bool:
    return bool((MODEL_FIXTURES | SLOW_FIXTURES) & {*getattr(item, "fixturenames", ())})


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from walking thousands of tests, while they are collected and afterwards."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
