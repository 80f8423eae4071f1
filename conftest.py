"""Doctests are looked for in files that have an example; the others are not imported for it."""

from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files that are no tests and have no example, of which some import torch or Ray; with --fast all."""
    if collection_path.suffix != ".py" or collection_path.name.startswith("test_"):
        return None
    return config.getoption("--fast", default=False) or ">>>" not in collection_path.read_text(encoding="utf-8") or None
