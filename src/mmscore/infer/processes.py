"""Several processes that answer the rows of one output, each on its own share of the GPUs."""

import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from mmconvert.errors import Error
from mmconvert.spawning import without_main
from mmscore.infer.ledger import Summary

_VISIBLE = "CUDA_VISIBLE_DEVICES"
_THREADS = "OMP_NUM_THREADS"
_COUNT = "import torch; print(torch.cuda.device_count())"


@dataclass(frozen=True, slots=True)
class Together:
    """What processes did together.

    Attributes:
        summary: Rows of the output, and the questions of all processes.
        remarks: Why processes ended before the others; their rows were answered all the same.
    """

    summary: Summary
    remarks: tuple[str, ...]


def together(work: Callable[[int], Summary], count: int) -> Together:
    """Do the same in several processes, which share the rows among themselves (`hold(share=True)`).

    Args:
        work: Picklable; called in each process with its number, from 0. It answers rows until there are
            none, whoever answers them.
        count: Processes, from 2.

    Raises:
        Error: All of them ended without a result; says why the first one did.
        KeyboardInterrupt: This process was told to stop; so are the others then.
    """
    context = get_context("spawn")
    shares = _environments(count)
    pairs = [context.Pipe(duplex=False) for _ in range(count)]
    members = [
        context.Process(target=_member, args=(work, number, shares[number], writing), name=f"predict-{number}")
        for number, (_, writing) in enumerate(pairs)
    ]
    try:
        for member, (_, writing) in zip(members, pairs, strict=True):
            with without_main():
                member.start()
            # The process has its own: when it dies, reading must end rather than wait.
            writing.close()
        said = [_ended(member, reading) for member, (reading, _) in zip(members, pairs, strict=True)]
    finally:
        for member in members:
            if member.is_alive():
                member.terminate()
                member.join()
    return _summed_up(said)


def _summed_up(said: Sequence[Summary | str]) -> Together:
    summaries = [one for one in said if isinstance(one, Summary)]
    reasons = [one for one in said if isinstance(one, str)]
    if not summaries:
        raise Error(reasons[0])
    whole = max(summaries, key=lambda summary: summary.seconds)
    asked = sum(summary.asked for summary in summaries)
    remarks = tuple(f"one of {len(said)} processes ended early, the others did its part: {why}" for why in reasons)
    return Together(replace(whole, asked=asked, reused=max(0, whole.rows - asked - whole.failed)), remarks)


def _member(work: Callable[[int], Summary], number: int, environment: Mapping[str, str], reply: Connection) -> None:
    # The terminal sends its signal to everybody; who started this process ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.update(environment)
    said: Summary | str
    try:
        said = work(number)
    except Error as error:
        said = str(error)
    except Exception:
        said = traceback.format_exc()
    reply.send(said)


def _ended(member: BaseProcess, reading: Connection) -> Summary | str:
    try:
        said: Summary | str = reading.recv()
    except EOFError:
        member.join()
        return f"process {member.pid} was ended from outside (exit code {member.exitcode})."
    member.join()
    return said


def _environments(count: int) -> list[dict[str, str]]:
    """Deal the GPUs out, in turn where there are fewer than processes; without any, the cores."""
    devices = _devices()
    if devices:
        dealt = [devices[number::count] or [devices[number % len(devices)]] for number in range(count)]
        return [{_VISIBLE: ",".join(own)} for own in dealt]
    cores = len(os.sched_getaffinity(0))
    threads = os.environ.get(_THREADS, str(max(1, cores // count)))
    return [{_THREADS: threads} for _ in range(count)]


def _devices() -> list[str]:
    """Name the GPUs that this process may use; another process looks, so that none is taken here."""
    if _VISIBLE in os.environ:
        return [name for name in os.environ[_VISIBLE].split(",") if name.strip()]
    if find_spec("torch") is None:
        return []
    found = subprocess.run([sys.executable, "-c", _COUNT], capture_output=True, text=True, check=False)
    return [str(number) for number in range(int(found.stdout))] if found.stdout.strip().isdecimal() else []
