"""`mmscore rank`: models side by side over many datasets."""

import click

from mmconvert.console.app import EXIT_PARTIAL, OPTIONS_FILE
from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.options import add_struct_options
from mmscore.cli.shared import describe_fields
from mmscore.core.report import json_text
from mmscore.reporting.rank_table import show
from mmscore.workflow.rank import RankOptions, rank_files


@click.command("rank", cls=GroupedCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("predictions", nargs=-1, required=True, metavar="[NAME=]PATH...")
@add_struct_options(RankOptions, describe_fields(RankOptions, by={}))
@click.option("--allow-rejects", is_flag=True, help="Exit with 0 although datasets or samples are missing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@OPTIONS_FILE
def rank_models(predictions: tuple[str, ...], allow_rejects: bool, as_json: bool, options: RankOptions) -> int:
    """Rank models over datasets by average score and average rank, for generation and likelihood separately.

    Each PATH holds the predictions of one model on one dataset, or is a report (`mmscore -o`). NAME= gives the
    dataset if the file does not state it (TDIUC is seven datasets of ReForm-Eval: TDIUC-Color=PATH). Scores of
    different recipes are not ranked together. Equal scores share their mean rank. With --by aspect or subaspect the
    average score is MMTrustEval's total.

    Exit code 3: a model lacks a dataset that another has, or one of MMTrustEval's 32 tasks; a file covers only a part
    of its dataset; or samples have no score. They are listed.
    """
    found = rank_files(predictions, options)
    if as_json:
        click.echo(json_text(found.to_json()))
    else:
        show(found)
    return 0 if found.complete or allow_rejects else EXIT_PARTIAL
