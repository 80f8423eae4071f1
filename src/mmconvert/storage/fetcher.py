"""Fetch many addresses at once: one event loop in a thread, connections that are kept, hosts that are spared.

What may be fetched and what a fetch may cost is as in `mmconvert.storage.http`. Here many addresses are under way at
a time, each host is asked for a few of them, what a server cannot give now is asked for again after a pause, and what
was fetched may be kept in a folder, so that a run that was killed fetches nothing twice.
"""

import heapq
import ipaddress
import os
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult

from mmconvert.core.errors import RowError, show
from mmconvert.core.lazy import LazyModule
from mmconvert.core.retries import RetryPolicy, may_pass, parse_retry_after
from mmconvert.storage import url_safety
from mmconvert.storage.fetch_cache import FetchCache
from mmconvert.storage.http import CHUNK, REDIRECTS, USER_AGENT, Limits, load_trust, read_location

if TYPE_CHECKING:  # it takes time to load, and most runs fetch nothing
    import asyncio

    import aiohttp
else:
    asyncio = LazyModule("asyncio")

AT_ONCE = 64
PER_HOST = 8
MOST_HELD = 256 << 20
"""Bytes that were fetched and that nobody has taken, above which only what somebody waits for goes on."""
RETRIES = RetryPolicy(tries=3, first_wait=0.5, longest_pause=30.0)
_DEAD = 4
"""Connections to a host that failed one after the other, after which none of its addresses is tried again."""
_LOOKED_UP_SECONDS = 300.0


class _PassingError(Exception):
    """A fetch that may succeed later."""

    def __init__(self, error: RowError, pause: float | None = None, *, connects: bool = True) -> None:
        super().__init__(error.message)
        self.error = error
        self.pause = pause
        self.connects = connects


class _Order:
    """An address that was asked for.

    Attributes:
        number: Its place among all that were asked for.
        askers: How often it was asked for and not yet released.
        held: Bytes that came of it.
        target: Its parts, once they were checked.
    """

    target: SplitResult

    def __init__(self, url: str, number: int) -> None:
        self.url = url
        self.number = number
        self.askers = 0
        self.held = 0
        self.result: Future[bytes] = Future()


