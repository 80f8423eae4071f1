"""Fetch from public hosts, and from those that the user names: `--allow-remote`, `--allow-host`, and nothing wider.

An address written in a data file must not reach this machine's own network. So only http and https are
spoken; a host is looked up once, all its addresses must be public, and the connection goes to the
address that was checked, so that a second answer of the name server changes nothing. Every redirect is
checked again. Bytes and seconds are limited. Proxies of the environment are not used.
"""

import contextlib
import io
import re
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import SplitResult, urljoin

import msgspec

from mmconvert._version import __version__
from mmconvert.core.errors import RowError, show
from mmconvert.storage import url_safety

if TYPE_CHECKING:  # they take time to load, and most runs fetch nothing
    import http.client
    import ssl


CHUNK = 1 << 18
_WHOLE, _PARTIAL, _BEHIND_END = 200, 206, 416
_CONTENT_RANGE = re.compile(r"bytes (?P<start>\d+)-\d+/(?P<size>\d+|\*)")

REDIRECTS = frozenset({301, 302, 303, 307, 308})
USER_AGENT = f"mmconvert/{__version__}"


class Limits(msgspec.Struct, frozen=True):
    """What one fetch may cost.

    Attributes:
        bytes: Most bytes of the answer.
        seconds: Longest time of the whole exchange, redirects included, the name servers' answers not.
        silence: Longest time without a byte.
        redirects: Most redirects.
    """

    bytes: int = 20 << 20
    seconds: float = 30.0
    silence: float = 30.0
    redirects: int = 3


_LIMITS = Limits()


class Resume(msgspec.Struct, frozen=True):
    """Where an earlier fetch broke off.

    Attributes:
        start: Bytes that are here.
        validator: What the server called the file then, its strong ETag; None where it called it nothing.
    """

    start: int
    validator: str | None = None


class OtherPartError(RowError):
    """A server was asked for the rest of a file, and sends another part of it."""


class Body:
    """The pieces of an answer's body, to be iterated once.

    Attributes:
        start: Offset in the file of the first byte; 0 where the server sends the whole file.
        size: Bytes of the whole file; None where the server does not say.
        validator: What the server calls the file as it is now, its strong ETag; None where it calls it nothing.
    """

    def __init__(self, chunks: Iterator[bytes], start: int, size: int | None, validator: str | None) -> None:
        self._chunks = chunks
        self.start = start
        self.size = size
        self.validator = validator

    def __iter__(self) -> Iterator[bytes]:
        return self._chunks


def fetch(
    url: str,
    limits: Limits = _LIMITS,
    *,
    resolve: url_safety.Resolve = url_safety.resolve,
    allowed: Callable[[url_safety.Address], bool] = url_safety.is_public,
    hosts: Sequence[str] = (),
    trust: "ssl.SSLContext | None" = None,
) -> bytes:
    """Fetch what stands at an address.

    Args:
        url: An http or https address.
        limits: Most bytes, seconds and redirects.
        resolve: Gives the addresses of a host; tests put their own here.
        allowed: Tells the addresses that may be connected to; tests of the exchange allow loopback.
        hosts: Hosts that the user named, `NAME[:PORT]`, which may be at private addresses.
        trust: Certificates to trust, None for the system's.

    Returns:
        The body of the answer.

    Raises:
        RowError: `remote.address`: not an address that may be fetched, here or in a redirect;
            `remote.too_large`, `remote.timeout`, `remote.failed`.
    """
    with open_url(url, limits, resolve=resolve, allowed=allowed, hosts=hosts, trust=trust) as chunks:
        return b"".join(chunks)


@contextlib.contextmanager
def open_url(
    url: str,
    limits: Limits,
    *,
    resolve: url_safety.Resolve = url_safety.resolve,
    allowed: Callable[[url_safety.Address], bool] = url_safety.is_public,
    hosts: Sequence[str] = (),
    trust: "ssl.SSLContext | None" = None,
    resume: Resume | None = None,
) -> Iterator[Body]:
    """Open an address and give the pieces of its body; arguments and errors are those of `fetch`.

    With `resume` the server is asked for the rest of the file. It sends the whole one where it cannot, or where the
    file is another one by now.
    """
    clock = _Clock(limits)
    named = [*map(url_safety.parse_allowed_host, hosts)]
    with contextlib.ExitStack() as stack:
        with _explain_network_errors(url, limits):
            at = url
            for _ in range(limits.redirects + 1):
                stack.close()
                target = url_safety.check_url(at)
                fits = url_safety.is_connectable if url_safety.is_allowed_host(target, named) else allowed
                addresses = url_safety.check_addresses(target, resolve, fits)
                answer = stack.enter_context(_open_response(target, addresses, clock, trust, resume))
                if answer.status not in REDIRECTS:
                    break
                at = read_location(at, answer.getheader("Location") or "")
            else:
                raise RowError("remote.address", "", f"more than {limits.redirects} redirects {show(url)}.")
        yield _build_body(answer, url, limits, resume)


@contextlib.contextmanager
def _explain_network_errors(url: str, limits: Limits) -> Iterator[None]:
    from http.client import HTTPException

    try:
        yield
    except TimeoutError:
        limit = f"{limits.silence:g} seconds of silence or {limits.seconds:g} in all"
        raise RowError("remote.timeout", "", f"no whole answer within {limit} {show(url)}.") from None
    except (OSError, HTTPException) as error:
        reason = str(error) or type(error).__name__
        raise RowError("remote.failed", "", f"cannot be fetched: {reason[:200]} {show(url)}.") from None


