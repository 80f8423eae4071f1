"""End work in order when the process is told to stop."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


async def until_stopped(work: Coroutine[Any, Any, _T]) -> list[_T]:
    """Run a coroutine; SIGTERM cancels it in order, as SIGINT does under `asyncio.Runner`.

    A handler that raises wherever the loop happens to be would leave tasks behind that complain.

    Returns:
        The result alone, or nothing when the process was told to stop.
    """
    loop, task, stopped = asyncio.get_running_loop(), asyncio.ensure_future(work), False

    def stop() -> None:
        nonlocal stopped
        stopped = True
        task.cancel()

    before = signal.getsignal(signal.SIGTERM)
    try:
        loop.add_signal_handler(signal.SIGTERM, stop)
    except (ValueError, RuntimeError, NotImplementedError):
        # Not the main thread, or a system without signals: whoever stops the process does it alone.
        return [await task]
    try:
        return [await task]
    except asyncio.CancelledError:
        if stopped:
            return []
        raise
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
        signal.signal(signal.SIGTERM, before)
