"""The exchange with a server that lies, stalls, redirects inside or sends too much; loopback only."""

import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mmconvert.core.errors import RowError
from mmconvert.core.retries import RetryPolicy
from mmconvert.storage import fetcher, http
from mmconvert.storage.fetcher import Fetcher
from mmconvert.storage.http import Limits, open_url
from mmconvert.storage.url_safety import is_public
from support.web_server import Handler, raw, redirect, reply, web_server

LOOPBACK = "127.0.0.1"
Fetch = Callable[..., bytes]
ErrorOf = Callable[..., RowError]


def only_loopback(address: object) -> bool:
    return str(address) == LOOPBACK


def at_loopback(host: str, port: int) -> list[str]:
    return [LOOPBACK]


def fetch_with_many(url: str, limits: Limits, **how: object) -> bytes:
    """Fetch one address as those of many images are fetched."""
    many = Fetcher(limits, **how)
    try:
        return many.fetch(url)
    finally:
        many.close()


@pytest.fixture(params=[http.fetch, fetch_with_many], ids=["one", "many"])
def fetch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Fetch:
    monkeypatch.setattr(fetcher, "RETRIES", RetryPolicy(3, 0.01))

    def fetch_at_loopback(url: str, limits: Limits | None = None, **how: object) -> bytes:
        return request.param(
            url, limits or Limits(seconds=5), **{"resolve": at_loopback, "allowed": only_loopback, **how}
        )

    return fetch_at_loopback


@pytest.fixture
def error_of(fetch: Fetch) -> ErrorOf:
    def catch(url: str, limits: Limits | None = None, **how: object) -> RowError:
        with pytest.raises(RowError) as caught:
            fetch(url, limits, **how)
        return caught.value

    return catch


@pytest.mark.parametrize(
    "answer",
    [
        reply(b"hello"),
        raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"),
        raw(b"HTTP/1.0 200 OK\r\n\r\nhello"),
    ],
    ids=["length", "chunks", "until closed"],
)
def test_a_body_comes_whole_however_it_is_framed(answer: Handler, fetch: Fetch) -> None:
    with web_server({"/a%20b.png?x=1": answer}) as server:
        assert fetch(f"http://images.example:{server.port}/a b.png?x=1#y") == b"hello"
    head = server.requests[0].decode().split("\r\n")
    assert head[0] == "GET /a%20b.png?x=1 HTTP/1.1"
    assert f"Host: images.example:{server.port}" in head
    assert any(line.startswith("User-Agent: mmconvert/") for line in head)
    assert [line for line in head if line.lower().startswith("accept-encoding")] == ["Accept-Encoding: identity"]


def test_by_default_loopback_is_refused_and_nothing_connects(error_of: ErrorOf) -> None:
    with web_server({"/x": reply(b"inside")}) as server:
        for url in (
            f"http://127.0.0.1:{server.port}/x",
            f"http://[::1]:{server.port}/x",
            f"http://127.1:{server.port}/x",
        ):
            assert error_of(url, allowed=is_public).code == "remote.address"
        assert error_of(f"http://rebound.example:{server.port}/x", allowed=is_public).code == "remote.address"
    assert server.requests == []


def test_a_second_answer_of_the_name_server_changes_nothing(error_of: ErrorOf) -> None:
    # 127.0.0.2 plays the public address, behind which nobody listens; the server is what must not be reached.
    answers = iter([["127.0.0.2"], [LOOPBACK]])
    with web_server({"/x": reply(b"inside")}) as server:
        error = error_of(
            f"http://rebound.example:{server.port}/x",
            resolve=lambda host, port: next(answers),
            allowed=lambda address: str(address) == "127.0.0.2",
        )
    assert (error.code, "refused" in error.message) == ("remote.failed", True)
    assert server.requests == []
    assert next(answers) == [LOOPBACK], "the name was looked up twice"


def test_redirects_are_followed_three_times_at_most(fetch: Fetch, error_of: ErrorOf) -> None:
    hops = {f"/{n}": redirect(f"/{n + 1}", status) for n, status in enumerate(["301 M", "302 F", "303 S", "307 T"])}
    with web_server({**hops, "/4": reply(b"end")}) as server:
        assert fetch(f"http://a.example:{server.port}/1") == b"end"
        error = error_of(f"http://a.example:{server.port}/0")
        assert (error.code, "3 redirects" in error.message) == ("remote.address", True)
    assert len(server.requests) == 4 + 4


@pytest.mark.parametrize(
    "target",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://[::ffff:169.254.169.254]/",
        "http://2852039166/",
        "//metadata.internal.example/",
        "https://metadata.internal.example/",
        "file:///etc/passwd",
        "http://user@pictures.example/",
        "ftp://pictures.example/",
        "http:\\\\169.254.169.254/",
        "http://[",
    ],
)
def test_a_redirect_is_checked_like_the_first_address(target: str, error_of: ErrorOf) -> None:
    def resolve(host: str, port: int) -> list[str]:
        return ["169.254.169.254"] if "metadata" in host else [LOOPBACK]

    with web_server({"/x": redirect(target)}) as server:
        error = error_of(f"http://pictures.example:{server.port}/x", resolve=resolve)
    assert error.code == "remote.address"
    assert len(server.requests) == 1


def test_a_redirect_to_nowhere_is_a_failure(error_of: ErrorOf) -> None:
    with web_server({"/x": reply(b"", "302 Found")}) as server:
        assert error_of(f"http://a.example:{server.port}/x").code == "remote.failed"


