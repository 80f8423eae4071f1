"""`mmconvert check`: every problem of a file with file, row and field; writes nothing."""

import json

import click

from mmconvert.cli.inspect import FILE_OPTIONS
from mmconvert.console.app import EXIT_PARTIAL, EXIT_REFUSED, OPTIONS_FILE
from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.options import add_struct_options
from mmconvert.core.text.printable import escape_control
from mmconvert.pipeline.check import Checked, check_files
from mmconvert.pipeline.read import FileOptions


@click.command(cls=GroupedCommand)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@add_struct_options(FileOptions, FILE_OPTIONS)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Print no progress and no summary.")
@OPTIONS_FILE
def check(inputs: tuple[str, ...], options: FileOptions, as_json: bool, quiet: bool) -> int:
    """List every problem by file, row and field with a fix; write nothing.

    Every image is decoded. A row may have several problems. Exit code 0: no problem, 3: some rows would be
    skipped, 1: all rows or a whole file would be.
    """
    found = check_files(inputs, options, quiet=quiet)
    if as_json:
        click.echo(json.dumps(found.to_json(), ensure_ascii=False))
    else:
        for line in [*found.problems, *(f"warning: {warning}" for warning in found.warnings)]:
            click.echo(escape_control(line))
    if not (as_json or quiet):
        click.echo(_format_verdict(found), err=True)
    if found.refused or not found.rows:
        return EXIT_REFUSED
    return EXIT_PARTIAL if found.problems else 0


def _format_verdict(found: Checked) -> str:
    if found.refused:
        return "a whole file is invalid, and the conversion would fail."
    if not found.rows:
        return "no row would convert."
    rows = f"{found.rows:,} row{'s' * (found.rows != 1)}"
    if found.problems:
        more = f", for {len(found.problems):,} problems" if len(found.problems) > found.bad_rows else ""
        return f"{rows} would convert; {found.bad_rows:,} would be skipped{more}."
    return f"{rows} would convert, none would be skipped."
