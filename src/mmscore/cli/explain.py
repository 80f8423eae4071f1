"""`mmscore explain`: which rule read each row, and why two recipes differ."""

import click

from mmconvert.console.app import OPTIONS_FILE
from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.options import add_struct_options
from mmscore.analysis.explain import ExplainOptions, explain_file
from mmscore.cli.shared import describe_fields, show_notes
from mmscore.core.report import json_text
from mmscore.reporting.explain_table import show


@click.command(cls=GroupedCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("predictions")
@add_struct_options(ExplainOptions, describe_fields(ExplainOptions))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@OPTIONS_FILE
def explain(predictions: str, as_json: bool, options: ExplainOptions) -> int:
    """Show the parsed answer of each response in PREDICTIONS, the rule that parsed it, and where.

    With --recipe given twice: the samples that the recipes score differently, and how much of the difference each
    pair of rules contributes; the contributions add up to the difference.
    """
    found = explain_file(predictions, options)
    if as_json:
        click.echo(json_text(found.to_json()))
    else:
        show(found)
    show_notes(found.notes)
    return 0
