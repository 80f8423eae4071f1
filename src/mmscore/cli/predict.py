"""`mmscore predict`: ask a model about every row of a dataset."""

import contextlib
import functools
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import click

from mmconvert.console.app import EXIT_PARTIAL, OPTIONS_FILE
from mmconvert.console.summary import close, command
from mmconvert.core.errors import UsageError, got
from mmconvert.core.progress import progress
from mmconvert.dataset.dataset import Dataset, open_dataset
from mmconvert.storage.atomic import require_apart
from mmconvert.storage.object_store import file_name, is_url, local, send_file, stands
from mmscore.cli.push_predictions import Pushing, push_predictions_options, pushed_text
from mmscore.infer.adapter import adapt
from mmscore.infer.backend import (
    CHAT,
    GENERATE,
    METHODS,
    RAW,
    REDUCTIONS,
    TEMPLATES,
    Backend,
    Generation,
    ModelOptions,
    Service,
    open_backend,
)
from mmscore.infer.ledger import Summary
from mmscore.infer.object_identity import kept_identity
from mmscore.infer.predictions_file import interrupted
from mmscore.infer.protocol import open_protocol
from mmscore.infer.runner import Job, resume_note
from mmscore.infer.runner import predict as run
from mmscore.llm.budget import read_price
from mmscore.llm.cache_lock import Held, hold
from mmscore.llm.response_cache import AnswerStore, store_path

_STANDS = "exists already. --resume asks only the rows that have no answer yet, --restart asks all again."
_TABLES = (".csv", ".json", ".jsonl", ".pq", ".tsv", ".xlsx")
"""Endings that the name of a predictions file may have elsewhere."""
ENGINES = LOCAL, RAY = ("local", "ray")


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
    resume: bool,
    restart: bool,
    share: bool,
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
        summary = answer_anywhere(dataset, output, given, resume=resume, restart=restart, share=share, quiet=quiet)
    if as_json:
        click.echo(json.dumps(asdict(summary)))
    else:
        click.echo(_sentence(summary))
        if not quiet:
            kept = store_path(_copy(output) if is_url(output) else Path(output))
            close({"replies": f"{kept}, asked once", "next": command("mmscore", summary.output)})
    if place.repo_id is not None:
        click.echo(pushed_text(place.predicted(output, quiet=quiet)), err=as_json)
    return EXIT_PARTIAL if summary.failed else 0


def answer_anywhere(
    dataset: str | Path,
    output: str | Path,
    given: Mapping[str, Any],
    backend: object = None,
    *,
    resume: bool = False,
    restart: bool = False,
    share: bool = False,
    quiet: bool = False,
) -> Summary:
    """Do what `answer` does where dataset or output may be a URL.

    The replies of an output in a store, and a copy of it, are kept in `NAME.work` where the command runs: no
    store has files that grow. What is finished is sent.

    Returns:
        What was done; its cost where a price is given.

    Raises:
        UsageError: As `answer`.
        Error: As `answer`; or the store failed, and the same command sends what is finished.
    """
    work = functools.partial(answer, restart=restart, share=share, quiet=quiet)
    if not is_url(str(output)):
        summary = work(local(dataset), Path(output), given, backend, resume=resume)
    else:
        url, copy = str(output), _copy(str(output))
        require_apart([url], [str(dataset)])
        if stands(url) and not (resume or restart or share):
            raise UsageError(f"{url}: {_STANDS}")
        summary = work(local(dataset), copy, given, backend, resume=resume or not (restart or share))
        send_file(copy, url)
        summary.output = url
    if given["price"] is not None:
        summary.cost = read_price(given["price"]).of(summary.prompt_tokens, summary.completion_tokens)
    return summary


def _copy(url: str) -> Path:
    """Say where the file of a store is made, on this machine."""
    return Path(f"{file_name(url)}.work", file_name(url))


def answer(
    dataset: Path,
    output: Path,
    given: Mapping[str, Any],
    backend: object = None,
    *,
    resume: bool = False,
    restart: bool = False,
    share: bool = False,
    quiet: bool = False,
    task: str | None = None,
) -> Summary:
    """Do what the command does, for its options by parameter name.

    Args:
        dataset: Folder or parquet file of ours.
        output: The predictions file that shall appear.
        given: The command's other options.
        backend: Who answers, an object of the user's; None for whom the options name.
        resume: The output may stand already.
        restart: Forget the stored answers.
        share: Let other processes answer rows of the same output.
        quiet: No progress.
        task: Digest of the settings, kept in the file.

    Raises:
        UsageError: Options exclude each other, or the output is no place for predictions, or stands already.
        Error: As `ask`.
    """
    rows = open_dataset(dataset)
    _check_output(output, rows, resume=resume, restart=restart, share=share)
    options = model_options(given, quiet=quiet)
    elsewhere = given["engine"] != LOCAL
    if backend is not None and (elsewhere or (given["processes"] or 1) > 1):
        raise UsageError("--processes opens the model in each process: name the backend as file.py@NAME.")
    if share or (given["processes"] or 1) > 1:
        options.service.check_alone()
    with _folder(output.parent):
        if not elsewhere and (given["processes"] or 1) > 1:
            # Imported here: one process needs nothing of it.
            from mmscore.cli.predict_together import answer_together

            return answer_together(dataset, output, given, restart=restart, quiet=quiet, task=task)
        with hold(store_path(output), share=share) as held:
            opened = opened_backend(given, options) if backend is None else adapt(plugin_of(given), backend, options)
            job = job_of(rows, output, opened, given, task=task)
            if backend is None:
                return ask(job, held, restart=restart, quiet=quiet)
            with kept_identity(backend) as identity:
                return ask(replace(job, plugin=identity), held, restart=restart, quiet=quiet)


