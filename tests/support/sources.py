"""The sources of both packages as trees of `ast`, parsed once for all tests that read them."""

import ast
from functools import cache
from pathlib import Path

SRC = Path(__file__).resolve().parents[2] / "src"
PATHS = tuple(sorted(SRC.rglob("*.py")))


@cache
def parse_source(path: Path) -> ast.Module:
    """Parse a file of the sources."""
    return ast.parse(path.read_bytes())


@cache
def walk_source(path: Path) -> list[ast.AST]:
    """List all nodes of a file of the sources."""
    return [*ast.walk(parse_source(path))]


def name_module(path: Path) -> str:
    """Name the module of a file."""
    return ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")