class _Host:
    """What is known of a host: what waits for it, how much of it is under way, and connections that failed in a row."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.waiting: deque[_Order] = deque()
        self.under_way = self.failed = 0
        self.is_offered = False


class Fetcher:
    """Fetches addresses that are asked for, in a thread; whoever wants one waits for it.

    Addresses begin in the order in which they are asked for, as far as their hosts have room.
    """

    def __init__(
        self,
        limits: Limits,
        *,
        hosts: Sequence[str] = (),
        at_once: int = AT_ONCE,
        per_host: int = PER_HOST,
        folder: Path | None = None,
        resolve: url_safety.Resolve = url_safety.resolve,
        allowed: Callable[[url_safety.Address], bool] = url_safety.is_public,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        """Describe what is fetched; nothing is connected to before something is asked for.

        Args:
            limits: Most bytes, seconds and redirects of each fetch.
            hosts: Hosts that the user named, `NAME[:PORT]`; they may be at private addresses, and be asked for as much
                at once as all together.
            at_once: Fetches that are under way at most.
            per_host: Those of one host at most.
            folder: Where to keep what was fetched, None for nowhere.
            resolve: Gives the addresses of a host; tests put their own here.
            allowed: Tells the addresses that may be connected to.
            trust: Certificates to trust, None for the system's.
        """
        self._limits = limits
        self._named = [*map(url_safety.parse_allowed_host, hosts)]
        self._at_once, self._per_host, self._folder = at_once, per_host, folder
        self._resolve, self._allowed, self._trust = resolve, allowed, trust
        self._lock = threading.Lock()
        self._orders: dict[str, _Order] = {}
        self._asked = self._held = 0
        self._under_way: set[int] = set()
        self._freed = asyncio.Event()
        self._is_closed = False
        self._wanted = -1
        self._hosts: dict[str, _Host] = {}
        self._ready: list[tuple[int, str]] = []
        self._looked_up: dict[tuple[str, int], tuple[float, Sequence[url_safety.Address]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._told: deque[tuple[Callable[[_Order], None], _Order]] = deque()
        self._is_woken = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._session: aiohttp.ClientSession | None = None
        self._cache: FetchCache | None = None

    def ask(self, url: str) -> None:
        """Ask for an address that will be wanted; `release` it once for each time it was asked for."""
        with self._lock:
            order = self._orders.get(url)
            if order is not None:
                order.askers += 1
                return
            order = self._orders[url] = _Order(url, self._asked)
            order.askers = 1
            self._asked += 1
        self._tell(self._enqueue, order)

    def fetch(self, url: str) -> bytes:
        """Give what stands at an address, which is asked for now where it was not before.

        Raises:
            RowError: As `mmconvert.storage.http.fetch`.
        """
        self.ask(url)
        order = self._orders[url]
        if not order.result.done():
            with self._lock:
                self._wanted = max(self._wanted, order.number)
            # One that is under way needs no word, unless it waits for room.
            if order.number not in self._under_way or self._is_full:
                self._tell(self._hurry, order, is_urgent=True)
        try:
            return order.result.result()
        except RowError as error:
            raise RowError(error.code, error.field, error.message) from None
        finally:
            self.release(url)

    def release(self, url: str) -> None:
        """Let go of an address that was asked for."""
        with self._lock:
            order = self._orders[url]
            order.askers -= 1
            if order.askers:
                return
            del self._orders[url]
        if self._loop is not None and not self._is_closed:
            self._tell(self._let_go, order)

    def _tell(self, call: Callable[[_Order], None], order: _Order, *, is_urgent: bool = False) -> None:
        """Have the loop do something with an order: now, or when the next fetch has ended, if there is no room anyway.

        Waking the loop takes a good part of what an order takes. Whether there is room is looked at when the order
        stands there, and a fetch counts as ended before its end looks here, so that no order is left behind.
        """
        loop = self._start_thread()
        self._told.append((call, order))
        has_room = len(self._under_way) < self._at_once
        if (is_urgent or has_room or self._is_full) and not self._is_woken:
            self._is_woken = True
            loop.call_soon_threadsafe(self._listen)

    def _listen(self) -> None:
        self._is_woken = False
        while self._told:
            call, order = self._told.popleft()
            call(order)

    @property
    def _is_full(self) -> bool:
        return self._held >= MOST_HELD

    def _hurry(self, order: _Order) -> None:
        """Let no lack of room keep an address back that somebody waits for."""
        self._freed.set()
        self._begin()

    def _let_go(self, order: _Order) -> None:
        """Count the bytes of an address no more for which nobody asks; of one under way when it has come."""
        if order.number not in self._under_way:
            self._count(order, -order.held)
            self._freed.set()
            self._begin()

    def close(self) -> None:
        """End all that is under way."""
        if self._thread is None or self._loop is None:
            return
        self._is_closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._thread = None

    def _start_thread(self) -> "asyncio.AbstractEventLoop":
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=self._run_loop, args=(self._loop,), name="mmconvert-fetcher", daemon=True
            )
            self._thread.start()
        return self._loop

    def _run_loop(self, loop: "asyncio.AbstractEventLoop") -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            for task in self._tasks:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*self._tasks, return_exceptions=True))
            if self._session is not None:
                loop.run_until_complete(self._session.close())
            loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            loop.close()
            if self._cache is not None:
                self._cache.close()
            with self._lock:
                orders = [*self._orders.values()]
            for order in orders:
                # Nobody waits for ever, however the loop ended.
                if not order.result.done():
                    order.result.set_exception(RowError("remote.failed", "", "fetching was ended."))

    def _enqueue(self, order: _Order) -> None:
        try:
            order.target = url_safety.check_url(order.url)
        except RowError as error:
            order.result.set_exception(error)
            return
        name = order.target.netloc
        if name not in self._hosts:
            is_named = url_safety.is_allowed_host(order.target, self._named)
            self._hosts[name] = _Host(self._at_once if is_named else min(self._at_once, self._per_host))
        self._hosts[name].waiting.append(order)
        self._offer(name)
        self._begin()

    def _offer(self, name: str) -> None:
        """Put a host in line that has room for what waits."""
        host = self._hosts[name]
        if host.waiting and host.under_way < host.most and not host.is_offered:
            host.is_offered = True
            heapq.heappush(self._ready, (host.waiting[0].number, name))

    def _begin(self) -> None:
        """Begin fetches as far as there is room, and what somebody waits for in any case."""
        while self._ready and not self._is_closed:
            is_wanted = self._ready[0][0] <= self._wanted
            if not is_wanted and (self._is_full or len(self._under_way) >= self._at_once):
                return
            _, name = heapq.heappop(self._ready)
            host = self._hosts[name]
            host.is_offered = False
            order = host.waiting.popleft()
            host.under_way += 1
            self._under_way.add(order.number)
            task = asyncio.get_running_loop().create_task(self._serve(order, name))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            self._offer(name)

    async def _serve(self, order: _Order, name: str) -> None:
        host = self._hosts[name]
        try:
            data = await self._obtain(order, host)
        except RowError as error:
            self._count(order, -order.held)
            order.result.set_exception(error)
        except Exception as error:  # a library that fails in another way must not leave anybody waiting
            self._count(order, -order.held)
            order.result.set_exception(_build_failure(error, order.url))
        else:
            order.result.set_result(data)
        finally:
            host.under_way -= 1
            self._under_way.discard(order.number)
            if not order.askers:
                self._count(order, -order.held)
            self._freed.set()
            self._offer(name)
            self._begin()
            self._listen()

    async def _obtain(self, order: _Order, host: _Host) -> bytes:
        if self._folder is None:
            return await self._try_again(order, host)
        if self._cache is None:
            self._cache = FetchCache(self._folder)
        kept = self._cache.read(order.url, self._limits.bytes)
        if kept is not None:
            self._count(order, len(kept))
            return kept
        data = await self._try_again(order, host)
        self._cache.keep(order.url, data)
        return data

    async def _try_again(self, order: _Order, host: _Host) -> bytes:
        for sent in range(1, RETRIES.tries):
            try:
                data = await self._fetch_once(order)
            except _PassingError as passing:
                host.failed = 0 if passing.connects else host.failed + 1
                if host.failed >= _DEAD:
                    raise passing.error from None
                await asyncio.sleep(RETRIES.compute_wait(sent) if passing.pause is None else passing.pause)
            else:
                host.failed = 0
                return data
        try:
            return await self._fetch_once(order)
        except _PassingError as passing:
            raise passing.error from None

    def _count(self, order: _Order, size: int) -> None:
        order.held += size
        self._held += size

    async def _wait_for_room(self, order: _Order, timeout: "asyncio.Timeout") -> None:
        """Wait until what was fetched is taken, at no cost of the fetch's own time."""
        began, ends = time.monotonic(), timeout.when() or 0.0
        while self._is_full and order.number > self._wanted:
            timeout.reschedule(None)
            self._freed.clear()
            await self._freed.wait()
        if timeout.when() is None:
            timeout.reschedule(ends + time.monotonic() - began)

    async def _fetch_once(self, order: _Order) -> bytes:
        import aiohttp

        limits, url = self._limits, order.url
        self._count(order, -order.held)
        try:
            async with asyncio.timeout(limits.seconds) as timeout:
                target, at = order.target, url
                for _ in range(limits.redirects + 1):
                    async with await self._open_response(target) as answer:
                        if answer.status not in REDIRECTS:
                            return await self._read_body(answer, order, timeout)
                        at = read_location(at, answer.headers.get("Location", ""))
                        target = url_safety.check_url(at)
                raise RowError("remote.address", "", f"more than {limits.redirects} redirects {show(url)}.")
        except TimeoutError:
            limit = f"{limits.silence:g} seconds of silence or {limits.seconds:g} in all"
            raise RowError("remote.timeout", "", f"no whole answer within {limit} {show(url)}.") from None
        except ssl.CertificateError as error:
            raise _build_failure(error, url) from None
        except (OSError, aiohttp.ClientError) as error:
            connects = not isinstance(error, aiohttp.ClientConnectorError)
            raise _PassingError(_build_failure(error, url), connects=connects) from None

    async def _read_body(self, answer: "aiohttp.ClientResponse", order: _Order, timeout: "asyncio.Timeout") -> bytes:
        most, url = self._limits.bytes, order.url
        if answer.status != 200:
            error = RowError("remote.failed", "", f"the server answers {answer.status} {answer.reason} {show(url)}.")
            raise _PassingError(error, _read_pause(answer)) if may_pass(answer.status) else error
        pieces: list[bytes] = []
        expected = answer.content_length or 0
        while expected <= most:
            await self._wait_for_room(order, timeout)
            piece = await answer.content.read(CHUNK)
            if not piece:
                return b"".join(pieces)
            pieces.append(piece)
            self._count(order, len(piece))
            expected = max(expected, order.held)
        answer.close()
        raise RowError("remote.too_large", "", f"the answer has more than {most:,} bytes {show(url)}.")

    async def _open_response(self, target: SplitResult) -> "aiohttp.ClientResponse":
        import aiohttp
        from yarl import URL

        await self._look_up(target)
        if self._session is None:
            connector = aiohttp.TCPConnector(
                limit=0,
                use_dns_cache=False,
                resolver=_make_resolver(self._looked_up),
                ssl=self._trust or load_trust(),
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
                headers={"User-Agent": USER_AGENT, "Accept-Encoding": "identity"},
                timeout=aiohttp.ClientTimeout(total=None, sock_read=self._limits.silence),
            )
        return await self._session.get(URL(target.geturl(), encoded=True), allow_redirects=False)

    async def _look_up(self, target: SplitResult) -> None:
        """See that the host of an address may be connected to; its addresses are those that will be."""
        key = target.hostname or "", target.port or url_safety.PORTS[target.scheme]
        found = self._looked_up.get(key)
        if found is not None and time.monotonic() < found[0]:
            return
        is_named = url_safety.is_allowed_host(target, self._named)
        fits = url_safety.is_connectable if is_named else self._allowed
        look_up = partial(url_safety.check_addresses, target, self._resolve, fits)
        addresses = await asyncio.get_running_loop().run_in_executor(None, look_up)
        self._looked_up[key] = time.monotonic() + _LOOKED_UP_SECONDS, addresses


