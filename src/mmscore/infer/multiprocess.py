"""Several processes that answer the rows of one output, each on its own share of the GPUs."""

import contextlib
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from importlib.util import find_spec
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

import msgspec

from mmconvert.core.errors import Error, UsageError
from mmconvert.core.multiprocess import count_usable_cores, hide_main_module
from mmconvert.core.progress import print_message, show_progress
from mmconvert.dataset.selected import open_selected
from mmconvert.storage.source_files import watch_sources
from mmscore.infer.backend import KnownBackend
from mmscore.infer.job import plan_job, summarize_job
from mmscore.infer.ledger import Summary
from mmscore.infer.memory import PROCESSES_PER_GPU
from mmscore.infer.open import open_backend
from mmscore.infer.options import PredictOptions
from mmscore.infer.runner import predict, resume_note, write_stopped
from mmscore.llm.cache_lock import hold
from mmscore.llm.response_cache import AnswerStore, store_path

_VISIBLE = "CUDA_VISIBLE_DEVICES"
_THREADS = "OMP_NUM_THREADS"
_COUNT = "import torch; print(torch.cuda.device_count())"


Work = Callable[[int, Callable[[KnownBackend], None]], Summary]


class Together(msgspec.Struct, frozen=True):
    """What processes did together.

    Attributes:
        summary: Rows of the output, and the questions of all processes.
        remarks: Why processes ended before the others; their rows were answered all the same.
    """

    summary: Summary
    remarks: tuple[str, ...]


def predict_in_processes(
    dataset: Path, output: Path, options: PredictOptions, *, quiet: bool, task: str | None
) -> Summary:
    """Do what `mmscore.infer.session.predict_here` does, in as many processes as the options say.

    Stored answers are forgotten when the first of them has its model, so that a mistyped one forgets nothing.

    Raises:
        UsageError: As there.
        Error: As there; all processes ended without a result.
        KeyboardInterrupt: This process was told to stop; the rows that have an answer are in the output.
    """
    # Who must not come in is told so before models are loaded.
    with hold(store_path(output), share=not options.restart):
        pass
    rows = open_selected(dataset, options.where)
    each = msgspec.structs.replace(options, processes=1)
    with contextlib.ExitStack() as whole_run:
        known: list[tuple[KnownBackend, AnswerStore]] = []

        def begin(backend: KnownBackend) -> None:
            if options.restart:
                with hold(store_path(output)) as held, AnswerStore(held, fingerprint="", restart=True):
                    pass
            # Shared from before the first process to behind the last one, which makes them one run however early
            # one of them is done: rows that failed are not asked again.
            held = whole_run.enter_context(hold(store_path(output), share=True))
            store = whole_run.enter_context(AnswerStore(held, fingerprint=rows.fingerprint))
            known.append((backend, store))
            found = resume_note(store, rows)
            if found and not quiet:
                print_message(found)

        try:
            work = partial(_predict_share, dataset, output, each, quiet=quiet, task=task)
            found = run_together(work, options.processes or 1, begin)
        except KeyboardInterrupt:
            for backend, store in known:
                write_stopped(plan_job(rows, output, backend, options, task=task), store)
            raise
    for remark in found.remarks:
        print_message(f"mmscore: {remark}")
    return found.summary


@watch_sources()
def _predict_share(
    dataset: Path,
    output: Path,
    options: PredictOptions,
    number: int,
    ready: Callable[[KnownBackend], None],
    *,
    quiet: bool,
    task: str | None,
) -> Summary:
    # Each sees the rows that all have done: one of them tells.
    quiet = quiet or number > 0
    rows = open_selected(dataset, options.where)
    backend = open_backend(options.plugin, options.build_model_options(quiet=quiet))
    ready(KnownBackend(backend.name, backend.identity, prompt_only=getattr(backend, "prompt_only", False)))
    job = plan_job(rows, output, backend, options, task=task)
    with (
        hold(store_path(output), share=True) as held,
        AnswerStore(held, fingerprint=rows.fingerprint, run=summarize_job(job)) as store,
        show_progress("predict", quiet=quiet) as advance,
    ):
        return predict(job, store, advance)


