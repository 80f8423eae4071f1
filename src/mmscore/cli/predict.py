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
from mmconvert.dataset.dataset import refuse_other_file
from mmconvert.storage.object_store import is_url
from mmscore.cli.shared import describe_fields, push_options, pushed_text
from mmscore.core.predictions.load import open_rows
from mmscore.infer import session
from mmscore.infer.options import PredictOptions
from mmscore.llm.response_cache import store_path
from mmscore.reporting.publish import HubOptions, push_files

_METAVARS = {
    "model": "DIR|ID|NAME",
    "dtype": "NAME",
    "attn": "NAME",
    "backend": "NAME|file.py@NAME",
    "batch_size": "auto|N",
    "protocol": "NAME[:k=v,...]",
}


def _refuse_other_file(_context: click.Context, _param: click.Parameter, dataset: str | None) -> str | None:
    """Refuse a file that is to be converted first, before a missing option is named."""
    if dataset is not None and not is_url(dataset):
        refuse_other_file(Path(dataset))
    return dataset


@click.command(cls=GroupedCommand, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.argument("dataset", callback=_refuse_other_file)
@click.option("-o", "--output", required=True, metavar="FILE", help="Output file (parquet), or its URL (s3://...).")
@add_struct_options(
    PredictOptions,
    describe_fields(PredictOptions, **{name: {"metavar": text} for name, text in _METAVARS.items()}),
)
@push_options("model_card", "eval_results")
@click.option("--dry-run", is_flag=True, help="With --push: list what would be uploaded; upload nothing.")
@click.option("--quiet", is_flag=True, help="Print no progress.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@OPTIONS_FILE
def predict(
    dataset: str, output: str, dry_run: bool, quiet: bool, as_json: bool, options: PredictOptions, hub: HubOptions
) -> int:
    """Run a model on every sample of DATASET and write a predictions file.

    DATASET is a folder made by `mmconvert convert`, or a parquet file with its columns, local or at a URL. Responses
    are cached in OUTPUT.answers.sqlite (for a URL: in NAME.work in the current directory), so an interrupted run
    continues when the same command is run again, and samples without a response are retried. SIGTERM or Ctrl-C
    leaves a predictions file with the responses so far, marked as partial. The API key comes from the environment
    and is never stored.

    Exit code 3: the file is written, but some samples have no response; the column prediction_error has the reason.
    """
    hub = replace(hub, dry_run=dry_run)
    hub.check(())
    if hub.push is not None and options.shard is not None:
        raise UsageError("--push: a shard is a part of a run. Push the file that mmscore merge writes.")
    if hub.push is None and dry_run:
        raise UsageError("--dry-run lists what --push USER/REPO would upload. Give both, or --limit for a trial run.")
    # What a backend prints, or a cluster, must not stand between the lines that a program reads here.
    with contextlib.redirect_stdout(sys.stderr):
        summary = session.predict(dataset, output, options, quiet=quiet)
    if as_json:
        click.echo(json.dumps(summary.to_json()))
    else:
        why = "see prediction_error; --resume retries them"
        failed = f", {summary.failed:,} failed ({why})" if summary.failed else ""
        cost = "" if summary.cost is None else f", cost {summary.cost:.4g}"
        counts = f"{summary.rows:,} samples, {summary.asked:,} requests sent, {summary.reused:,} from cache{failed}"
        click.echo(f"{summary.output}: {counts}, {summary.seconds:.1f} s{cost}")
        if not quiet:
            made = summary.output
            kept = store_path(session.build_local_path(made) if is_url(made) else Path(made))
            following = ["mmscore", made]
            if options.shard is not None:
                following = ["mmscore", "merge", "SHARDS...", "-o", output]
            close({"cache": str(kept), "next": format_command(*following)})
    if hub.push is not None:
        click.echo(pushed_text(push_files([(open_rows(output), ())], hub, quiet=quiet)), err=as_json)
    return EXIT_PARTIAL if summary.failed else 0
