"""`mmscore compare`: two predictions files, row by row."""

import click
from msgspec.structs import replace

from mmconvert.console.app import EXIT_PARTIAL, OPTIONS_FILE
from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.options import add_struct_options
from mmscore.analysis.compare import CompareOptions, compare_files
from mmscore.cli.shared import describe_fields, judge_options, request_of, show_notes
from mmscore.core.report import json_text
from mmscore.reporting.compare_table import show
from mmscore.scoring.judging.request import JudgeOptions


@click.command(cls=GroupedCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("a")
@click.argument("b")
@add_struct_options(
    CompareOptions, describe_fields(CompareOptions), without=["judge"], before={"resamples": judge_options}
)
@click.option("--allow-rejects", is_flag=True, help="Exit with 0 although samples could not be compared.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@OPTIONS_FILE
def compare(a: str, b: str, judge: JudgeOptions, allow_rejects: bool, as_json: bool, options: CompareOptions) -> int:
    """Compare predictions B with predictions A and test whether the difference is significant.

    Samples are paired by id. The test is exact McNemar for scores of 0 and 1, and a paired bootstrap over groups
    (conversations, images) for all scores and for metrics that are no mean of samples, such as F1. With --by,
    p-values are adjusted for the number of groups. Under 30 pairs the bootstrap gives no p-value.

    Exit code 3: some samples have no score in one file, or have other references or options, or the files state
    two datasets.
    """
    found = compare_files(a, b, replace(options, judge=request_of(judge, quiet=False)))
    if as_json:
        click.echo(json_text(found.to_json()))
    else:
        show(found)
    show_notes(found.notes)
    return 0 if found.complete or allow_rejects else EXIT_PARTIAL
