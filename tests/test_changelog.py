"""CHANGELOG.md has the form of Keep a Changelog: versions newest first, dates, kinds of changes, a link for each."""

import datetime
import itertools
import re
from pathlib import Path

import pytest
from packaging.version import Version

from mmconvert._version import __version__

pytestmark = pytest.mark.static

TEXT = (Path(__file__).resolve().parents[1] / "CHANGELOG.md").read_text("utf-8")
KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
UNRELEASED = "Unreleased"
SOURCE = "https://github.com/mmconvert/mmconvert"


def read_sections() -> dict[str, str]:
    """Give the heading and the text of each version, in the order of the file."""
    parts = re.split(r"^## (.*)\n", TEXT.partition("\n[Unreleased]: ")[0], flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_headings_are_versions_with_dates_newest_first() -> None:
    first, *released = read_sections()
    assert first == f"[{UNRELEASED}]"
    found = [re.fullmatch(r"\[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)", heading) for heading in released]
    assert found, released
    assert None not in found, released
    versions = [Version(match[1]) for match in found]
    dates = [datetime.date.fromisoformat(match[2]) for match in found]
    assert versions == sorted({*versions}, reverse=True)
    assert dates == sorted(dates, reverse=True)


def test_the_version_of_the_package_has_a_section() -> None:
    assert Version(__version__).base_version in [heading[1:].partition("]")[0] for heading in read_sections()]


def test_changes_are_listed_by_kind() -> None:
    for heading, text in read_sections().items():
        before, *parts = re.split(r"^### (.*)\n", text, flags=re.MULTILINE)
        kinds = parts[::2]
        assert kinds == [kind for kind in KINDS if kind in kinds], heading
        assert all(re.search("^- ", part, re.MULTILINE) for part in parts[1::2]), heading
        assert bool(before.strip()) == (heading != f"[{UNRELEASED}]"), f"{heading}: a release begins with its summary"


def test_each_version_has_its_link() -> None:
    links = dict(re.findall(r"^\[([^\]]+)\]: (\S+)$", TEXT, re.MULTILINE))
    versions = [heading[1:].partition("]")[0] for heading in read_sections()]
    assert [*links] == versions
    newest, oldest = versions[1], versions[-1]
    assert links[UNRELEASED] == f"{SOURCE}/compare/v{newest}...HEAD"
    assert links[oldest] == f"{SOURCE}/releases/tag/v{oldest}"
    between = itertools.pairwise(versions[1:])
    assert all(links[later] == f"{SOURCE}/compare/v{earlier}...v{later}" for later, earlier in between)
