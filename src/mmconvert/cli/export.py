"""`mmconvert export`: a dataset back into another format."""

import json
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import click

from mmconvert.chat.losses import summarize_remarks
from mmconvert.console.app import EXIT_PARTIAL, OPTIONS_FILE
from mmconvert.console.dataset_argument import DatasetArgument
from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.options import add_struct_options
from mmconvert.console.summary import describe_chosen
from mmconvert.core.text.printable import escape_control
from mmconvert.pipeline.export import ExportOptions, export_dataset

_SHOWN_LOSSES = 10


@click.command(cls=GroupedCommand)
@click.argument("dataset", type=DatasetArgument(path_type=Path), metavar="DATASET")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="Output file, or its URL (s3://BUCKET/FILE). Give FOLDER/ for a format that is a folder (mmmu_outputs, "
    "webdataset), or to name the file as the format's convention does.",
)
@add_struct_options(
    ExportOptions,
    {
        "to": {"metavar": "NAME"},
        "config_name": {"metavar": "NAME"},
        "columns": {"metavar": "NAME"},
        "where": {"metavar": "CONDITION"},
    },
)
@click.option("--allow-rejects", is_flag=True, help="Exit with 0 although rows, images or turns were dropped.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Print no progress and no summary.")
@OPTIONS_FILE
def export(dataset: Path, output: str, options: ExportOptions, allow_rejects: bool, as_json: bool, quiet: bool) -> int:
    """Write a dataset in another format.

    The output is written atomically. Rows, images and turns that the format cannot hold are listed row by row, and
    the exit code is 3. Metadata without a field in the format is one note with a count.
    """
    done = export_dataset(dataset, output, options, quiet=quiet)
    if as_json:
        click.echo(json.dumps(done.to_json(), ensure_ascii=False))
    elif not quiet:
        click.echo(escape_control(f"{done.output}: {done.rows_written:,} rows as {done.format}"))
        matched = done.rows_read - done.rows_rejected - done.rows_unmatched
        for line in describe_chosen(matched, done.rows_unmatched, done.rows_read, done.rows_undrawn):
            click.echo(line)
    if not quiet:
        dropped = [loss for loss in done.losses if not loss.remark]
        _show((f"row {loss.id} {loss.field}: {loss.message}" for loss in dropped), len(dropped))
        remarks = summarize_remarks(done.losses)
        _show((f"remark: {remark}" for remark in remarks), len(remarks))
    return EXIT_PARTIAL if done.has_dropped and not allow_rejects else 0


def _show(lines: Iterable[str], count: int) -> None:
    for line in islice(lines, _SHOWN_LOSSES):
        click.echo(escape_control(line), err=True)
    if count > _SHOWN_LOSSES:
        click.echo(f"... and {count - _SHOWN_LOSSES:,} more; --json names them all", err=True)
