"""Run a model on every sample of a dataset and write a predictions file, here or in a store."""

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from mmconvert.core.errors import UsageError
from mmconvert.core.extras import require_extra
from mmconvert.core.progress import print_message, show_progress
from mmconvert.dataset.dataset import Dataset, open_dataset
from mmconvert.dataset.publish import send_file
from mmconvert.dataset.selected import select_rows
from mmconvert.storage.atomic import require_apart
from mmconvert.storage.object_store import exists, find_local, is_url, read_file_name
from mmconvert.storage.source_files import watch_sources
from mmscore.infer import runner
from mmscore.infer.adapter import adapt
from mmscore.infer.backend import Backend
from mmscore.infer.job import Job, plan_job, summarize_job
from mmscore.infer.ledger import Summary
from mmscore.infer.multiprocess import predict_in_processes
from mmscore.infer.object_identity import keep_identity
from mmscore.infer.open import open_backend
from mmscore.infer.options import LOCAL, PredictOptions
from mmscore.infer.predictions_file import is_interrupted
from mmscore.infer.ray_pool import RayPool
from mmscore.infer.runner import resume_note
from mmscore.infer.server import locate_log, resolve_served, run_server
from mmscore.infer.shards import name_shard_file
from mmscore.llm.budget import read_price
from mmscore.llm.cache_lock import Held, hold
from mmscore.llm.response_cache import AnswerStore, store_path

_STANDS = "already exists. --resume runs only samples without a response, --restart runs all again."
_TABLES = (".csv", ".json", ".jsonl", ".pq", ".tsv", ".xlsx")
"""Endings that the name of a predictions file may have elsewhere."""


def predict(
    dataset: str | Path, output: str | Path, options: PredictOptions, backend: object = None, *, quiet: bool = False
) -> Summary:
    """Do what `predict_here` does where dataset or output may be a URL.

    The answers of an output in a store, and a copy of it, are kept in `NAME.work` where the command runs: no
    store has files that grow. What is finished is sent.

    Returns:
        What was done; its cost where a price is given.

    Raises:
        UsageError: As `predict_here`.
        Error: As `predict_here`; or the store failed, and the same command sends what is finished.
    """
    if options.shard is not None:
        output = name_shard_file(output, options.shard)
    if not is_url(str(output)):
        summary = predict_here(find_local(dataset), Path(output), options, backend, quiet=quiet)
    else:
        url, copy = str(output), build_local_path(str(output))
        require_apart([url], [str(dataset)])
        if exists(url) and not (options.resume or options.restart or options.share):
            raise UsageError(f"{url}: {_STANDS}")
        resumed = replace(options, resume=options.resume or not (options.restart or options.share))
        summary = predict_here(find_local(dataset), copy, resumed, backend, quiet=quiet)
        send_file(copy, url)
        summary.output = url
    if options.price is not None:
        summary.cost = read_price(options.price, options.model).compute_cost(
            summary.prompt_tokens, summary.completion_tokens
        )
    return summary


def build_local_path(url: str) -> Path:
    """Say where the file of a store is made, on this machine."""
    return Path(f"{read_file_name(url)}.work", read_file_name(url))


@watch_sources()
def predict_here(
    dataset: Path,
    output: Path,
    options: PredictOptions,
    backend: object = None,
    *,
    quiet: bool = False,
    task: str | None = None,
) -> Summary:
    """Answer every row of a dataset and write the predictions file.

    Args:
        dataset: Folder or parquet file created by mmconvert.
        output: The predictions file that shall appear.
        options: Who is asked, and how.
        backend: Who answers, an object of the user's; None for whom the options name.
        quiet: Print no progress.
        task: Digest of the settings, kept in the file.

    Raises:
        UsageError: Options exclude each other, or the output is no place for predictions, or stands already.
        Error: The dataset or the store cannot be read, the model cannot be loaded, or the output cannot be written.
    """
    rows = open_dataset(dataset)
    rows = _select_rows(rows, options, quiet=quiet)
    _check_output(output, rows, options)
    options = resolve_served(options)
    model = options.build_model_options(quiet=quiet)
    if backend is not None and (options.engine != LOCAL or (options.processes or 1) > 1):
        raise UsageError("--processes opens the model in each process: name the backend as file.py@NAME.")
    if options.share or (options.processes or 1) > 1:
        model.service.check_alone()
    with _make_folder(output.parent):
        if options.several:
            with _serve_where_asked(options, output, partial(_is_stored, rows, output, options), quiet=quiet):
                return predict_in_processes(dataset, output, options, quiet=quiet, task=task)
        with hold(store_path(output), share=options.share) as held:
            made = open_where_asked(options, quiet=quiet) if backend is None else adapt(options.plugin, backend, model)
            job = plan_job(rows, output, made, options, task=task)
            if backend is None:
                return _run_job(job, held, options, quiet=quiet)
            with keep_identity(backend) as identity:
                return _run_job(replace(job, plugin=identity), held, options, quiet=quiet)


