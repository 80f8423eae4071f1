"""API servers: connections to each, who is asked next, and who is left out for a while.

Each server has its own limit, its own pause after `Retry-After`, and its own health. A question goes to the open server
with the most room. One that fails is left out, and tried again by one question at a time after a growing pause. What a
server fails another one is asked, and this does not count as a try of the question. Of one server alone nothing is left
out: its questions are tried as often as the client allows.
"""

import contextlib
import io
import ssl
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from mmconvert._version import __version__
from mmconvert.core.lazy import LazyModule
from mmconvert.core.progress import print_message
from mmscore.llm.concurrency import AutoLimit

if TYPE_CHECKING:  # takes time to load, and who has no judge and no API server does without
    import asyncio

    import httpx2
else:
    asyncio = LazyModule("asyncio")

LARGEST_RESPONSE = 4 * 1024 * 1024
"""Bytes; a longer body is not read."""
_LARGEST_FILE = 2 * 1024**3

_FAILURES = 3
"""Failures with no response in between after which a server is left out; one that takes no connection is at once."""
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
"""Seconds before a server that was left out is tried again; they double."""
_STEADY = 8
"""Responses after which a server that came back counts as one that never failed."""


def build_tls(urls: Sequence[str]) -> ssl.SSLContext:
    """Read the certificates that are trusted.

    They take longer to read than many a response; where TLS is not spoken, none is trusted.
    """
    import httpx2

    spoken = any(httpx2.URL(url).scheme == "https" for url in urls)
    return httpx2.create_ssl_context() if spoken else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class Connections:
    """Connections to one server; each has a client of its own, and that used last is used first.

    One client for all would look at each of its connections several times a call.
    """

    def __init__(self, key: str | None, tls: ssl.SSLContext, *, connect_seconds: float, silence_seconds: float) -> None:
        """Say how to connect; nothing is opened yet.

        Args:
            key: Secret for the Authorization header; None sends none.
            tls: Certificates that are trusted.
            connect_seconds: Patience for the connection.
            silence_seconds: Patience between two pieces of a response, the first included.
        """
        self._key = key
        self._tls = tls
        self._seconds = connect_seconds, silence_seconds
        self._clients: list[httpx2.AsyncClient] = []
        self._idle: list[httpx2.AsyncClient] = []

    async def close(self) -> None:
        """Close every connection."""
        for client in self._clients:
            await client.aclose()

    async def send(
        self,
        method: str,
        url: str,
        content: "bytes | AsyncIterable[bytes] | None" = None,
        extensions: Mapping[str, Any] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        into: BinaryIO | None = None,
    ) -> "tuple[httpx2.Response, bytes | None]":
        """Send a request and read what comes back.

        Args:
            method: GET or POST.
            url: Full address.
            content: Body of the request.
            extensions: As httpx takes them.
            headers: Beside those of every request.
            into: Takes the body of a success, up to two GiB, in the place of the memory.

        Returns:
            The response and its body: None for one that is too large, nothing where `into` took it.

        Raises:
            httpx2.HTTPError: There is no connection, or it broke.
        """
        more = dict(extensions) if extensions else None
        async with (
            self._lend() as client,
            client.stream(method, url, content=content, headers=headers, extensions=more) as response,
        ):
            aside = into if response.is_success else None
            kept = aside or io.BytesIO()
            most = LARGEST_RESPONSE if aside is None else _LARGEST_FILE
            async for piece in response.aiter_bytes():
                kept.write(piece)
                if kept.tell() > most:
                    return response, None
            return response, kept.getvalue() if isinstance(kept, io.BytesIO) else b""

    @contextlib.asynccontextmanager
    async def _lend(self) -> "AsyncIterator[httpx2.AsyncClient]":
        if not self._idle:
            self._idle.append(self._open_client())
            self._clients += self._idle
        client = self._idle.pop()
        try:
            yield client
        finally:
            if _is_used_up(client):
                await client.aclose()
                self._clients.remove(client)
            else:
                self._idle.append(client)

    def _open_client(self) -> "httpx2.AsyncClient":
        """Make a client that holds one connection; nothing is sent yet."""
        import httpx2

        # No compression is asked for: a small response could not unfold into a large one unseen.
        headers = {
            "User-Agent": f"mmscore/{__version__}",
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
        }
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        limits = httpx2.Limits(max_connections=1, max_keepalive_connections=1)
        connect, silence = self._seconds
        timeout = httpx2.Timeout(silence, connect=connect, pool=None)
        return httpx2.AsyncClient(headers=headers, limits=limits, timeout=timeout, verify=self._tls)


