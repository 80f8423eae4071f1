"""Every refusal that the sources can raise says what to do: in its own words, or by its code."""

import pytest

from mmconvert.core import error_hints
from mmconvert.core.error_hints import add_hint, says_what_to_do
from support.refusals import Refusal, refusals


@pytest.fixture(scope="module")
def found() -> list[Refusal]:
    """All refusals of the sources; looked for here, so that no process that only collects tests does."""
    return list(refusals())


@pytest.mark.slow
def test_the_sources_are_searched(found: list[Refusal]) -> None:
    assert len(found) > 250
    assert {"image.base64", "table.cells", "id.duplicate", "x.type"} <= {refusal.code for refusal in found}


def test_a_refusal_says_what_to_do_or_its_code_does(found: list[Refusal]) -> None:
    without = [
        refusal
        for refusal in found
        if add_hint(refusal.code, refusal.field, "It is wrong.").endswith(error_hints._REST)
        and (refusal.message is None or not says_what_to_do(refusal.message))
    ]
    assert without == [], "these have no next step"


def test_no_step_is_for_a_code_that_nobody_raises(found: list[Refusal]) -> None:
    codes = {refusal.code for refusal in found}
    codes |= {f"field.{refusal.code}" for refusal in found if refusal.field}
    codes |= {f"field.{code}" for code in codes if code.startswith("json.")}  # a cell may hold JSON
    assert not [word for word in error_hints._STEPS if not any(code.startswith(word) for code in codes)]
    assert not error_hints._BY_LAST_WORD.keys() - {code.rpartition(".")[2] for code in codes}


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("expected user (got 'usr').", False),
        ("expected user (got 'usr'). Did you mean user?", True),
        ("the image cannot be decoded: broken data stream.", False),
        ("the cell holds a formula (got '=A1. Do it'). Put the value itself into the cell.", True),
        ("the function failed (ValueError: no. Not at all).", False),
    ],
)
def test_a_second_sentence_is_a_next_step_and_a_quotation_is_none(message: str, said: bool) -> None:
    assert says_what_to_do(message) is said


def test_of_several_steps_the_one_for_the_longest_code_is_taken() -> None:
    assert add_hint("json.depth", "", "It is deep.").endswith("Nest it less deeply, or leave the row out.")
    assert add_hint("json.syntax", "", "Bad JSON.").startswith("Bad JSON. Write one whole JSON object")
    assert add_hint("json.syntax", "messages", "Bad JSON.").startswith("Bad JSON. Write the field as JSON")
    assert add_hint("mine.odd", "a", "It is odd.") == f"It is odd. {error_hints._REST}"
