"""`mmscore predict`: ask a model about every row of a dataset."""

import contextlib
import json
import sys
from pathlib import Path

import click
from msgspec.structs import replace

from mmconvert.console.app import EXIT_PARTIAL, OPTIONS_FILE
from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.options import add_struct_options
from mmconvert.console.summary import close, format_command
from mmconvert.core.errors import UsageError
from mmconvert.storage.object_store import is_url
from mmscore.cli.shared import describe_fields, push_options, pushed_text
from mmscore.core.predictions.load import open_rows
from mmscore.infer import session
from mmscore.infer.options import PredictOptions
from mmscore.llm.response_cache import store_path
from mmscore.reporting.publish import HubOptions, push_files

_METAVARS = {"backend": "NAME|file.py@NAME", "batch_size": "auto|N", "protocol": "NAME[:k=v,...]"}


@click.command(cls=GroupedCommand, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.argument("dataset")
@click.option("-o", "--output", required=True, help="Predictions file (parquet), or its URL in a store.")
@add_struct_options(
    PredictOptions,
    describe_fields(PredictOptions, model={}, **{name: {"metavar": text} for name, text in _METAVARS.items()}),
)
@push_options("model_card")
@click.option("--dry-run", is_flag=True, help="With --push: list what would be sent; sends nothing.")
@click.option("--quiet", is_flag=True, help="No progress.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@OPTIONS_FILE
def predict(
    dataset: str, output: str, dry_run: bool, quiet: bool, as_json: bool, options: PredictOptions, hub: HubOptions
) -> int:
    """Ask a model about every row of DATASET and write its replies to a predictions file.

    DATASET is a folder made by `mmconvert convert`, or a parquet file of its columns, here or at a URL. Replies are
    kept beside the output, in OUTPUT.answers.sqlite (of a URL in NAME.work, here): a run that was stopped, or
    killed, goes on where it was when the same command is run again. Rows without a reply are asked again then. A
    run that was told to stop leaves a predictions file with the rows that it came to, marked as partial. The key
    of a service comes from the environment and is kept nowhere.

    Exit code 3: the file is written, but some rows have no reply; the column prediction_error says why.
    """
    hub = replace(hub, dry_run=dry_run)
    hub.check(())
    if hub.push is None and dry_run:
        raise UsageError("--dry-run lists what --push USER/REPO would send. Give both, or --limit for a trial run.")
    # What a backend prints, or a cluster, must not stand between the lines that a program reads here.
    with contextlib.redirect_stdout(sys.stderr):
        summary = session.predict(dataset, output, options, quiet=quiet)
    if as_json:
        click.echo(json.dumps(summary.to_json()))
    else:
        why = "see prediction_error; --resume asks them again"
        failed = f", {summary.failed:,} failed ({why})" if summary.failed else ""
        cost = "" if summary.cost is None else f"; its tokens cost {summary.cost:.4g}"
        counts = f"{summary.rows:,} rows, {summary.asked:,} asked, {summary.reused:,} reused{failed}"
        click.echo(f"{summary.output}: {counts}, {summary.seconds:.1f} s{cost}")
        if not quiet:
            kept = store_path(session.build_local_path(output) if is_url(output) else Path(output))
            close({"replies": f"{kept}, asked once", "next": format_command("mmscore", summary.output)})
    if hub.push is not None:
        click.echo(pushed_text(push_files([(open_rows(output), ())], hub, quiet=quiet)), err=as_json)
    return EXIT_PARTIAL if summary.failed else 0
