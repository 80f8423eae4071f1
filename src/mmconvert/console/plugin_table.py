"""The plug-ins at hand as the `list` commands show them."""

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import click

from mmconvert.console.completion_types import kinds, options_of
from mmconvert.core.errors import UsageError, did_you_mean
from mmconvert.core.text.printable import printable
from mmconvert.plugins.registry import available

_LEAST_SUMMARY = 20
"""Columns of a summary on the narrowest of terminals."""


class Listed(NamedTuple):
    """A plug-in: its name, what it is, who brought it."""

    name: str
    summary: str
    origin: str


def found_plugins(program: str, kind: str | None, words: Sequence[str]) -> dict[str, list[Listed]]:
    """Find the plug-ins of one program.

    Args:
        program: mmconvert or mmscore.
        kind: Kind such as `formats`, or one more word; None for all kinds.
        words: Words that must stand in the name or the summary, in any case.

    Returns:
        Kind -> its plug-ins by name; of several kinds those with any.

    Raises:
        UsageError: There is no such kind, or nothing with all the words.
    """
    groups = kinds(program)
    if kind is not None and kind not in groups:
        if hint := did_you_mean(kind, groups):
            raise UsageError(f"unknown kind {kind!r}.{hint} Known: {', '.join(groups)}.")
        words = [kind, *words]
        kind = None
    listed = {
        name: [Listed(one.name, one.summary(), one.origin) for one in available(group).values()]
        for name, group in groups.items()
        if kind in (None, name)
    }
    found = {name: [one for one in rows if _matches(one, words)] for name, rows in listed.items()}
    if words and not any(found.values()):
        names = [one.name for rows in listed.values() for one in rows]
        near = did_you_mean(words[0], names)
        raise UsageError(f"nothing here has {' and '.join(map(repr, words))}.{near} Kinds: {', '.join(groups)}.")
    return {name: rows for name, rows in found.items() if rows or kind is not None}


def _matches(plugin: Listed, words: Sequence[str]) -> bool:
    text = f"{plugin.name} {plugin.summary} {plugin.origin}".lower()
    return all(word.lower() in text for word in words)


def as_json(found: Mapping[str, Sequence[Listed]]) -> str:
    """Give one JSON object: kind -> name, summary and origin of each plug-in."""
    return json.dumps({kind: [one._asdict() for one in rows] for kind, rows in found.items()}, ensure_ascii=False)


def as_text(program: str, found: Mapping[str, Sequence[Listed]]) -> str:
    """Lay plug-ins out for people: a block a kind, a line each, cut to the width of a terminal.

    Args:
        program: Whose they are.
        found: What `found_plugins` gives.
    """
    width = max((len(one.name) for rows in found.values() for one in rows), default=0)
    most = None
    if sys.stdout is not None and sys.stdout.isatty():
        most = max(_LEAST_SUMMARY, shutil.get_terminal_size().columns - width - 4)
    groups = kinds(program)
    return "\n\n".join(
        "\n".join([_heading(kind, len(rows), groups[kind]), *(_line(one, width, most) for one in rows)])
        for kind, rows in found.items()
    )


def _heading(kind: str, count: int, group: str) -> str:
    used = ", ".join(options_of(group))
    return click.style(f"{kind} ({count})", bold=True) + (f"  for {used}" if used else "")


def _line(plugin: Listed, width: int, most: int | None) -> str:
    origin = "" if plugin.origin == "built-in" else f" [{plugin.origin}]"
    whole = plugin.summary if plugin.summary.endswith("...") else plugin.summary.removesuffix(".")
    summary = printable(whole + origin)
    if most is not None and len(summary) > most:
        summary = f"{summary[: most - 1]}\N{HORIZONTAL ELLIPSIS}"
    return f"  {printable(plugin.name):<{width}}  {summary}"
