"""The plug-ins available as the `list` commands show them."""

import json
import shutil
import sys
from collections.abc import Mapping, Sequence

import click

from mmconvert.console.completion_types import list_options
from mmconvert.core.text.printable import escape_control
from mmconvert.plugins.listing import ListedPlugin, list_kinds

_LEAST_SUMMARY = 20
"""Columns of a summary on the narrowest of terminals."""


def format_json(found: Mapping[str, Sequence[ListedPlugin]]) -> str:
    """Give one JSON object: kind -> name, summary and origin of each plug-in."""
    return json.dumps({kind: [one._asdict() for one in rows] for kind, rows in found.items()}, ensure_ascii=False)


def format_text(program: str, found: Mapping[str, Sequence[ListedPlugin]]) -> str:
    """Lay plug-ins out for people: a block a kind, a line each, cut to the width of a terminal.

    Args:
        program: Whose they are.
        found: What `list_plugins` gives.
    """
    width = max((len(one.name) for rows in found.values() for one in rows), default=0)
    most = None
    if sys.stdout is not None and sys.stdout.isatty():
        most = max(_LEAST_SUMMARY, shutil.get_terminal_size().columns - width - 4)
    groups = list_kinds(program)
    return "\n\n".join(
        "\n".join([_format_heading(kind, len(rows), groups[kind]), *(_format_line(one, width, most) for one in rows)])
        for kind, rows in found.items()
    )


def _format_heading(kind: str, count: int, group: str) -> str:
    used = ", ".join(list_options(group))
    return click.style(f"{kind} ({count})", bold=True) + (f"  for {used}" if used else "")


def _format_line(plugin: ListedPlugin, width: int, most: int | None) -> str:
    origin = "" if plugin.origin == "built-in" else f" [{plugin.origin}]"
    whole = plugin.summary if plugin.summary.endswith("...") else plugin.summary.removesuffix(".")
    summary = escape_control(whole + origin)
    if most is not None and len(summary) > most:
        summary = f"{summary[: most - 1]}\N{HORIZONTAL ELLIPSIS}"
    return f"  {escape_control(plugin.name):<{width}}  {summary}"
