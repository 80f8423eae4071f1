"""Python files of frameworks, parsed and never run: what stands in a user's own checkout is theirs to read."""

import ast
import warnings
from pathlib import Path

from mmconvert.core.errors import Error, take_first_line

MAX_SOURCE_BYTES = 1_000_000
"""Longest Python file that is parsed; the frameworks' own have up to 180,000 bytes."""


def parse_python(path: Path) -> ast.Module:
    """Parse a Python file.

    Args:
        path: The file.

    Returns:
        Its syntax tree.

    Raises:
        Error: It is no regular file, longer than `MAX_SOURCE_BYTES`, not UTF-8, no Python, or nested too deeply.
    """
    if not path.is_file():
        raise Error(f"{path}: is not a file. Give the framework's whole checkout.")
    with path.open("rb") as file:
        source = file.read(MAX_SOURCE_BYTES + 1)
    if len(source) > MAX_SOURCE_BYTES:
        raise Error(f"{path}: is longer than {MAX_SOURCE_BYTES:,} bytes. Give the framework's own checkout.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # remarks on a framework's escapes are not ours to make
            return ast.parse(source.decode("utf-8-sig"))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = take_first_line(error)
        raise Error(f"{path}: cannot be parsed as Python ({reason}). Give the framework's own checkout.") from None