def _is_used_up(client: "httpx2.AsyncClient") -> bool:
    """Tell whether more came than the response; the next question would be answered with the rest."""
    try:
        connections = client._transport._pool.connections  # type: ignore[attr-defined]
        rests = [one._connection._h11_state.trailing_data[0] for one in connections if one.is_idle()]
    except AttributeError:
        # httpx2 has no public word for it. Where its parts have other names, every question costs a connection.
        return True
    return any(rests)


class Server:
    """One API server, as far as this process knows it.

    Attributes:
        url: Full address of its chat completions.
        shown: The same for messages, without its query.
        auto: What finds its limit; None where the user gave one.
        taken: Questions that are with it.
        paused_until: Time of the event loop until which it asked to be left alone.
        models: Names of the models that it lists; empty where it does not say.
        is_probed: A question was sent to it, or is about to be.
        reached: Whether it takes connections is known.
        unreachable: Why it takes none; None where it does.
    """

    def __init__(self, url: str, limit: int | None) -> None:
        """Name it; nothing is sent.

        Args:
            url: Full address of its chat completions.
            limit: Most questions that may be with it at once; None to find out how many serve best.
        """
        import httpx2

        self.url = url
        self.shown = str(httpx2.URL(url).copy_with(query=None))
        self.auto = AutoLimit() if limit is None else None
        self.taken = 0
        self.paused_until = 0.0
        self.models: list[str] = []
        self.is_probed = False
        self.reached = asyncio.Event()
        self.unreachable: Exception | None = None
        self._limit = limit
        self._failures = self._responses = 0
        self._pause = _FIRST_PAUSE
        self._out_since: float | None = None
        self._again_at = 0.0

    @property
    def is_out(self) -> bool:
        """Whether it is left out, but for the question that tries it again."""
        return self._out_since is not None

    @property
    def limit(self) -> int:
        """Most questions that may be with it now."""
        if self.is_out:
            return 1
        return self._limit or (self.auto.limit if self.auto is not None else 1)

    @property
    def opens_at(self) -> float:
        """Time of the event loop from which it may be asked."""
        return max(self.paused_until, self._again_at if self.is_out else 0.0)

    def leave_out(self, now: float, *, longest: bool) -> float | None:
        """Leave it out for a pause, longer than the one before.

        Args:
            now: Time of the event loop.
            longest: It will hardly be better soon.

        Returns:
            The seconds of the pause where it was not left out before; None where it was.
        """
        was_out, self._out_since = self.is_out, now
        pause = _LONGEST_PAUSE if longest else self._pause
        self._pause = min(_LONGEST_PAUSE, 2 * pause)
        self._again_at = now + pause
        self._failures = self._responses = 0
        return None if was_out else pause

    def add_failure(self, began: float) -> bool:
        """Learn that it failed a question; tells whether that is enough to leave it out.

        Args:
            began: When the question was sent.
        """
        if self._out_since is not None:
            # What was under way when it was left out says nothing new.
            return began >= self._out_since
        self._failures += 1
        return self._failures >= _FAILURES

    def add_response(self, began: float, now: float) -> bool:
        """Learn from a response; tells whether the server is back."""
        if self.auto is not None:
            self.auto.add_response(began, now)
        self._failures = 0
        self._responses += 1
        if self._responses == _STEADY:
            self._pause = _FIRST_PAUSE
        is_back, self._out_since = self.is_out, None
        if is_back and self.auto is not None:
            # Its refusals lowered the limit of a server that was dying.
            self.auto = AutoLimit()
        return is_back

    def describe_models(self, most: int) -> str:
        """List the models that it has, at most so many."""
        return ", ".join(self.models[:most]) + (", ..." if len(self.models) > most else "")


class _Waiter(msgspec.Struct, frozen=True):
    place: "asyncio.Future[Server]"
    failed: frozenset[Server]


