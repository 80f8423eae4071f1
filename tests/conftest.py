"""Fixtures for every test: where the shared reference material stands, and a clean environment."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from support.browser import browser, session_browser  # noqa: F401 - fixtures for every test
from support.hub_fixtures import hub, hub_process, hub_server, running_hub  # noqa: F401

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_DATASETS_OFFLINE", "1")
os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")

# Whoever starts the suite in the background (`scripts/test &`, nohup) has it ignore Ctrl-C, and so would the programs
# that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run: a failure is of the change at hand. HYPOTHESIS_PROFILE=search looks for new ones.
settings.register_profile("steady", derandomize=True)
settings.register_profile("search", max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

REPOSITORY = Path(__file__).resolve().parents[1]


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


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.environ["HF_HOME"] = str(tmp_path_factory.mktemp("hf"))
    os.environ["HF_DATASETS_CACHE"] = str(tmp_path_factory.mktemp("hf-datasets"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the contract tests write down what the examples give now."""
    parser.addoption("--write-expected", action="store_true", help="rewrite tests/data/*/expected.jsonl")
