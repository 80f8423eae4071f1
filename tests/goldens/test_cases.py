"""The golden cases that the repository holds: where they come from, how large they are, and where they do not go."""

import re
import tomllib

from goldens.run import CASES, PACKED, list_families

LARGEST = 1_500_000
"""Bytes of all cases together, as a checkout has them."""
BRACES = re.compile(r"([a-z_]*)\{([a-z_,]+)\}")


def _list_named(notice):
    """List the names in a text, `lmms_{pope_mme,vqa}` being two."""
    named = set(re.findall(r"\w+", notice))
    for stem, ends in BRACES.findall(notice):
        named |= {f"{stem}{end}" for end in ends.split(",")}
    return named


def test_notice_names_the_source_of_every_family(repository):
    assert {*list_families()} <= _list_named((repository / "NOTICE").read_text("utf-8"))


def test_the_cases_are_small_and_no_part_of_the_wheel(repository):
    assert sum(file.stat().st_size for file in CASES.iterdir()) < LARGEST
    built = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"][
        "wheel"
    ]
    assert built == {"packages": ["src/mmconvert", "src/mmscore"], "force-include": {"schemas": "mmconvert/schemas"}}
    assert [file for package in built["packages"] for file in (repository / package).rglob(f"*{PACKED}")] == []
