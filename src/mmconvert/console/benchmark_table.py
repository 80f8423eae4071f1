"""The catalogue of benchmarks as `mmconvert list benchmarks` shows it."""

import json
import shutil
import sys
from collections.abc import Sequence
from typing import Any

import click
import msgspec

from mmconvert.benchmarks.catalogue import FRAMEWORKS, Benchmark, describe_source
from mmconvert.core.text.printable import escape_control

_HEADINGS = ("name", "framework", "questions", "recipe", "where")
_LEAST = 20
"""Columns of the last column on the narrowest of terminals."""
_UNKNOWN = "-"
_NO_RECIPE = "none yet"


def format_benchmarks_json(found: Sequence[Benchmark]) -> str:
    """Give a JSON list of objects: the fields of each benchmark, and `key`, its name with the framework's prefix."""
    return json.dumps([_to_object(one) for one in found], ensure_ascii=False)


def format_benchmarks(found: Sequence[Benchmark]) -> str:
    """Lay benchmarks out for people: a line each, cut to the width of a terminal.

    Args:
        found: What `list_benchmarks` gives.
    """
    rows = [_HEADINGS, *map(_list_cells, found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS) - 1)]
    most = None
    if sys.stdout is not None and sys.stdout.isatty():
        most = max(_LEAST, shutil.get_terminal_size().columns - sum(widths) - 2 * len(_HEADINGS))
    lines = [
        "  " + "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), _cut(row[-1], most)])
        for row in rows
    ]
    return "\n".join([click.style(f"benchmarks ({len(found)})", bold=True) + "  for INPUT", *lines])


def _list_cells(benchmark: Benchmark) -> tuple[str, ...]:
    count = _UNKNOWN if benchmark.questions is None else f"{benchmark.questions:,}"
    cells = (benchmark.shortest_name, FRAMEWORKS[benchmark.framework], count, benchmark.recipe or _NO_RECIPE)
    return (*cells, escape_control(describe_source(benchmark.source)))


def _cut(text: str, most: int | None) -> str:
    return text if most is None or len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"


def _to_object(benchmark: Benchmark) -> dict[str, Any]:
    # Defaults are left out of the catalogue's files; a program that reads a list wants every field.
    fields: dict[str, Any] = {name: getattr(benchmark, name) for name in benchmark.__struct_fields__}
    return {"key": benchmark.key, **msgspec.to_builtins(fields)}
