"""Ask an OpenAI-compatible endpoint: bounded in time, in calls and in concurrency; a failure is a state.

What passes by itself is tried again with growing waits (408, 409, 425, 429, 5xx, broken and silent
connections, responses that are no chat completion). What concerns one question fails that question.
What every further question would meet as well ends the run at once: a refused key, an unknown model
or address, a service that asks for a long pause. The key comes from the environment and is in no
message. What a service says is read by `mmscore.llm.responses`. Several servers share the questions
(`mmscore.llm.servers`).

httpx2 is used rather than the `openai` package: huggingface_hub needs it anyway, the one call that
is made here is small, and retries, caps and redirects are decided in one place.
"""

import json
import os
import signal
from collections import Counter
from collections.abc import AsyncIterable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from mmconvert.core.errors import Error, UsageError, show, suggest_spelling, take_first_line
from mmconvert.core.lazy import LazyModule
from mmconvert.core.retries import RetryPolicy, may_pass, parse_retry_after
from mmscore.llm.budget import Price, Spending, estimate_most_tokens
from mmscore.llm.response_cache import Answer
from mmscore.llm.responses import Fault, describe_redirect, describe_refusal, hide_key, read_responses
from mmscore.llm.servers import LARGEST_RESPONSE, Connections, Place, Server, Servers, build_tls

if TYPE_CHECKING:  # takes time to load, and who has no judge and no API server does without
    import asyncio

    import httpx2
else:
    asyncio = LazyModule("asyncio")

API_KEY = "OPENAI_API_KEY"
BASE_URL = "OPENAI_BASE_URL"
"""Environment variables that are read where the user names none."""

CHAT = "/chat/completions"

_OVERLOADED = frozenset((408, 429, 503))
"""Status codes that say that fewer questions at once would do better."""
REFUSED_KEY = frozenset((401, 403))
UNKNOWN = frozenset((404, 405, 410))
_SAME_CAUSE = 3
"""So many questions that failed for one cause, and no response between, end the run."""

