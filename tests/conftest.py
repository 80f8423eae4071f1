"""Fixtures that every test may use."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of golden files and other evidence beside the repository; skips where there is none."""
    folder = Path(__file__).parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not here: golden files and real files are kept outside the repository")
    return folder
