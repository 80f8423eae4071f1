"""The locks name a release with hashes for all that pyproject.toml asks for, and nothing of one machine."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

pytestmark = pytest.mark.static

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
LOCKS = {
    "dev.txt": ["infer", "docs", "dev"],
    "release.txt": ["infer", "docs", "dev", "captions", "vcr", "wandb", "release"],
    "demo.txt": ["infer"],
}
APART = {"torch", "mmconvert"}
"""What the scripts install beside the locks."""


def read_lock(name: str) -> list[tuple[Requirement, list[str]]]:
    """Read the locked releases and their hashes."""
    text = (ROOT / "scripts/locks" / name).read_text("utf-8").replace("\\\n", " ")
    entries = [line.split(" --hash=") for line in text.splitlines() if line and not line.startswith("#")]
    return [(Requirement(entry), [part.strip() for part in hashes]) for entry, *hashes in entries]


@pytest.mark.parametrize("name", LOCKS)
def test_every_release_is_exact_and_has_hashes(name: str) -> None:
    entries = read_lock(name)
    assert len(entries) > 40
    for entry, hashes in entries:
        assert re.fullmatch(r"==[^*,]+", str(entry.specifier)), entry
        assert hashes, entry
        assert all(re.fullmatch("sha256:[0-9a-f]{64}", one) for one in hashes), entry


@pytest.mark.parametrize("name", LOCKS)
def test_all_that_the_project_asks_for_is_locked_as_it_asks(name: str) -> None:
    locked = {
        canonicalize_name(entry.name): entry
        for entry, _ in read_lock(name)
        if not entry.marker or entry.marker.evaluate()
    }
    asked = [Requirement(line) for line in sum((EXTRAS[extra] for extra in LOCKS[name]), PROJECT["dependencies"])]
    for need in asked:
        if need.name not in APART:
            (release,) = locked[canonicalize_name(need.name)].specifier
            assert need.specifier.contains(release.version), need
    assert not APART & locked.keys()


def test_the_lock_of_the_release_adds_packages_and_changes_none() -> None:
    dev, release = ({(str(entry), *hashes) for entry, hashes in read_lock(name)} for name in ("dev.txt", "release.txt"))
    assert dev < release


def test_the_hubs_client_brings_the_http_client_of_ours_as_notice_says() -> None:
    """One HTTP client: httpx comes with other packages of development, and not with the base package."""
    assert "httpx2" in {Requirement(line).name for line in metadata.requires("huggingface_hub") or ()}
    base = {entry.name for entry, _ in read_lock("base.txt")}
    assert "httpx2" in base
    assert "httpx" not in base


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_names_no_index_and_no_path(name: str) -> None:
    text = (ROOT / "scripts/locks" / name).read_text("utf-8")
    assert re.findall("://|--index|--find-links|^-", text, re.MULTILINE) == []