_SHOWN = 200
_SHOWN_MODELS = 10

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to ask, and how patiently.

    Attributes:
        url: Full address of the chat completions, see `build_chat_url`.
        model: Name of the model at the service.
        key: Secret for the Authorization header; None sends none.
        key_name: Environment variable of the key, for messages.
        concurrency: Most questions under way at once at each server, from 1; None finds out how many serve best.
        tries: Most calls for one question, from 1.
        max_calls: Most calls in all, retries included; None for no cap.
        max_total_tokens: Most tokens of prompts and responses in all; None for no cap.
        max_cost: Most that these may cost, in the currency of `price`; None for no cap.
        price: What tokens cost; None where nobody knows.
        connect_seconds: Patience for the connection.
        silence_seconds: Patience between two pieces of a response, the first included.
        total_seconds: Patience for one question with all its tries and the waits between them; pauses that the
            service asks for, and waits for room under a cap, do not count.
        first_wait: Seconds before the first retry, see `RetryPolicy`.
        more_urls: Addresses of further servers of the same model, which share the questions.
    """

    url: str
    model: str
    key: str | None = field(default=None, repr=False)
    key_name: str = API_KEY
    concurrency: int | None = 8
    tries: int = 6
    max_calls: int | None = None
    max_total_tokens: int | None = None
    max_cost: float | None = None
    price: Price | None = None
    connect_seconds: float = 5.0
    silence_seconds: float = 120.0
    total_seconds: float = 600.0
    first_wait: float = 0.5
    more_urls: tuple[str, ...] = ()

    @property
    def retries(self) -> RetryPolicy:
        """How often a question is sent, and the waits between."""
        return RetryPolicy(self.tries, self.first_wait)


def build_chat_url(base_url: str | None) -> str:
    """Give the address of the chat completions.

    Args:
        base_url: Address of the service, with or without `/chat/completions`; None takes OPENAI_BASE_URL.

    Raises:
        UsageError: There is none, it is no http address, or it holds a password.

    Example:
        >>> build_chat_url("http://localhost:8000/v1/")
        'http://localhost:8000/v1/chat/completions'
        >>> build_chat_url("https://x.example/v1/chat/completions?api-version=1")
        'https://x.example/v1/chat/completions?api-version=1'
    """
    text = base_url or os.environ.get(BASE_URL)
    if not text:
        raise UsageError(f"no base URL given. Give --base-url URL, or set {BASE_URL}.")
    import httpx2

    try:
        url = httpx2.URL(text.strip())
    except httpx2.InvalidURL as error:
        raise UsageError(
            f"base URL: is not an address ({take_first_line(error)}). Write it as http://HOST:PORT/v1."
        ) from None
    if url.userinfo:
        raise UsageError(f"base URL: holds a password. Put the key into the environment as {API_KEY}.")
    if url.scheme not in ("http", "https") or not url.host:
        raise UsageError(f"base URL: expected http:// or https:// and a host {show(text)}. Write http://HOST:PORT/v1.")
    path = url.path.rstrip("/")
    return str(url.copy_with(path=path if path.endswith(CHAT) else path + CHAT, fragment=None))


def build_health_urls(base_url: str | None) -> tuple[str, str]:
    """Give the addresses that tell whether a server is ready: its health, and its list of models.

    Raises:
        UsageError: As `build_chat_url`.

    Example:
        >>> build_health_urls("http://localhost:8000/v1")
        ('http://localhost:8000/health', 'http://localhost:8000/v1/models')
    """
    import httpx2

    url = httpx2.URL(build_chat_url(base_url))
    path = url.path.removesuffix(CHAT)
    health = url.copy_with(path=path.removesuffix("/v1") + "/health", query=None)
    return str(health), str(url.copy_with(path=path + "/models"))


def read_key(name: str | None = None) -> str | None:
    """Read the service's key.

    Args:
        name: Variable that the user named; None for `OPENAI_API_KEY`, which may be missing (local
            servers need no key).

    Raises:
        UsageError: The named variable is not set, or the key cannot stand in a header.
    """
    key = os.environ.get(name or API_KEY, "").strip()
    if name and not key:
        raise UsageError(f"the environment variable {name} is not set. Export the key under that name.")
    if not (key.isascii() and key.isprintable()):
        raise UsageError(f"{name or API_KEY}: holds characters that no key has. Export the key again.")
    return key or None


class Chat:
    """An endpoint with its connections, its totals and its event loop. Use as a context manager.

    Attributes:
        endpoint: Where it asks.
        shown: The endpoint, for messages.
        spending: What was spent so far, and the caps.
        totals: The same without the caps.
        replied: Such questions get responses: one came, or came in an earlier run, which whoever knows of it says.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        """Name the endpoint; nothing is opened before `with`."""
        self.endpoint = endpoint
        urls = (endpoint.url, *endpoint.more_urls)
        self._servers = Servers([Server(url, endpoint.concurrency) for url in urls])
        self.shown = self._servers.shown
        caps = (endpoint.max_calls, endpoint.max_total_tokens, endpoint.max_cost)
        self.spending = Spending(self.shown, *caps, endpoint.price)
        self.totals = self.spending.totals
        self.replied = False
        self._same: Counter[str] = Counter()
        self._ended: Error | None = None
        self._connections: dict[Server, Connections] = {}
        self._runner: asyncio.Runner

    @property
    def most_at_once(self) -> int:
        """Give the number of questions that may be under way now."""
        return self._servers.most_at_once

    def __enter__(self) -> "Chat":
        """Start the event loop."""
        self._runner = asyncio.Runner()
        endpoint = self.endpoint
        tls = build_tls([server.url for server in self._servers.all])
        seconds = {"connect_seconds": endpoint.connect_seconds, "silence_seconds": endpoint.silence_seconds}
        self._connections = {server: Connections(endpoint.key, tls, **seconds) for server in self._servers.all}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        """Close every connection and the loop."""
        try:
            self._runner.run(self._close())
        finally:
            self._runner.close()

    async def _close(self) -> None:
        self._servers.close()
        for connections in self._connections.values():
            await connections.close()

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine that asks, to its end.

        Raises:
            KeyboardInterrupt: The process was told to stop; what was under way is cancelled.
        """
        results = self._runner.run(_run_until_stopped(work))
        if not results:
            raise KeyboardInterrupt
        return results[0]

    async def ask(
        self, messages: Sequence[Mapping[str, Any]], generation: Mapping[str, Any], *, model: str | None = None
    ) -> Answer:
        """Ask one question.

        Args:
            messages: Turns as the chat completions take them.
            generation: Further fields of the request: temperature, max_tokens, ...
            model: Whom to ask; None for the endpoint's model.

        Returns:
            The response with its finish reason and tokens, or why there is none.

        Raises:
            CapReachedError: The cap on calls or tokens is reached.
            Error: No further question would be answered either.
        """
        return (await self.ask_several(messages, generation, model=model))[0]

    async def ask_several(
        self, messages: Sequence[Mapping[str, Any]], generation: Mapping[str, Any], *, model: str | None = None
    ) -> list[Answer]:
        """Ask one question whose field `n` may ask for several responses; see `ask`.

        Returns:
            The responses that came, at least one, the first with the tokens of all; or why there is none.
        """
        body = {"model": model or self.endpoint.model, "messages": list(messages), **generation}
        content = json.dumps(body, allow_nan=False).encode()
        most = estimate_most_tokens(messages, generation) if self.spending.counts_tokens else 0
        async with Place(self._servers) as place:
            if self._ended is not None:
                raise self._ended
            try:
                return await self._answer_in_tries(content, most, place)
            except Error as error:
                # Whoever waits for this place must not call again before the run has ended.
                self._ended = error
                raise

    async def send(
        self,
        method: str,
        url: str,
        content: "bytes | AsyncIterable[bytes] | None" = None,
        *,
        headers: Mapping[str, str] | None = None,
        into: BinaryIO | None = None,
    ) -> "tuple[httpx2.Response, bytes | None]":
        """Send a request to the endpoint's first server, of which others know nothing; see `Connections.send`."""
        return await self._connections[self._servers.all[0]].send(method, url, content, headers=headers, into=into)

    async def models(self) -> list[str]:
        """List the models that the service offers; empty where it does not say."""
        import httpx2

        try:
            return await self._list_models(self._servers.all[0])
        except httpx2.HTTPError:
            return []

    async def _list_models(self, server: Server) -> list[str]:
        _, url = build_health_urls(server.url)
        try:
            async with asyncio.timeout(self.endpoint.total_seconds):
                response, data = await self._connections[server].send("GET", url)
            listed = json.loads(data)["data"] if data and response.is_success else []
            return [hide_key(str(model["id"]), self.endpoint.key) for model in listed]
        except (TimeoutError, ValueError, RecursionError, LookupError, TypeError):
            return []

    async def note_models(self) -> None:
        """Note which models each server lists, to name them where it does not have the endpoint's.

        A name that no server lists may still be one, as an alias: the first question tells. Of several servers, one
        that cannot be reached is left out for a while, and one that lists other models than its neighbours too.

        Raises:
            Error: No server can be reached.
        """
        unreachable = {
            server: error
            for server, error in zip(
                self._servers.all, await gather_in_order(map(self._note_models, self._servers.all)), strict=True
            )
            if error is not None
        }
        if len(unreachable) == len(self._servers.all):
            raise self.build_unreachable(next(iter(unreachable.values())))
        for server, error in unreachable.items():
            self._servers.leave_out(server, self._describe_unreachable(error))
        model = self.endpoint.model
        if any(model in server.models for server in self._servers.all):
            for server in self._servers.all:
                if server.models and model not in server.models:
                    has = server.describe_models(_SHOWN_MODELS)
                    self._servers.leave_out(server, f"it has no model {model!r}, but {has}", longest=True)

    async def _note_models(self, server: Server) -> Exception | None:
        """Note the models of one server; gives why it cannot be reached."""
        import httpx2

        try:
            server.models = await self._list_models(server)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            return error
        except httpx2.HTTPError:
            server.models = []
        return None

    async def _answer_in_tries(self, content: bytes, most: int, place: Place) -> list[Answer]:
        """Ask in several tries, within the time for one question; what another server is asked for is none."""
        fault, seconds, tries = Fault("was never sent"), self.endpoint.total_seconds, 0
        now = asyncio.get_running_loop().time
        try:
            async with asyncio.timeout(seconds) as clock:
                while True:
                    await self._wait_for_room(most, clock, place)
                    began = now()
                    try:
                        found = await self._try_once(content, place.server, began)
                        if not isinstance(found, Fault):
                            self._same.clear()
                            self.replied = True
                            self.spending.count(found[0], most)
                            return found
                    finally:
                        self.spending.end(most)
                    fault = found
                    if fault.again and place.fail():
                        clock.reschedule((clock.when() or 0.0) + now() - began)
                        continue
                    tries += 1
                    if not fault.again or tries == self.endpoint.tries:
                        break
                    await asyncio.sleep(self.endpoint.retries.compute_wait(tries))
        except TimeoutError:
            fault = Fault(f"no response within {seconds:g} s", again=True)
        return [self._give_up(fault)]

    async def _wait_for_room(self, most: int, clock: "asyncio.Timeout", place: Place) -> None:
        """Wait for a server, its pause and room under the caps; the question's clock stands still meanwhile."""
        now = asyncio.get_running_loop().time
        left = (clock.when() or 0.0) - now()
        clock.reschedule(None)
        await place.move()
        while (pause := place.server.paused_until - now()) > 0:
            await asyncio.sleep(pause)
        if self._ended is not None:
            raise self._ended
        await self.spending.begin(most)
        clock.reschedule(now() + left)

    async def _try_once(self, content: bytes, server: Server, began: float) -> list[Answer] | Fault:
        import httpx2

        clock = asyncio.get_running_loop().time
        try:
            response, data = await self._ask_reachable(content, server)
        except httpx2.HTTPError as error:
            if server.auto is not None:
                server.auto.add_refusal(began, clock())
            # The error may quote what came, and is cut: so without the key before.
            said = hide_key(str(error), self.endpoint.key).partition("\n")[0][:_SHOWN]
            reason = f"{type(error).__name__}: {said}" if said else type(error).__name__
            at_once = isinstance(error, (httpx2.ConnectError, httpx2.ConnectTimeout))
            self._servers.add_failure(server, reason, began, at_once=at_once)
            return Fault(reason, again=True)
        if data is None:
            return Fault(f"the response is larger than {LARGEST_RESPONSE // 2**20} MiB")
        if response.status_code == httpx2.codes.OK:
            found = read_responses(data, self.endpoint.key)
            if isinstance(found, Fault) and found.again:
                self._servers.add_failure(server, found.reason, began, at_once=False)
            else:
                self._servers.add_response(server, began)
            return found
        if server.auto is not None and response.status_code in _OVERLOADED:
            server.auto.add_refusal(began, clock())
        try:
            return self._read_refusal(response, data, server, began)
        except Error as error:
            if not self._servers.has_other_alive(server):
                raise
            self._servers.leave_out(server, take_first_line(error).removeprefix(f"{server.shown}: "), longest=True)
            return Fault(str(error), again=True)

    async def _ask_reachable(self, content: bytes, server: Server) -> "tuple[httpx2.Response, bytes | None]":
        """Send a question; until the first one has a connection, no other is sent.

        So a server that does not run is met by one attempt, and at once. Of several, one that does not run is left out.

        Raises:
            Error: The first question got no connection.
        """
        import httpx2

        send = self._connections[server].send
        if len(self._servers.all) > 1:
            return await send("POST", server.url, content)
        if server.is_probed:
            await server.reached.wait()
            if server.unreachable is not None:
                raise server.unreachable
            return await send("POST", server.url, content)
        server.is_probed = True

        async def note_connection(event: str, _: Mapping[str, Any]) -> None:
            # Sending means that the connection stands: the other questions may go.
            if event.endswith("send_request_headers.started"):
                server.reached.set()

        try:
            return await send("POST", server.url, content, {"trace": note_connection})
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            server.unreachable = self.build_unreachable(error)
            raise server.unreachable from None
        finally:
            server.reached.set()

    def build_unreachable(self, error: Exception) -> Error:
        """Say that no connection to the API server could be made."""
        return Error(
            f"{self.shown}: the API server cannot be reached ({self._describe_unreachable(error)}). "
            "Start it or correct the base URL, and run the same command again."
        )

    def _describe_unreachable(self, error: Exception) -> str:
        return _find_reason(error) or f"no connection within {self.endpoint.connect_seconds:g} s"

    def _read_refusal(self, response: "httpx2.Response", data: bytes, server: Server, began: float) -> Fault:
        import httpx2

        status = response.status_code
        said = f"{status} {describe_refusal(data, self.endpoint.key)}".strip()
        if status in REFUSED_KEY:
            name = self.endpoint.key_name
            raise Error(f"{server.shown}: the API server rejects the key ({said}). Export the right one as {name}.")
        if status in UNKNOWN:
            model = json.loads(response.request.content)["model"]
            if not server.models or model in server.models:
                raise Error(f"{server.shown}: no such address or model {show(model)} ({said}). Correct them.")
            hint = suggest_spelling(model, server.models)
            has = server.describe_models(_SHOWN_MODELS)
            told = f"the API server has no model {show(model)} ({said}).{hint} It has {has}"
            raise Error(f"{server.shown}: {told}. Give one of them as --model.")
        if response.has_redirect_location:
            to = describe_redirect(response.headers, self.endpoint.key)
            if self.replied:  # so the base URL is right
                return Fault(f"{said}, a redirect to {to}")
            raise Error(f"{server.shown}: answers with a redirect ({status} to {to}). Give the right base URL.")
        if not may_pass(status):
            return Fault(said)
        pause = parse_retry_after(response.headers.get("retry-after", ""))
        if pause is not None and pause > self.endpoint.retries.longest_pause:
            raise Error(f"{server.shown}: requests a pause of {pause:.0f} s ({said}). Run the same command again then.")
        if pause is not None:
            server.paused_until = max(server.paused_until, asyncio.get_running_loop().time() + pause)
        elif status >= httpx2.codes.INTERNAL_SERVER_ERROR:
            self._servers.add_failure(server, said, began, at_once=False)
        return Fault(said, again=True)

    def _give_up(self, fault: Fault) -> Answer:
        """Fail one question, or the run when nothing but this cause was met lately.

        A refusal of single questions, as of too long ones, is no cause once any response has come.
        """
        cause = fault.reason if fault.again or not self.replied else ""
        self._same[cause] += bool(cause)
        if self._same[cause] >= _SAME_CAUSE:
            raise Error(
                f"{self.shown}: {self._same[cause]} questions failed in a row ({fault.reason}). "
                "Fix the problem and run the same command again; responses so far are kept."
            )
        return fault.build_answer()


async def gather_in_order(work: Iterable[Coroutine[Any, Any, _T]]) -> list[_T]:
    """Run coroutines side by side and give their results in order; the first error cancels the others and is raised."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _run_until_stopped(work: Coroutine[Any, Any, _T]) -> list[_T]:
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


def _find_reason(error: BaseException) -> str:
    """Give the system's own words for an error of a connection, which libraries wrap in theirs."""
    reason = ""
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, OSError) and inner.errno:
            # Names that are not found have numbers of their own, below 0.
            reason = os.strerror(inner.errno) if inner.errno > 0 else str(inner.strerror)
        inner = inner.__cause__ or inner.__context__
    return reason or (take_first_line(error) if str(error) else "")
