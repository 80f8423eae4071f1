"""Every place in the sources that refuses a row, with its code and message."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

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
    """List them, those of `mmconvert`."""
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