@contextlib.contextmanager
def _open_response(
    target: SplitResult,
    addresses: Sequence[url_safety.Address],
    clock: "_Clock",
    trust: "ssl.SSLContext | None",
    resume: Resume | None,
) -> "Iterator[http.client.HTTPResponse]":
    from http.client import HTTPConnection

    host, port = target.hostname or "", target.port or url_safety.PORTS[target.scheme]
    with contextlib.ExitStack() as stack:
        channel = stack.enter_context(_connect(addresses, port, clock))
        if target.scheme == "https":
            channel.settimeout(clock.compute_left())
            channel = stack.enter_context((trust or load_trust()).wrap_socket(channel, server_hostname=host))
        connection = HTTPConnection(host, port)
        # The connection stands already: http.client would look the host up again.
        connection.sock = cast(Any, _Timed(channel, clock))
        path = f"{target.path}?{target.query}" if target.query else target.path
        headers = {"Host": target.netloc, "User-Agent": USER_AGENT, "Connection": "close"}
        if resume is not None:
            headers["Range"] = f"bytes={resume.start}-"
            if resume.validator is not None:
                headers["If-Range"] = resume.validator
        connection.request("GET", path, headers=headers)
        yield stack.enter_context(connection.getresponse())


@cache
def load_trust() -> "ssl.SSLContext":
    """Load the certificates that the system trusts."""
    import ssl

    return ssl.create_default_context()


class _Clock:
    """Tells how long the next step of a fetch may take."""

    def __init__(self, limits: Limits) -> None:
        self._ends = time.monotonic() + limits.seconds
        self._silence = limits.silence

    def compute_left(self) -> float:
        left = self._ends - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return min(left, self._silence)


def _connect(addresses: Sequence[url_safety.Address], port: int, clock: _Clock) -> socket.socket:
    for address in addresses[:-1]:
        with contextlib.suppress(OSError):
            # A host of several addresses may be dead at one of them.
            return socket.create_connection((str(address), port), timeout=clock.compute_left() / 2)
    return socket.create_connection((str(addresses[-1]), port), timeout=clock.compute_left())


def read_location(url: str, location: str) -> str:
    """Read where an address redirects to; where that may be is not looked at.

    Raises:
        RowError: `remote.failed`: nowhere; `remote.address`: it is no address.
    """
    if not location:
        raise RowError("remote.failed", "", f"the server redirects to nowhere {show(url)}.")
    # Headers are read as Latin-1 or, by other libraries, with surrogates; addresses in them are UTF-8.
    with contextlib.suppress(UnicodeError):
        location = location.encode("latin-1").decode()
    try:
        return urljoin(url, location)
    except ValueError as error:
        raise url_safety.build_refusal(location, str(error)) from None


def _build_body(answer: "http.client.HTTPResponse", url: str, limits: Limits, resume: Resume | None) -> Body:
    tag = answer.getheader("ETag")
    validator = tag if tag and tag.startswith('"') else None
    start, size = 0, answer.length
    if resume is not None and answer.status in (_PARTIAL, _BEHIND_END):
        said = answer.getheader("Content-Range") or ""
        if answer.status == _BEHIND_END and said == f"bytes */{resume.start}":
            return Body(iter(()), resume.start, resume.start, resume.validator)
        found = _CONTENT_RANGE.fullmatch(said)
        if found is None or int(found["start"]) != resume.start:
            raise OtherPartError("remote.failed", "", f"the server sends another part than requested {show(url)}.")
        start, size = resume.start, int(found["size"]) if found["size"].isdigit() else None
    elif answer.status != _WHOLE:
        raise RowError("remote.failed", "", f"the server answers {answer.status} {answer.reason} {show(url)}.")
    return Body(_read_body(answer, url, limits, start), start, size, validator)


def _read_body(answer: "http.client.HTTPResponse", url: str, limits: Limits, start: int) -> Iterator[bytes]:
    count = start
    with _explain_network_errors(url, limits):
        while True:
            # `length` is what the server says is left; what comes without one is counted.
            if count + (answer.length or 0) > limits.bytes:
                raise RowError("remote.too_large", "", f"the answer has more than {limits.bytes:,} bytes {show(url)}.")
            chunk = answer.read(CHUNK)
            if not chunk:
                break
            count += len(chunk)
            yield chunk
    if answer.length:
        raise RowError("remote.failed", "", f"the answer ends {answer.length:,} bytes early {show(url)}. Try again.")


class _Timed:
    """A connected socket as http.client uses one, with one clock for all that is read from it.

    A socket's own timeout begins again with every piece, so that a byte a second would never end.
    """

    def __init__(self, channel: socket.socket, clock: _Clock) -> None:
        self._channel = channel
        self._clock = clock

    def sendall(self, data: bytes) -> None:
        self._channel.settimeout(self._clock.compute_left())
        self._channel.sendall(data)

    def receive(self, buffer: memoryview) -> int:
        self._channel.settimeout(self._clock.compute_left())
        return self._channel.recv_into(buffer)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self))

    def close(self) -> None:
        """Leave the socket to its owner: http.client closes its end before the body is read."""


class _Reader(io.RawIOBase):
    def __init__(self, source: _Timed) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._source.receive(memoryview(buffer))