def _make_resolver(looked_up: dict[tuple[str, int], tuple[float, Sequence[url_safety.Address]]]) -> Any:
    import socket

    from aiohttp.abc import AbstractResolver, ResolveResult

    class Resolver(AbstractResolver):
        """Gives the addresses that were looked at, so that a second answer of the name server changes nothing."""

        async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
            return [
                ResolveResult(
                    hostname=host,
                    host=str(address),
                    port=port,
                    family=socket.AF_INET6 if isinstance(address, ipaddress.IPv6Address) else socket.AF_INET,
                    proto=0,
                    flags=socket.AI_NUMERICHOST,
                )
                for address in looked_up[host, port][1]
            ]

        async def close(self) -> None:
            """Nothing is open."""

    return Resolver()


def _read_pause(answer: "aiohttp.ClientResponse") -> float | None:
    """Read how long a server wants to be left alone; None where it says nothing, or more than anybody waits."""
    seconds = parse_retry_after(answer.headers.get("Retry-After", ""))
    return seconds if seconds is None or seconds <= RETRIES.longest_pause else None


def _build_failure(error: Exception, url: str) -> RowError:
    cause: Any = getattr(error, "certificate_error", None) or getattr(error, "os_error", None) or error
    number = None if isinstance(cause, ssl.SSLError) else getattr(cause, "errno", None)
    reason = (os.strerror(number) if number else str(cause)) or type(cause).__name__
    return RowError("remote.failed", "", f"cannot be fetched: {reason[:200]} {show(url)}.")
