"""`mmconvert stats`: what a dataset is like as a whole, counted in one pass."""

import json
from pathlib import Path

import click

from mmconvert.console.app import OPTIONS_FILE
from mmconvert.console.dataset_argument import DatasetArgument
from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.options import add_struct_options
from mmconvert.core.text.printable import escape_control
from mmconvert.curation.stats import DatasetStatistics, StatsOptions, compute_stats
from mmconvert.viewer.stats_page import require_page, write_stats_page
from mmconvert.viewer.stats_tables import Bar, StatsTable, build_stats_tables
from mmconvert.viewer.thumbnails import format_bytes

_TERMINAL = {"split": {"metavar": "NAME"}, "processor": {"metavar": "ID|DIR"}, "engine": {"metavar": "NAME"}}
_LONGEST, _STEPS = 40, 24
"""Characters of a label, and of the longest bar."""


@click.command(cls=GroupedCommand)
@click.argument("dataset", type=DatasetArgument(path_type=Path), metavar="DATASET")
@add_struct_options(StatsOptions, _TERMINAL)
@click.option(
    "--html", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Also write a page with charts."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Print no progress.")
@OPTIONS_FILE
def stats(dataset: Path, options: StatsOptions, html: Path | None, as_json: bool, quiet: bool) -> int:
    """Count a dataset: samples, images, sizes, turns, text lengths, tokens, answers, missing and repeated values.

    One pass over the columns; images are neither decoded nor read. Repeated images and samples are exact duplicates.
    """
    if html is not None:
        require_page(html)
    found = compute_stats(dataset, options, quiet=quiet or as_json)
    if html is not None:
        write_stats_page(found, html)
    if as_json:
        click.echo(json.dumps(found.to_json(), ensure_ascii=False))
    else:
        click.echo(escape_control(_format_stats(found)))
        if html is not None and not quiet:
            click.echo(f"\nOpen it in a browser: {html.resolve().as_uri()}")
    return 0


def _format_stats(found: DatasetStatistics) -> str:
    size = "" if found.image_bytes is None else f" ({format_bytes(found.image_bytes)})"
    heading = f"{found.dataset}: {found.samples:,} samples, {found.images:,} images{size}"
    return "\n\n".join([heading, *map(_format_table, build_stats_tables(found))])


def _format_table(table: StatsTable) -> str:
    rows = [table.heads, *table.rows] if table.rows else []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  "
        + "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    ]
    lines += [] if rows else _draw_bars(table.bars)
    return "\n".join([table.title, *(line.rstrip() for line in lines), *([f"  {table.note}"] if table.note else [])])


def _draw_bars(bars: tuple[Bar, ...]) -> list[str]:
    most = max(bar.count for bar in bars) if bars else 0
    labels = [bar.label if len(bar.label) <= _LONGEST else f"{bar.label[: _LONGEST - 3]}..." for bar in bars]
    width, digits = max(map(len, labels), default=0), len(f"{most:,}")
    return [
        f"  {label:<{width}}  {bar.count:>{digits},}  {'#' * round(_STEPS * bar.count / most if most else 0)}"
        for label, bar in zip(labels, bars, strict=True)
    ]
