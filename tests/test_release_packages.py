"""With `--release` no test is skipped for a missing package: all that the lock of the release names is installed."""

from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

pytestmark = pytest.mark.release

LOCK = Path(__file__).resolve().parents[1] / "scripts/locks/release.txt"


def test_the_release_environment_is_whole() -> None:
    lines = LOCK.read_text("utf-8").replace("\\\n", " ").splitlines()
    needs = [Requirement(line.split(" --hash=")[0]) for line in lines if line and not line.startswith("#")]
    here = [need for need in needs if not need.marker or need.marker.evaluate()]
    assert len(here) > 200
    assert [str(need) for need in here if metadata.version(need.name) not in need.specifier] == []
