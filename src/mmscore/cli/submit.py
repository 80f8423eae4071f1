"""`mmscore submit`: predictions as the file that a benchmark's server takes."""

import json
from pathlib import Path

import click

from mmconvert.console.app import EXIT_PARTIAL, OPTIONS_FILE
from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.options import add_struct_options
from mmconvert.core.text.printable import escape_control
from mmscore.cli.shared import describe_fields
from mmscore.reporting.submit import SubmitOptions
from mmscore.reporting.submit import submit as run

_SHOWN = 10


@click.command(cls=GroupedCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("predictions", type=click.Path(path_type=Path))
@add_struct_options(
    SubmitOptions,
    describe_fields(SubmitOptions, to={"metavar": "FORMAT"}),
    before={
        "columns": click.option(
            "-o", "--output", required=True, type=click.Path(dir_okay=False, path_type=Path), metavar="FILE"
        )
    },
)
@click.option("--allow-rejects", is_flag=True, help="Exit with 0 although rows lack what the server needs.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Print no summary.")
@OPTIONS_FILE
def submit(
    predictions: Path, output: Path, allow_rejects: bool, as_json: bool, quiet: bool, options: SubmitOptions
) -> int:
    """Write PREDICTIONS as a submission file, for example MMBench's workbook.

    Exit code 3: the file is written, but rows lack a prediction or a question, or could not be read.
    """
    found = run(predictions, output, options)
    if as_json:
        click.echo(json.dumps(found.to_json(), ensure_ascii=False))
    elif not quiet:
        click.echo(escape_control(f"{output}: {found.rows:,} rows as {options.to}"))
        if found.left_out:
            listed = ", ".join(f"{name} ({rows:,})" for name, rows in found.left_out.items())
            click.echo(escape_control(f"not in a submission: {listed}"))
    if not quiet:
        lines = [*found.rejected, *(f"row {fault.id} {fault.field}: {fault.message}" for fault in found.faults)]
        for line in lines[:_SHOWN]:
            click.echo(escape_control(line), err=True)
        if len(lines) > _SHOWN:
            click.echo(f"... and {len(lines) - _SHOWN:,} more; --json names them all", err=True)
    return 0 if found.complete or allow_rejects else EXIT_PARTIAL
