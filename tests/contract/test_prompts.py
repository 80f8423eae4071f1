"""What every prompt owes: the contract that anybody can run, on any record, and a row in the docs."""

import re
from pathlib import Path

import pytest
from hypothesis import given

from mmconvert.core.record import Record
from mmconvert.pipeline.prompting import load_prompt
from mmconvert.plugins.registry import find_plugins
from mmconvert.testing import run_check
from mmconvert.testing.prompts import CHECKS, find_faults, load_subject
from support.records import records

PROMPTS = list(find_plugins("mmconvert.prompts"))
PAGE = Path(__file__).resolve().parents[2] / "docs/prompts.md"


@pytest.mark.parametrize("promise", list(CHECKS)[:-1])
@pytest.mark.parametrize("name", PROMPTS)
def test_it_keeps_the_promise(name: str, promise: str) -> None:
    assert not list(run_check(CHECKS, promise, load_subject(name, [])))


@pytest.mark.parametrize("name", PROMPTS)
@given(record=records())
def test_any_record_is_worded_or_refused(name: str, record: Record) -> None:
    assert not list(find_faults(record, load_prompt(name)))


@pytest.mark.parametrize("name", PROMPTS)
def test_it_is_documented(name: str) -> None:
    assert re.search(rf"^\| `{name}` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
