"""NOTICE names files that there are, and the licence of every source."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.static

ROOT = Path(__file__).resolve().parents[1]
NOTICE = (ROOT / "NOTICE").read_text(encoding="utf-8")
SOURCE = re.compile(r"^  [\w-]+/[\w.-]+ @ .*(?:\n  .*)*", re.MULTILINE)
LICENCE = re.compile(r"Apache-2\.0|MIT|BSD-[23]-Clause|ISC|CC BY-SA 4\.0")


def _expand(path: str) -> list[str]:
    found = re.search(r"\{([^{}]*)\}", path)
    if found is None:
        return [path]
    return [one for part in found[1].split(",") for one in _expand(path[: found.start()] + part + path[found.end() :])]


def test_every_file_that_is_named_exists() -> None:
    named = re.findall(r"\bsrc/(?:[\w./]|\{[^{}]*\})+", NOTICE)
    paths = {one for path in named for one in _expand(re.sub(r"\s+", "", path).rstrip("."))}
    assert len(paths) > 50
    assert sorted(path for path in paths if not (ROOT / path).exists()) == []


def test_every_source_has_a_licence() -> None:
    sources = SOURCE.findall(NOTICE)
    assert len(sources) > 25
    assert [source for source in sources if not LICENCE.search(source)] == []
    assert "see that repository" not in NOTICE.lower()
