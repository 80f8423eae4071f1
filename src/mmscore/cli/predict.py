"""`mmscore predict`: ask a model about every row of a dataset."""

import contextlib
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from mmconvert.console.app import EXIT_PARTIAL, OPTIONS_FILE
from mmconvert.console.summary import close, command
from mmconvert.core.errors import UsageError, got
from mmconvert.storage.object_store import is_url
from mmscore.cli.push_predictions import Pushing, push_predictions_options, pushed_text
from mmscore.infer import session
from mmscore.infer.backend import CHAT, GENERATE, METHODS, REDUCTIONS, TEMPLATES
from mmscore.infer.ledger import Summary
from mmscore.infer.options import ENGINES, LOCAL, PredictOptions
from mmscore.llm.response_cache import store_path


def batch_size(_ctx: click.Context, _param: click.Parameter, value: str) -> int | None:
    """Read `--batch-size`; None stands for auto."""
    if value == "auto":
        return None
    if not value.isdecimal() or int(value) < 1:
        raise click.BadParameter(f"expected auto or a number from 1 {got(value)}.")
    return int(value)


@click.command(context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.argument("dataset")
@click.option("-o", "--output", required=True, help="Predictions file (parquet), or its URL in a store.")
@click.option("--model", required=True, help="Folder, Hub id, or the service's or backend's own name for a model.")
@click.option(
    "--backend",
    metavar="NAME|file.py@NAME",
    help="Who answers. [default: openai with --base-url, else transformers]",
)
@click.option("--base-url", metavar="URL", help="OpenAI-compatible service. [default: OPENAI_BASE_URL]")
@click.option("--api-key-env", metavar="NAME", help="Variable of the service's key. [default: OPENAI_API_KEY]")
@click.option("--concurrency", type=click.IntRange(1, 1000), metavar="N", help="Rows under way at once. [default: 16]")
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Silence after which a service is asked again. [default: 120]",
)
@click.option("--max-calls", type=click.IntRange(1), metavar="N", help="Most calls of a service, retries included.")
@click.option("--max-total-tokens", type=click.IntRange(1), metavar="N", help="Most tokens, replies included.")
@click.option("--price", metavar="PROMPT,COMPLETION", help="Price of a million tokens, for the cost of the file.")
@click.option("--max-cost", type=click.FloatRange(0, min_open=True), help="Most that a run may cost, by --price.")
@click.option("--extra-body", metavar="JSON", help='Further fields of each request, {"top_k": 20}.')
@click.option(
    "--batch-size",
    default="auto",
    callback=batch_size,
    metavar="auto|N",
    help="Rows at once; halved when memory runs out.",
)
@click.option("--dtype", help="float32, bfloat16, float16 or auto. [default: bfloat16 on a GPU, else float32]")
@click.option("--attn", help="Attention implementation: sdpa, eager, flash_attention_2, ...")
@click.option("--compile", is_flag=True, help="Compile the step that generates a token; pays on long GPU runs.")
@click.option("--method", type=click.Choice(METHODS), default=GENERATE, help="Reply, or take the likeliest option.")
@click.option(
    "--likelihood-reduction",
    type=click.Choice(REDUCTIONS),
    help="Log-probability of an option that counts; token sums and keeps each token's. [default: sum]",
)
@click.option("--max-new-tokens", type=click.IntRange(1), help="Most tokens of a reply. [default: the backend's]")
@click.option("--temperature", type=click.FloatRange(0), help="Above 0 draws tokens; 0 is greedy.")
@click.option("--do-sample", is_flag=True, help="Draw tokens with the model's own settings.")
@click.option("--top-p", type=click.FloatRange(0, 1, min_open=True), help="Draw from this share of probability.")
@click.option("--top-k", type=click.IntRange(1), help="Draw from this many tokens.")
@click.option("--num-beams", type=click.IntRange(1), help="Beams of a beam search.")
@click.option("--n", type=click.IntRange(1, 10_000), default=1, metavar="N", help="Replies a row, each a row.")
@click.option("--output-scores", is_flag=True, help="Write the log-probability of each token of the reply.")
@click.option("--stop", multiple=True, metavar="TEXT", help="Text that ends a reply and is cut from it; repeatable.")
@click.option("--seed", type=int, help="Seed of the draws. [default: 0, or the service's]")
@click.option("--continue-final-message", is_flag=True, help="Go on with a last turn of the assistant.")
@click.option("--system", metavar="TEXT", help="System turn for every row, in the place of its own.")
@click.option("--template", type=click.Choice(TEMPLATES), default=CHAT, help="raw sends the row's one text as it is.")
@click.option("--max-image-side", type=click.IntRange(1), metavar="N", help="Shrink larger pictures, in pixels.")
@click.option("--no-interleave", is_flag=True, help="First picture, then the texts joined by line breaks.")
@click.option(
    "--protocol",
    metavar="NAME[:k=v,...]",
    help="How replies become the history of a dialog's later rounds. [default: the dataset's answers stand there]",
)
@click.option("--resume", is_flag=True, help="Go on where the last run stopped, also when the output stands already.")
@click.option("--restart", is_flag=True, help="Forget the stored answers and ask every row again.")
@click.option("--share", is_flag=True, help="Let other processes that are started so answer rows of the same output.")
@click.option(
    "--processes",
    type=click.IntRange(1, 1024),
    metavar="N",
    help="Processes that share the rows and the GPUs, each with the whole model. [default: 1; on a cluster one a GPU]",
)
@click.option("--engine", type=click.Choice(ENGINES), default=LOCAL, help="Where they run: here, or on a Ray cluster.")
@click.option("--limit", type=click.IntRange(1), help="Only the first N rows.")
@push_predictions_options
@click.option("--dry-run", is_flag=True, help="With --push: list what would be sent; sends nothing.")
@click.option("--quiet", is_flag=True, help="No progress.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@OPTIONS_FILE
def predict(
    dataset: str,
    output: str,
    dry_run: bool,
    quiet: bool,
    as_json: bool,
    **given: Any,
) -> int:
    """Ask a model about every row of DATASET and write its replies to a predictions file.

    DATASET is a folder made by `mmconvert convert`, or a parquet file of its columns, here or at a URL. Replies are
    kept beside the output, in OUTPUT.answers.sqlite (of a URL in NAME.work, here): a run that was stopped, or
    killed, goes on where it was when the same command is run again. Rows without a reply are asked again then. A
    run that was told to stop leaves a predictions file with the rows that it came to, marked as partial. The key
    of a service comes from the environment and is kept nowhere.

    Exit code 3: the file is written, but some rows have no reply; the column prediction_error says why.
    """
    place = Pushing.checked(given, (), dry_run=dry_run)
    if place.repo_id is None and dry_run:
        raise UsageError("--dry-run lists what --push USER/REPO would send. Give both, or --limit for a trial run.")
    # What a backend prints, or a cluster, must not stand between the lines that a program reads here.
    with contextlib.redirect_stdout(sys.stderr):
        summary = session.predict(dataset, output, PredictOptions(**given), quiet=quiet)
    if as_json:
        click.echo(json.dumps(asdict(summary)))
    else:
        click.echo(_sentence(summary))
        if not quiet:
            kept = store_path(session.local_copy(output) if is_url(output) else Path(output))
            close({"replies": f"{kept}, asked once", "next": command("mmscore", summary.output)})
    if place.repo_id is not None:
        click.echo(pushed_text(place.predicted(output, quiet=quiet)), err=as_json)
    return EXIT_PARTIAL if summary.failed else 0


def _sentence(summary: Summary) -> str:
    failed = f", {summary.failed:,} failed (see prediction_error; --resume asks them again)" if summary.failed else ""
    return (
        f"{summary.output}: {summary.rows:,} rows, {summary.asked:,} asked, {summary.reused:,} reused{failed}, "
        f"{summary.seconds:.1f} s" + ("" if summary.cost is None else f"; its tokens cost {summary.cost:.4g}")
    )
