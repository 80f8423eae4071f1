"""`mmscore predict --processes N`: the command in several processes, which share the rows of one output."""

import contextlib
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from mmconvert.console.app import printable
from mmconvert.core.progress import progress
from mmconvert.dataset.dataset import open_dataset
from mmscore.cli.predict import job_of, model_options, opened_backend
from mmscore.infer.ledger import Summary
from mmscore.infer.processes import Known, together
from mmscore.infer.runner import predict as run
from mmscore.infer.runner import resume_note, write_stopped
from mmscore.llm.cache_lock import hold
from mmscore.llm.response_cache import AnswerStore, store_path


def answer_together(
    dataset: Path, output: Path, given: Mapping[str, Any], *, restart: bool, quiet: bool, task: str | None
) -> Summary:
    """Do what `mmscore.cli.predict.answer` does, in as many processes as the options say.

    Stored answers are forgotten when the first of them has its model, so that a mistyped one forgets nothing.

    Raises:
        UsageError: As `answer`.
        Error: As `answer`; all processes ended without a result.
        KeyboardInterrupt: This process was told to stop; the rows that have an answer are in the output.
    """
    # Who must not come in is told so before models are loaded.
    with hold(store_path(output), share=not restart):
        pass
    rows = open_dataset(dataset)
    work = functools.partial(_answer_a_share, dataset, output, {**given, "processes": 1}, quiet=quiet, task=task)
    with contextlib.ExitStack() as run_of_all:
        known: list[tuple[Known, AnswerStore]] = []

        def begin(backend: Known) -> None:
            if restart:
                with hold(store_path(output)) as held, AnswerStore(held, fingerprint="", restart=True):
                    pass
            # Shared from before the first process to behind the last one, which makes them one run however early
            # one of them is done: rows that failed are not asked again.
            held = run_of_all.enter_context(hold(store_path(output), share=True))
            store = run_of_all.enter_context(AnswerStore(held, fingerprint=rows.fingerprint))
            known.append((backend, store))
            found = resume_note(store, rows)
            if found and not quiet:
                click.echo(found, err=True)

        try:
            found = together(work, given["processes"], begin)
        except KeyboardInterrupt:
            for backend, store in known:
                write_stopped(job_of(rows, output, backend, given, task=task), store)
            raise
    for remark in found.remarks:
        click.echo(printable(f"mmscore: {remark}"), err=True)
    return found.summary


def _answer_a_share(
    dataset: Path,
    output: Path,
    given: Mapping[str, Any],
    number: int,
    ready: Callable[[Known], None],
    *,
    quiet: bool,
    task: str | None,
) -> Summary:
    # Each sees the rows that all have done: one of them tells.
    quiet = quiet or number > 0
    rows = open_dataset(dataset)
    backend = opened_backend(given, model_options(given, quiet=quiet))
    ready(Known(backend.name, backend.identity, prompt_only=getattr(backend, "prompt_only", False)))
    job = job_of(rows, output, backend, given, task=task)
    with (
        hold(store_path(output), share=True) as held,
        AnswerStore(held, fingerprint=rows.fingerprint) as store,
        progress("predict", quiet=quiet) as advance,
    ):
        return run(job, store, advance)