@watch_sources()
def predict_with(
    rows: Dataset,
    output: Path,
    backend: Callable[[], Backend],
    options: PredictOptions,
    *,
    quiet: bool,
    task: str | None,
) -> Summary:
    """Answer every row of a dataset with a backend of the caller's, and write the predictions file over.

    Args:
        rows: The dataset.
        output: The predictions file that shall appear.
        backend: Gives who answers; called when no other process can come in.
        options: How; the backend was opened with them.
        quiet: Print no progress.
        task: Digest of the settings, kept in the file.

    Raises:
        UsageError: The protocol is unknown.
        Error: The dataset or the store cannot be read, or the output cannot be written.
    """
    rows = _select_rows(rows, options, quiet=quiet)
    with hold(store_path(output)) as held:
        return _run_job(plan_job(rows, output, backend(), options, task=task), held, options, quiet=quiet)


def _select_rows(rows: Dataset, options: PredictOptions, *, quiet: bool) -> Dataset:
    if options.where is None:
        return rows
    selected = select_rows(rows, options.where)
    if not quiet:
        print_message(f"{rows.path}: {selected.num_rows:,} of {rows.num_rows:,} rows match --where {options.where!r}")
    return selected


def open_where_asked(options: PredictOptions, *, quiet: bool) -> Backend:
    """Open the backend that options name, here or on the cluster that they name.

    Args:
        options: The backend, its model and its settings.
        quiet: No progress bars while loading.

    Raises:
        UsageError: As `open_backend`, or the package or the cluster is not there.
        Error: The model cannot be loaded.
    """
    model = options.build_model_options(quiet=quiet)
    if options.engine == LOCAL:
        return open_backend(options.plugin, model)
    model.service.check_alone()
    with require_extra(options.engine, "--engine"):
        return RayPool(partial(open_backend, options.plugin, model), options.processes)


def _run_job(job: Job, held: Held, options: PredictOptions, *, quiet: bool) -> Summary:
    """Run a job on the store beside its output, and say how far it is."""
    restart = options.restart
    with AnswerStore(held, fingerprint=job.dataset.fingerprint, restart=restart, run=summarize_job(job)) as store:
        found = resume_note(store, job.dataset)
        if found and not quiet:
            print_message(found)
        is_stored = partial(runner.is_answered, job, store)
        with (
            _serve_where_asked(options, job.output, is_stored, quiet=quiet),
            show_progress("predict", quiet=quiet) as advance,
        ):
            return runner.predict(job, store, advance)


@contextlib.contextmanager
def _serve_where_asked(
    options: PredictOptions, output: Path, is_stored: Callable[[], bool], *, quiet: bool
) -> Iterator[None]:
    """Run the server that options name while the context lasts, unless every row has its answer already."""
    if options.serve is None or (not options.restart and is_stored()):
        yield
        return
    with run_server(options, locate_log(output), quiet=quiet) as server, server.explain_end():
        yield


def _is_stored(rows: Dataset, output: Path, options: PredictOptions) -> bool:
    """Tell whether every row has its answer, before several processes look for themselves."""
    job = plan_job(rows, output, open_where_asked(options, quiet=True), options)
    with hold(store_path(output), share=True) as held, AnswerStore(held, fingerprint=None) as store:
        return runner.is_answered(job, store)


@contextlib.contextmanager
def _make_folder(place: Path) -> Iterator[None]:
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


def _check_output(output: Path, rows: Dataset, options: PredictOptions) -> None:
    if (options.resume or options.share) and options.restart:
        raise UsageError(f"{'--resume' if options.resume else '--share'} and --restart exclude each other.")
    if output.is_dir():
        raise UsageError(f"{output}: is a folder. Name a file, such as {output / 'predictions.parquet'}.")
    if output.suffix.lower() != ".parquet":
        # What else follows a dot is a part of the name, as in that of a model.
        stem = output.stem if output.suffix.lower() in _TABLES else output.name
        named = output.with_name(f"{stem}.parquet")
        raise UsageError(f"{output}: predictions are written as parquet. Use the extension .parquet, such as {named}.")
    # As texts: what stands on the Hub would be fetched to be compared.
    require_apart([output], [str(file) for files in rows.files.values() for file in files])
    if output.exists() and not (options.resume or options.restart or options.share or is_interrupted(output)):
        raise UsageError(f"{output}: {_STANDS}")
