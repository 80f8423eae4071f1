"""Start the server command of `--serve`, wait until it is healthy, and end it afterwards whatever happens."""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec.structs import replace

from mmconvert.core.errors import Error, UsageError, show, take_first_line
from mmconvert.core.progress import print_message
from mmconvert.core.text.printable import escape_control
from mmscore.infer import server_watch
from mmscore.infer.options import LOCAL, PredictOptions
from mmscore.llm.client import build_health_urls, read_key
from mmscore.llm.responses import hide_key

_PORT = 8000
_MODEL = "{model}"
_START_SECONDS = 3600.0
_POLL_SECONDS = 0.5
_END_SECONDS = 30.0
"""Longer than the watching process needs to end the server, or to kill it."""
_LOG_LINES, _LOG_BYTES, _LOG_WIDTH = 10, 16 * 1024, 300


def locate_log(output: Path) -> Path:
    """Name the log of a server that is started for a predictions file.

    Example:
        >>> locate_log(Path("answers.parquet")).name
        'answers.parquet.server.log'
    """
    return output.with_name(f"{output.name}.server.log")


def resolve_served(options: PredictOptions) -> PredictOptions:
    """Name the base URL of the server that options start; options without `serve` stay as they are.

    Raises:
        UsageError: The command is none, or other options do not go with a server of this process.
    """
    if options.serve is None:
        return options
    command = _split_command(options)
    if options.share or options.engine != LOCAL:
        flag = "--share" if options.share else "--engine"
        raise UsageError(f"--serve starts a server for one process. Leave {flag} out, or start the server yourself.")
    if len(options.base_url) > 1:
        raise UsageError("--serve starts one server. Give one --base-url, or start the servers yourself.")
    return replace(options, base_url=options.base_url or (f"http://localhost:{_find_port(command)}/v1",))


def _split_command(options: PredictOptions) -> list[str]:
    text = options.serve or ""
    try:
        words = [word.replace(_MODEL, options.model) for word in shlex.split(text)]
    except ValueError as error:
        raise UsageError(f"--serve: {take_first_line(error)} {show(text)}. Close the quotation.") from None
    if not words:
        raise UsageError('--serve: is empty. Give a command, such as "vllm serve MODEL".')
    if not hasattr(os, "killpg"):
        raise UsageError("--serve: works on Linux and macOS. Start the server yourself and give its --base-url.")
    if shutil.which(words[0]) is None:
        raise UsageError(f"--serve: there is no program {show(words[0])}. Install it, or give its path.")
    return words


def _find_port(command: Sequence[str]) -> int:
    """Find the port in a command's options."""
    port = str(_PORT)
    for word, following in zip(command, [*command[1:], ""], strict=True):
        name, _, value = word.partition("=")
        if name == "--port":
            port = value or following
    if not (port.isdecimal() and 0 < int(port) < 2**16):
        raise UsageError(f"--serve: --port takes a number from 1 to 65535 {show(port)}. Correct it.")
    return int(port)


class RunningServer:
    """The server of options, while it is needed."""

    def __init__(self, process: "subprocess.Popen[bytes]", options: PredictOptions, log: Path) -> None:
        """Take the process that watches the server."""
        self._process = process
        self._options = options
        self._log = log

    @property
    def has_ended(self) -> bool:
        """Whether it has ended by itself."""
        return self._process.poll() is not None

    @contextlib.contextmanager
    def explain_end(self) -> Iterator[None]:
        """Show the server's last lines where it ends while the context lasts: in the error, or else as a message.

        Raises:
            Error: What needed the server failed; says more where the server has ended.
        """
        try:
            yield
        except Error as error:
            if not self.has_ended:
                raise
            raise Error(f"{error}\n{_describe_end(self._process, self._options, self._log)}") from error
        if self.has_ended:
            print_message(f"mmscore: {_describe_end(self._process, self._options, self._log)}")


