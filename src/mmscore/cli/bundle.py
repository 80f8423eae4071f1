"""`mmscore bundle`: predictions, recipe, versions and hashes in one folder."""

from pathlib import Path

import click

from mmconvert.console.app import EXIT_PARTIAL, OPTIONS_FILE
from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.options import add_struct_options
from mmconvert.core.text.printable import escape_control
from mmscore.analysis.bundle import BundleOptions, bundle_files
from mmscore.cli.shared import describe_fields
from mmscore.core.report import json_text

_SHOWN = 20
"""Files that are left out, of those that are named."""


@click.command(cls=GroupedCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("predictions", nargs=-1, required=True)
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), metavar="DIR", help="New output directory."
)
@add_struct_options(BundleOptions, describe_fields(BundleOptions, average={"show_default": None}))
@click.option("--allow-rejects", is_flag=True, help="Exit with 0 although samples have no score.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--quiet", is_flag=True, help="Print no summary.")
@OPTIONS_FILE
def bundle(
    predictions: tuple[str, ...], output: Path, allow_rejects: bool, as_json: bool, quiet: bool, options: BundleOptions
) -> int:
    """Copy PREDICTIONS and everything their score depends on into one folder that anyone can recompute.

    `mmscore verify DIR` compares every byte and every score. bundle.json holds the command that gives the report.
    """
    found = bundle_files(predictions, output, options)
    if as_json:
        click.echo(json_text(found.to_json()))
    elif not quiet:
        for entry in found.report["entries"]:
            name, number = next(iter(entry["metrics"].items()), ("no number", {"value": None}))
            click.echo(
                escape_control(f"{entry['model']} {entry['recipe']}@{entry['version']} {name}: {number['value']}")
            )
        if found.left_out:
            more = ", ..." if len(found.left_out) > _SHOWN else ""
            listed = ", ".join(found.left_out[:_SHOWN])
            click.echo(escape_control(f"left out, as no score depends on them: {listed}{more}"))
        click.echo(escape_control(f"{output}: recompute with `mmscore verify {output}`"))
    return 0 if found.complete or allow_rejects else EXIT_PARTIAL
