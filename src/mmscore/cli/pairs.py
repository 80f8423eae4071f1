"""`mmscore pairs`: several responses a question in, training data out."""

import click
from msgspec.structs import replace

from mmconvert.console.app import OPTIONS_FILE
from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.options import add_struct_options
from mmconvert.console.summary import close, format_command
from mmconvert.core.text.printable import escape_control
from mmscore.cli.shared import describe_fields, judge_options, request_of, show_notes
from mmscore.core.report import json_text
from mmscore.scoring.judging.request import JudgeOptions
from mmscore.workflow.pairs import PAIRS, Pairs, PairsOptions, write_pairs

_REASONS = {
    "unscored": "without a score",
    "single": "with one scored response alone",
    "tied": "with equal scores",
    "close": "closer than --min-gap",
    "alike": "with two equal responses",
    "wrong": "without a right response",
}


@click.command(cls=GroupedCommand)
@click.argument("predictions")
@click.option("-o", "--output", required=True, metavar="DIR", help="Output folder: a dataset of mmconvert.")
@add_struct_options(
    PairsOptions,
    describe_fields(PairsOptions, min_gap={"metavar": "SCORE"}, right_from={"metavar": "SCORE"}),
    without=["judge"],
    before={"score": judge_options},
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Print no summary.")
@OPTIONS_FILE
def pairs(
    predictions: str, output: str, judge: JudgeOptions, as_json: bool, quiet: bool, options: PairsOptions
) -> None:
    """Turn PREDICTIONS with several responses a question into preference pairs or SFT samples.

    PREDICTIONS is a file of `mmscore predict --n K`. Each question gives one pair: its first response with the best
    score and its first with the worst, with both scores and the margin. Questions whose responses score the same give
    none. With --keep right each right response is a sample, equal ones once. Prompts and images come from --answers.

    `mmconvert export` writes the dataset in the forms of TRL, LLaMA-Factory, ms-swift and others.
    """
    found = write_pairs(predictions, output, replace(options, judge=request_of(judge, quiet=quiet or as_json)))
    if as_json:
        click.echo(json_text(found.to_json()))
    elif not quiet:
        click.echo(escape_control(_describe(found)))
        show_notes(found.notes)
        to = "trl" if found.keep == PAIRS else "sharegpt"
        close({"next": format_command("mmconvert", "export", found.output, "--to", to, "-o", f"{to}.json")}, err=True)


def _describe(found: Pairs) -> str:
    what = "preference pairs" if found.keep == PAIRS else f"right responses to {found.used:,} questions"
    lines = [
        f"{found.output}: {found.rows:,} {what}, from {found.questions:,} questions ({found.score} of {found.recipe})"
    ]
    lines += [f"questions left out: {count:,} {_REASONS[name]}" for name, count in found.left_out.items()]
    return "\n".join(lines)