@contextlib.contextmanager
def run_server(options: PredictOptions, log: Path, *, quiet: bool) -> Iterator[RunningServer]:
    """Run the server of options while the context lasts.

    Args:
        options: Options with a server command and a base URL; see `resolve_served`.
        log: File for what the command prints.
        quiet: Print no progress.

    Raises:
        UsageError: Something answers at the base URL already.
        Error: The server ends before it is healthy.
    """
    url = options.base_url[0]
    if _is_connectable(url):
        raise UsageError(f"--serve: a server answers at {url} already. Leave --serve out, or choose another --port.")
    with _watch_command(_split_command(options), log) as process:
        if not quiet:
            print_message(f"server: starting, its output goes to {log}")
        _wait_until_healthy(process, options, log)
        yield RunningServer(process, options, log)


@contextlib.contextmanager
def _watch_command(command: Sequence[str], log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    # A KeyboardInterrupt is raised in the main thread alone, so that no process is lost while it is being started.
    with ThreadPoolExecutor(max_workers=1) as thread:
        starting = thread.submit(_start_watched, command, log)
        try:
            yield starting.result()
        finally:
            _end(starting.result())


def _start_watched(command: Sequence[str], log: Path) -> "subprocess.Popen[bytes]":
    watch = [sys.executable, "-I", "-S", server_watch.__file__, str(os.getpid())]
    with log.open("wb") as file:
        # In a session of its own no Ctrl-C of the terminal comes to it, so that requests under way are not cut off.
        return subprocess.Popen(
            [*watch, *command], stdin=subprocess.PIPE, stdout=file, stderr=file, start_new_session=True
        )


def _wait_until_healthy(process: "subprocess.Popen[bytes]", options: PredictOptions, log: Path) -> None:
    end = time.monotonic() + _START_SECONDS
    while not _is_healthy(options):
        if process.poll() is not None:
            raise Error(_describe_end(process, options, log))
        if time.monotonic() > end:
            raise Error(
                f"--serve: the server does not answer at {options.base_url[0]} within {_START_SECONDS:g} s.\n"
                f"{_read_log_end(log, options)}\nIf it listens elsewhere, give its --base-url."
            )
        time.sleep(_POLL_SECONDS)


def _is_connectable(url: str) -> bool:
    import httpx2

    try:
        httpx2.get(build_health_urls(url)[0], timeout=5.0)
    except httpx2.HTTPError as error:
        return not isinstance(error, (httpx2.ConnectError, httpx2.ConnectTimeout))
    return True


def _is_healthy(options: PredictOptions) -> bool:
    """Tell whether a server is ready: by its /health, or where it has none, by whether it lists models."""
    import httpx2

    key = read_key(options.api_key_env)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    health, models = build_health_urls(options.base_url[0])
    with contextlib.suppress(httpx2.HTTPError):
        status = httpx2.get(health, timeout=5.0).status_code
        if status == httpx2.codes.NOT_FOUND:
            status = httpx2.get(models, headers=headers, timeout=5.0).status_code
            # A server that refuses the list is ready to say why.
            return status < httpx2.codes.INTERNAL_SERVER_ERROR
        return status == httpx2.codes.OK
    return False


def _describe_end(process: "subprocess.Popen[bytes]", options: PredictOptions, log: Path) -> str:
    return f"--serve: the server ended (exit code {process.wait()}). {_read_log_end(log, options)}"


def _read_log_end(log: Path, options: PredictOptions) -> str:
    """Give the last lines that the server printed."""
    with log.open("rb") as file:
        start = max(0, log.stat().st_size - _LOG_BYTES)
        file.seek(start)
        text = file.read().decode(errors="replace")
    # Where it is cut, half of a key could stand.
    text = text.partition("\n")[2] if start else text
    lines = hide_key(text, read_key(options.api_key_env)).rstrip().splitlines()[-_LOG_LINES:]
    if not lines:
        return f"It printed nothing ({log})."
    shown = "\n".join(f"  {escape_control(line[:_LOG_WIDTH])}" for line in lines)
    return f"Last lines of {log}:\n{shown}"


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Have the watching process end the server, and kill what may be left of its group."""
    if process.stdin is not None:
        process.stdin.close()
    # Whoever interrupts this leaves the end to the watching process.
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_END_SECONDS)
    if process.returncode is None or process.returncode < 0:
        # It was killed itself, or is stuck.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