@pytest.mark.parametrize(
    "answer",
    [
        reply(b"x" * 1001),
        reply(b"", length=1 << 40),
        raw(b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * 1001),
        raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + b"x" * 1001 + b"\r\n0\r\n\r\n"),
    ],
    ids=["sent", "announced", "until closed", "chunks"],
)
def test_too_many_bytes_are_refused(answer: Handler, error_of: ErrorOf) -> None:
    with web_server({"/x": answer}) as server:
        assert error_of(f"http://a.example:{server.port}/x", Limits(bytes=1000, seconds=5)).code == "remote.too_large"


def test_as_many_bytes_as_allowed_are_taken(fetch: Fetch) -> None:
    with web_server({"/x": reply(b"x" * 1000), "/y": raw(b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * 1000)}) as server:
        for path in "xy":
            assert len(fetch(f"http://a.example:{server.port}/{path}", Limits(bytes=1000, seconds=5))) == 1000


def drip(channel: socket.socket, _: bytes) -> None:
    channel.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(100):
        channel.sendall(b"x")
        time.sleep(0.05)


def drip_head(channel: socket.socket, _: bytes) -> None:
    for letter in b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100:
        channel.sendall(bytes([letter]))
        time.sleep(0.05)


@pytest.mark.parametrize("slow", [drip, drip_head, lambda channel, _: time.sleep(3)], ids=["body", "head", "silence"])
def test_a_slow_answer_ends_at_the_limit_whatever_its_pace(slow: Handler, error_of: ErrorOf) -> None:
    with web_server({"/x": slow}) as server:
        started = time.monotonic()
        assert error_of(f"http://a.example:{server.port}/x", Limits(seconds=0.4)).code == "remote.timeout"
        assert time.monotonic() - started < 1.5


def test_a_silent_server_ends_a_long_fetch(error_of: ErrorOf) -> None:
    with web_server({"/x": lambda channel, _: time.sleep(3)}) as server:
        started = time.monotonic()
        error = error_of(f"http://a.example:{server.port}/x", Limits(seconds=3600, silence=0.3))
        assert (error.code, time.monotonic() - started < 1.5) == ("remote.timeout", True)


def test_a_path_that_begins_with_two_slashes_stays_a_path(fetch: Fetch) -> None:
    with web_server({"//inside.example/x": reply(b"hello")}) as server:
        assert fetch(f"http://a.example:{server.port}//inside.example/x") == b"hello"


@pytest.mark.parametrize(
    "answer",
    [
        reply(b"no", "404 Not Found"),
        reply(b"later", "503 Busy"),
        reply(b"", "204 No Content"),
        reply(b"cut", length=10),
        raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe"),
        raw(b"SSH-2.0-OpenSSH_9.6\r\n"),
        raw(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n"),
        raw(b""),
    ],
)
def test_what_is_no_whole_answer_is_a_failure(answer: Handler, error_of: ErrorOf) -> None:
    with web_server({"/x": answer}) as server:
        assert error_of(f"http://a.example:{server.port}/x").code == "remote.failed"


def test_a_refused_connection_is_a_failure(error_of: ErrorOf) -> None:
    with socket.create_server((LOOPBACK, 0)) as closed:
        port = closed.getsockname()[1]
    error = error_of(f"http://a.example:{port}/x")
    assert (error.code, "refused" in error.message) == ("remote.failed", True)


def test_the_next_address_of_a_host_is_tried(fetch: Fetch) -> None:
    with web_server({"/x": reply(b"second")}) as server:
        found = fetch(
            f"http://a.example:{server.port}/x",
            Limits(seconds=5),
            resolve=lambda host, port: ["127.0.0.2", LOOPBACK],
            allowed=lambda address: True,
        )
    assert found == b"second"


def test_an_error_of_the_caller_is_not_the_networks() -> None:
    with (
        web_server({"/x": reply(b"hello")}) as server,
        pytest.raises(OSError, match="disk full"),
        open_url(f"http://a.example:{server.port}/x", Limits(), resolve=at_loopback, allowed=only_loopback),
    ):
        raise OSError("disk full")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("certificate")
    options = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=test"]
    names = ["-addext", "subjectAltName=DNS:pictures.example"]
    made = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem")]
    subprocess.run(["openssl", "req", "-x509", *options, *names, *made], check=True, capture_output=True)
    return folder


def test_https_names_the_host_and_trusts_known_certificates_only(
    certificate: Path, fetch: Fetch, error_of: ErrorOf
) -> None:
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(certificate / "certificate.pem", certificate / "key.pem")
    named = []
    server_side.sni_callback = lambda channel, name, context: named.append(name)
    trusting = ssl.create_default_context(cafile=str(certificate / "certificate.pem"))
    with web_server({"/x": reply(b"safe")}, server_side) as server:
        assert fetch(f"https://pictures.example:{server.port}/x", Limits(seconds=5), trust=trusting) == b"safe"
        other = error_of(f"https://other.example:{server.port}/x", trust=trusting)
        unknown = error_of(f"https://pictures.example:{server.port}/x")
    assert named == ["pictures.example", "other.example", "pictures.example"]
    assert {other.code, unknown.code} == {"remote.failed"}
    assert "certificate" in other.message.lower()
    assert "certificate" in unknown.message.lower()