class Servers:
    """The servers of one endpoint, and the questions that wait for a place at one of them."""

    def __init__(self, servers: Sequence[Server]) -> None:
        """Take the servers, at least one."""
        self.all = tuple(servers)
        self.shown = ", ".join(server.shown for server in self.all)
        self._waiting: deque[_Waiter] = deque()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def most_at_once(self) -> int:
        """Questions that may be under way now, at all servers together."""
        return sum(server.limit for server in self.all if not server.is_out) or len(self.all)

    def close(self) -> None:
        """Let nobody in any more."""
        if self._timer is not None:
            self._timer.cancel()

    async def take(self, failed: frozenset[Server] = frozenset()) -> Server:
        """Wait for a place at a server; who came first is first.

        Args:
            failed: Servers that are asked only where no other is open.
        """
        if not self._waiting and (server := self._choose(failed)) is not None:
            server.taken += 1
            return server
        waiter = _Waiter(asyncio.get_running_loop().create_future(), failed)
        self._waiting.append(waiter)
        self._let_in()
        try:
            return await waiter.place
        except asyncio.CancelledError:
            if waiter.place.done() and not waiter.place.cancelled():
                self.give_back(waiter.place.result())
            raise

    def give_back(self, server: Server) -> None:
        """Give a place back; a limit that has grown lets several in."""
        server.taken -= 1
        self._let_in()

    def _let_in(self) -> None:
        self.close()
        left: list[_Waiter] = []
        while self._waiting and self._choose(frozenset()) is not None:
            waiter = self._waiting.popleft()
            if waiter.place.done():  # it was cancelled
                continue
            if (server := self._choose(waiter.failed)) is None:
                left.append(waiter)
                continue
            server.taken += 1
            waiter.place.set_result(server)
        self._waiting.extendleft(reversed(left))
        loop = asyncio.get_running_loop()
        closed = [server.opens_at for server in self.all if server.opens_at > loop.time()]
        if self._waiting and closed:
            self._timer = loop.call_at(min(closed), self._let_in)

    def _choose(self, failed: frozenset[Server]) -> Server | None:
        """Choose a server with room: an open one, else one that asked for a pause, else one that is left out."""
        now = asyncio.get_running_loop().time()
        candidates: Sequence[Server] = (
            [server for server in self.all if server.opens_at <= now]
            or [server for server in self.all if not server.is_out]
            or self.all
        )
        candidates = [server for server in candidates if server not in failed] or candidates
        free = [server for server in candidates if server.taken < server.limit]
        return min(free, key=lambda server: server.taken / server.limit, default=None)

    def has_other(self, server: Server) -> bool:
        """Tell whether another server is open."""
        now = asyncio.get_running_loop().time()
        return any(other is not server and other.opens_at <= now for other in self.all)

    def has_other_alive(self, server: Server) -> bool:
        """Tell whether another server is not left out, though it may have asked for a pause."""
        return any(other is not server and not other.is_out for other in self.all)

    def add_response(self, server: Server, began: float) -> None:
        """Learn that a server answered.

        Args:
            server: The server.
            began: When the question was sent, in the time of the event loop.
        """
        if server.add_response(began, asyncio.get_running_loop().time()):
            print_message(f"mmscore: {server.shown}: answers again.")

    def add_failure(self, server: Server, reason: str, began: float, *, at_once: bool) -> None:
        """Learn that a server failed a question for a reason of its own.

        Args:
            server: The server.
            reason: In a few words.
            began: When the question was sent, in the time of the event loop.
            at_once: One such failure is enough to leave it out.
        """
        if len(self.all) > 1 and (server.add_failure(began) or (at_once and not server.is_out)):
            self.leave_out(server, reason)

    def leave_out(self, server: Server, reason: str, *, longest: bool = False) -> None:
        """Leave a server out, and say so once.

        Args:
            server: The server.
            reason: Why.
            longest: It will hardly be better soon.
        """
        pause = server.leave_out(asyncio.get_running_loop().time(), longest=longest)
        if pause is not None:
            print_message(f"mmscore: {server.shown}: left out, and tried again in {pause:g} s ({reason}).")


class Place:
    """The place of one question at a server, which changes where servers fail it. Use as a context manager.

    Attributes:
        server: Where the question is.
    """

    server: Server

    def __init__(self, servers: Servers) -> None:
        """Take nothing yet."""
        self._servers = servers
        self._failed: frozenset[Server] = frozenset()
        self._is_held = False

    async def __aenter__(self) -> "Place":
        """Wait for a place."""
        await self._take()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        """Give it back."""
        self._give_back()

    async def _take(self) -> None:
        self.server = await self._servers.take(self._failed)
        self._is_held = True

    def _give_back(self) -> None:
        if self._is_held:
            self._is_held = False
            self._servers.give_back(self.server)

    def fail(self) -> bool:
        """Note that the server failed the question.

        Returns:
            Whether another one is asked and this did not count; each server is excused once.
        """
        excused = self.server not in self._failed and self._servers.has_other(self.server)
        self._failed |= {self.server}
        return excused

    async def move(self) -> None:
        """Go to another server where the one here failed the question; stay where there is none."""
        if self._failed and len(self._servers.all) > 1:
            self._give_back()
            await self._take()
