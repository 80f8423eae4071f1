"""Every refusal that the sources can raise says what to do: in its own words, or by its code."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from mmconvert.core import error_hints
from mmconvert.core.error_hints import add_hint, says_what_to_do
from support.sources import PATHS, SRC, walk_source

ADVICE = ("did_you_mean(", "_near(", "hint")
"""Values inside a message that are a sentence of their own, or nothing."""

_ORDER = {"RowError": ("code", "field", "message"), "Rejected": ("where", "code", "message", "field")}
"""What the arguments of a refusal are."""


class Refusal(NamedTuple):
    """A place in the sources that refuses a row.

    Attributes:
        place: File and line.
        code: Its code, "x" for what is known only when it is raised.
        field: Its field, "" for the row as a whole.
        message: Its message as the code; None when it comes from elsewhere.
    """

    place: str
    code: str
    field: str
    message: str | None


def spelled(node: ast.expr | None) -> str | None:
    """Give a text with "x" for each value in it, None where it stands elsewhere in the sources."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if not isinstance(node, ast.JoinedStr):
        return None
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else shown(ast.unparse(part.value)) for part in node.values
    )


def shown(value: str) -> str:
    return "(got 0)" if value.startswith("got(") else "" if value.startswith(ADVICE) else "x"


def written(node: ast.expr, nodes: list[ast.AST]) -> ast.expr:
    """Give the value of a name as the line above it assigns it, any other expression as it stands."""
    above = (n for n in nodes if isinstance(n, ast.Assign) and n.end_lineno == node.lineno - 1)
    return next((n.value for n in above if ast.unparse(n.targets[0]) == ast.unparse(node)), node)


def refusals() -> Iterator[Refusal]:
    for path in (path for path in PATHS if path.is_relative_to(SRC / "mmconvert")):
        nodes = walk_source(path)
        for node in nodes:
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            if node.func.id not in _ORDER or not node.args or ast.unparse(node.args[0]) == "error.code":
                continue  # one that is read back, or raised again
            given = dict(zip(_ORDER[node.func.id], (written(arg, nodes) for arg in node.args), strict=False))
            code, field, message = (spelled(given.get(name)) for name in ("code", "field", "message"))
            absent = "field" not in given
            yield Refusal(
                f"{path.relative_to(SRC)}:{node.lineno}", code or "x.x", "" if absent else field or "x", message
            )


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
        ("the picture cannot be decoded: broken data stream.", False),
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