def run_together(work: Work, count: int, begin: Callable[[KnownBackend], None]) -> Together:
    """Do the same in several processes, which share the rows among themselves (`hold(share=True)`).

    Args:
        work: Picklable; called in each process with its number, from 0, and a function that it calls when it has its
            model, before it opens the store. It answers rows until there are none, whoever answers them.
        count: Processes, from 2.
        begin: Called here when the first process has its model; none continues before that is done.

    Raises:
        Error: All of them ended without a result; says why the first one did, and is of its kind.
        KeyboardInterrupt: This process was told to stop; the others are gone then.
    """
    context = get_context("spawn")
    shares = _build_environments(count)
    pairs = [context.Pipe() for _ in range(count)]
    members = [
        context.Process(target=_run_member, args=(work, number, shares[number], theirs), name=f"predict-{number}")
        for number, (_, theirs) in enumerate(pairs)
    ]
    try:
        for member, (_, theirs) in zip(members, pairs, strict=True):
            with hide_main_module():
                member.start()
            # The process has its own: when it dies, reading must end rather than wait.
            theirs.close()
        said = _gather_results({ours: member for member, (ours, _) in zip(members, pairs, strict=True)}, begin)
    finally:
        for member in members:
            if member.is_alive():
                # Not told to stop: each would write what stands, and this process does. No stored response is lost.
                member.kill()
                member.join()
    summaries = [one for one in said if isinstance(one, Summary)]
    reasons = [one for one in said if isinstance(one, Error)]
    if not summaries:
        raise reasons[0]
    whole = max(summaries, key=lambda summary: summary.seconds)
    asked = sum(summary.asked for summary in summaries)
    # To each of them, what the others asked now is reused too.
    fresh = sum(summary.rows - summary.failed - summary.reused for summary in summaries)
    remarks = tuple(f"one of {len(said)} processes ended early, the others did its part: {why}" for why in reasons)
    return Together(replace(whole, asked=asked, reused=whole.rows - whole.failed - fresh), remarks)


def _run_member(work: Work, number: int, environment: Mapping[str, str], parent: Connection) -> None:
    # The terminal sends its signal to everybody; who started this process ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.update(environment)

    def ready(backend: KnownBackend) -> None:
        parent.send(backend)
        parent.recv()

    said: Summary | Error
    try:
        said = work(number, ready)
    except Error as error:
        # Of the two kinds that the command tells apart: another one may not travel.
        said = (UsageError if isinstance(error, UsageError) else Error)(str(error))
    except Exception:
        said = Error(traceback.format_exc())
    parent.send(said)


def _gather_results(
    members: Mapping[Connection, BaseProcess], begin: Callable[[KnownBackend], None]
) -> list[Summary | Error]:
    """Let processes go on when they are ready, and give what each ended with, in their order."""
    ended: dict[Connection, Summary | Error] = {}
    begun = False
    while left := [connection for connection in members if connection not in ended]:
        heard = wait(left)
        for connection in (one for one in left if one in heard):
            said = _receive(members[connection], connection)
            if not isinstance(said, KnownBackend):
                ended[connection] = said
                members[connection].join()
                continue
            if not begun:
                begin(said)
                begun = True
            # One that died meanwhile is heard of next.
            with contextlib.suppress(OSError):
                connection.send(None)
    return [ended[connection] for connection in members]


def _receive(member: BaseProcess, connection: Connection) -> KnownBackend | Summary | Error:
    try:
        said: KnownBackend | Summary | Error = connection.recv()
    except (EOFError, OSError):
        member.join()
        return Error(f"process {member.pid} was ended from outside (exit code {member.exitcode}).")
    return said


def _build_environments(count: int) -> list[dict[str, str]]:
    """Deal the GPUs out, in turn where there are fewer than processes; without any, the cores."""
    devices = _list_devices()
    if devices:
        dealt = [devices[number::count] or [devices[number % len(devices)]] for number in range(count)]
        shared = [sum(own[0] in other for other in dealt) for own in dealt]
        return [
            {_VISIBLE: ",".join(own), PROCESSES_PER_GPU: str(number)} for own, number in zip(dealt, shared, strict=True)
        ]
    cores = count_usable_cores()
    threads = os.environ.get(_THREADS, str(max(1, cores // count)))
    return [{_THREADS: threads} for _ in range(count)]


def _list_devices() -> list[str]:
    """Name the GPUs that this process may use; another process looks, so that none is taken here."""
    if _VISIBLE in os.environ:
        return [name for name in os.environ[_VISIBLE].split(",") if name.strip()]
    return [str(number) for number in range(_count_devices())]


@cache
def _count_devices() -> int:
    # Asked once: a process that imports torch takes seconds, and a task file predicts many datasets.
    if find_spec("torch") is None:
        return 0
    found = subprocess.run([sys.executable, "-c", _COUNT], capture_output=True, text=True, check=False)
    return int(found.stdout) if found.stdout.strip().isdecimal() else 0
