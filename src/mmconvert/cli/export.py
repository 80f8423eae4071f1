"""`mmconvert export`: a dataset back into another format."""

import json
from pathlib import Path

import click

from mmconvert.console.app import EXIT_PARTIAL, OPTIONS_FILE
from mmconvert.console.dataset_argument import DatasetArgument
from mmconvert.console.options import add_struct_options
from mmconvert.core.text.printable import escape_control
from mmconvert.pipeline.export import ExportOptions, export_dataset

_SHOWN_LOSSES = 10


@click.command()
@click.argument("dataset", type=DatasetArgument(path_type=Path), metavar="DATASET")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="File to write, or its URL in a store (s3://BUCKET/FILE); a folder (or FOLDER/) for the name that the "
    "format's convention gives the file.",
)
@add_struct_options(
    ExportOptions, {"to": {"metavar": "NAME"}, "config_name": {"metavar": "NAME"}, "columns": {"metavar": "NAME"}}
)
@click.option("--allow-rejects", is_flag=True, help="Exit with 0 even if something was dropped.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="No progress and no summary.")
@OPTIONS_FILE
def export(dataset: Path, output: str, options: ExportOptions, allow_rejects: bool, as_json: bool, quiet: bool) -> int:
    """Write a dataset back in another format.

    The file appears whole or not at all. What the format cannot hold is said row by row, and the exit
    code is then 3.
    """
    done = export_dataset(dataset, output, options, quiet=quiet)
    if as_json:
        click.echo(json.dumps(done.to_json(), ensure_ascii=False))
    elif not quiet:
        click.echo(escape_control(f"{done.output}: {done.rows_written:,} rows as {done.format}"))
    if not quiet:
        for loss in done.losses[:_SHOWN_LOSSES]:
            click.echo(escape_control(f"row {loss.id} {loss.field}: {loss.message}"), err=True)
        if len(done.losses) > _SHOWN_LOSSES:
            click.echo(f"... and {len(done.losses) - _SHOWN_LOSSES:,} more; --json names them all", err=True)
    return EXIT_PARTIAL if (done.losses or done.rows_rejected) and not allow_rejects else 0
