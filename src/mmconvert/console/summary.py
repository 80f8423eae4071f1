"""The last words of a command: where everything is, and what to run next."""

import shlex
import sys
from collections.abc import Mapping

import click

from mmconvert.core.text.printable import escape_control

_INDENT = "  "


def close(facts: Mapping[str, str | None], *, err: bool = False) -> None:
    """Print places and next steps: as a table on a terminal, as aligned lines elsewhere.

    Args:
        facts: Label -> what stands behind it; None or "" leaves a label out.
        err: Print on standard error, because standard output has the result.
    """
    said = {label: escape_control(text) for label, text in facts.items() if text}
    stream = sys.stderr if err else sys.stdout
    if not said or stream is None:
        return
    if stream.isatty():
        _print_table(said, err)
        return
    width = max(map(len, said)) + 1
    click.echo("\n".join(f"{_INDENT}{label + ':':<{width}}  {text}" for label, text in said.items()), err=err)


def _print_table(said: Mapping[str, str], err: bool) -> None:
    # Loaded here: what has no terminal never needs it.
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2), pad_edge=True)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in said.items():
        table.add_row(label, Text(text))
    Console(stderr=err, highlight=False).print(table)


def describe_chosen(matched: int, unmatched: int, drawn: int, undrawn: int) -> list[str]:
    """Say how many rows `--where` and `--sample` left; nothing where they left all.

    Example:
        >>> describe_chosen(2, 1, 3, 7)
        ['2 of 10 rows match --where and are drawn by --sample']
        >>> describe_chosen(2, 1, 3, 0)
        ['2 of 3 rows match --where']
    """
    if unmatched and undrawn:
        return [f"{matched:,} of {drawn + undrawn:,} rows match --where and are drawn by --sample"]
    shown = [(drawn, undrawn, "drawn by --sample"), (matched, unmatched, "match --where")]
    return [f"{kept:,} of {kept + left:,} rows {what}" for kept, left, what in shown if left]


def format_command(*words: object) -> str:
    """Write a command as a shell takes it.

    Example:
        >>> format_command("mmscore", "my file.parquet")
        "mmscore 'my file.parquet'"
    """
    return shlex.join(map(str, words))
