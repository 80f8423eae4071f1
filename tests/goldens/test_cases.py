"""The golden cases that the repository holds: where they come from, how large they are, and where they do not go."""

import json
import lzma
import re
import tomllib

import pytest
from jsonschema import Draft202012Validator

from goldens.run import CASES, PACKED, list_families, list_packed

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


SCHEMA = json.loads((CASES / "case.schema.json").read_text("utf-8"))
"""The form of a case, for whoever reads them with tools of another year."""


def test_the_schema_of_a_case_is_one():
    Draft202012Validator.check_schema(SCHEMA)
    assert not Draft202012Validator(SCHEMA).is_valid({"rule": "a", "input": 1})


@pytest.mark.parametrize("file", list_packed(CASES), ids=lambda file: file.name)
def test_every_case_has_the_form_that_the_schema_states(file):
    validator = Draft202012Validator(SCHEMA)
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        found = [
            (number, error.message)
            for number, line in enumerate(lines, 1)
            for error in validator.iter_errors(json.loads(line))
        ]
    assert found == []