@contextlib.contextmanager
def _folder(place: Path) -> Iterator[None]:
    """Make a folder that is missing; where nothing came into it, it goes again when the run fails."""
    made = [folder for folder in (place, *place.parents) if not folder.exists()]
    place.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            for folder in made:
                folder.rmdir()
        raise


def opened_backend(given: Mapping[str, Any], options: ModelOptions) -> Backend:
    """Open the backend that the command's options name, here or on the cluster that they name.

    Raises:
        UsageError: As `open_backend`, or the package or the cluster is not there.
        Error: The model cannot be loaded.
    """
    if given["engine"] == LOCAL:
        return open_backend(plugin_of(given), options)
    try:
        from mmscore.infer.ray_pool import RayPool
    except ModuleNotFoundError as error:
        raise UsageError(
            f'--engine needs the package {error.name}. Install it: pip install "mmconvert[{given["engine"]}]"'
        ) from None
    return RayPool(plugin_of(given), options, given["processes"])


def _check_output(output: Path, rows: Dataset, *, resume: bool, restart: bool, share: bool) -> None:
    if (resume or share) and restart:
        raise UsageError(f"{'--resume' if resume else '--share'} and --restart exclude each other.")
    if output.is_dir():
        raise UsageError(f"{output}: is a folder. Name a file, such as {output / 'predictions.parquet'}.")
    if output.suffix.lower() != ".parquet":
        # What else follows a dot is a part of the name, as in that of a model.
        stem = output.stem if output.suffix.lower() in _TABLES else output.name
        named = output.with_name(f"{stem}.parquet")
        raise UsageError(f"{output}: predictions are a parquet file. Name it so, such as {named}.")
    # As texts: what stands on the Hub would be fetched to be compared.
    require_apart([output], [str(file) for files in rows.files.values() for file in files])
    if output.exists() and not (resume or restart or share or interrupted(output)):
        raise UsageError(f"{output}: {_STANDS}")


def plugin_of(given: Mapping[str, Any]) -> str:
    """Name the backend that the command's options ask for."""
    return given["backend"] or ("transformers" if given["base_url"] is None else "openai")


def model_options(given: Mapping[str, Any], *, quiet: bool) -> ModelOptions:
    """Give what a backend is opened with.

    Args:
        given: The command's options by name.
        quiet: No progress bars while loading.

    Raises:
        UsageError: Options exclude each other.
    """
    if given["template"] == RAW and given["system"] is not None:
        raise UsageError("--template raw sends finished texts; --system has no place in them. Leave one out.")
    names = ("model", "batch_size", "dtype", "attn", "compile", "continue_final_message")
    more = ("method", "likelihood_reduction", "n", "max_image_side", "template", "output_scores")
    return ModelOptions(
        generation=_generation(given),
        service=Service(**{field.name: given[field.name] for field in fields(Service)}),
        quiet=quiet,
        **{name: given[name] for name in (*names, *more)},
    )


def job_of(rows: Dataset, output: Path, backend: Backend, given: Mapping[str, Any], *, task: str | None = None) -> Job:
    """Say what is asked of a backend.

    Args:
        rows: The dataset.
        output: The predictions file that shall appear.
        backend: Who answers.
        given: The command's options by name.
        task: Digest of the settings, kept in the file.

    Raises:
        UsageError: The protocol is unknown.
    """
    asked = {name: given[name] for name in ("system", "limit", "continue_final_message", "method", "n")}
    protocol = None if given["protocol"] is None else open_protocol(given["protocol"])
    return Job(
        rows,
        output,
        backend,
        plugin_of(given),
        _generation(given),
        interleave=not given["no_interleave"],
        protocol=protocol,
        task=task,
        **asked,
    )


def ask(job: Job, held: Held, *, restart: bool, quiet: bool) -> Summary:
    """Run a job on the store beside its output, and say how far it is.

    Raises:
        Error: The dataset or the store cannot be read, or the output cannot be written.
    """
    with AnswerStore(held, fingerprint=job.dataset.fingerprint, restart=restart) as store:
        found = resume_note(store, job.dataset)
        if found and not quiet:
            click.echo(found, err=True)
        with progress("predict", quiet=quiet) as advance:
            return run(job, store, advance)


def _generation(given: Mapping[str, Any]) -> Generation:
    names = ("max_new_tokens", "do_sample", "temperature", "top_p", "top_k", "num_beams", "seed")
    return Generation(stop=tuple(given["stop"]), **{name: given[name] for name in names})


def _sentence(summary: Summary) -> str:
    failed = f", {summary.failed:,} failed (see prediction_error; --resume asks them again)" if summary.failed else ""
    return (
        f"{summary.output}: {summary.rows:,} rows, {summary.asked:,} asked, {summary.reused:,} reused{failed}, "
        f"{summary.seconds:.1f} s" + ("" if summary.cost is None else f"; its tokens cost {summary.cost:.4g}")
    )
