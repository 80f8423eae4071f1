"""Many addresses at once: in order of asking, sparing hosts, tried again, kept for the next run, bounded in memory."""

import contextlib
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from mmconvert.core import retries
from mmconvert.core.errors import RowError
from mmconvert.core.retries import RetryPolicy
from mmconvert.storage import fetcher as module
from mmconvert.storage.fetcher import Fetcher
from mmconvert.storage.http import Limits
from support.web_server import Handler, reply, web_server

LIMITS = Limits(seconds=5)


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRIES", RetryPolicy(3, 0.01, 30.0))


@contextlib.contextmanager
def at_loopback(limits: Limits = LIMITS, **how: object) -> Iterator[Fetcher]:
    fetcher = Fetcher(limits, **{"resolve": lambda host, port: ["127.0.0.1"], "allowed": lambda address: True, **how})
    try:
        yield fetcher
    finally:
        fetcher.close()


class Crowd:
    """Answers slowly, and counts how many it answers at once."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self._lock = threading.Lock()

    def __call__(self, channel: socket.socket, head: bytes) -> None:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(0.05)
        with self._lock:
            self.now -= 1
        reply(head.split()[1])(channel, head)


def fetch_all(fetcher: Fetcher, urls: list[str]) -> list[bytes]:
    for url in urls:
        fetcher.ask(url)
    found = [fetcher.fetch(url) for url in urls]
    for url in urls:
        fetcher.release(url)
    return found


@pytest.mark.parametrize(
    ("how", "most"),
    [({"per_host": 3}, 3), ({"at_once": 2}, 2), ({"per_host": 3, "hosts": ["a.example:PORT"], "at_once": 9}, 9)],
)
def test_a_host_is_asked_for_a_few_at_once_and_one_that_was_named_for_more(how: dict, most: int) -> None:
    crowd = Crowd()
    with web_server({f"/{n}": crowd for n in range(30)}) as server:
        hosts = [host.replace("PORT", str(server.port)) for host in how.get("hosts", [])]
        with at_loopback(**{**how, "hosts": hosts}) as fetcher:
            found = fetch_all(fetcher, [f"http://a.example:{server.port}/{n}" for n in range(30)])
    assert found == [b"/%d" % n for n in range(30)]
    assert crowd.most == most


def test_a_slow_host_keeps_no_other_waiting() -> None:
    let_go = threading.Event()

    def wait(channel: socket.socket, head: bytes) -> None:
        let_go.wait(5)
        reply(b"slow")(channel, head)

    with web_server({"/slow": wait, "/fast": reply(b"fast")}) as server, at_loopback(per_host=1) as fetcher:
        for number in range(5):
            fetcher.ask(f"http://slow.example:{server.port}/slow?{number}")
        assert fetcher.fetch(f"http://fast.example:{server.port}/fast") == b"fast"
        let_go.set()


def test_what_several_rows_want_is_fetched_once_while_one_of_them_holds_it() -> None:
    with web_server({"/x": reply(b"x")}) as server, at_loopback() as fetcher:
        url = f"http://a.example:{server.port}/x"
        assert fetch_all(fetcher, [url, url, url]) == [b"x"] * 3
        assert len(server.requests) == 1
        assert fetcher.fetch(url) == b"x"
        assert len(server.requests) == 2


def test_connections_are_kept() -> None:
    connections = Counter[int]()

    def serve(channel: socket.socket, head: bytes) -> None:
        while head:
            connections[id(channel)] += 1
            reply(b"x")(channel, head)
            head = channel.recv(65536)

    with web_server({f"/{n}": serve for n in range(20)}) as server, at_loopback(per_host=2) as fetcher:
        fetch_all(fetcher, [f"http://a.example:{server.port}/{n}" for n in range(20)])
    assert sum(connections.values()) == 20
    assert len(connections) <= 2


def failing(times: int, handler: Handler, status: str = "503 Busy", *headers: str) -> Handler:
    left = [times]

    def answer(channel: socket.socket, head: bytes) -> None:
        left[0] -= 1
        (reply(b"", status, *headers) if left[0] >= 0 else handler)(channel, head)

    return answer


@pytest.mark.parametrize(
    ("answer", "requests", "found"),
    [
        (failing(2, reply(b"x")), 3, b"x"),
        (failing(1, reply(b"x"), "429 Too Many", "Retry-After: 0"), 2, b"x"),
        (failing(1, reply(b"x"), "503 Busy", "Retry-After: 99999999999999999999"), 2, b"x"),
        (failing(3, reply(b"x")), 3, "remote.failed"),
        (failing(1, reply(b"x"), "404 Not Found"), 1, "remote.failed"),
        (failing(1, reply(b"x"), "403 Forbidden"), 1, "remote.failed"),
    ],
)
def test_what_may_pass_is_tried_again_and_nothing_else(answer: Handler, requests: int, found: bytes | str) -> None:
    with web_server({"/x": answer}) as server, at_loopback() as fetcher:
        try:
            got: bytes | str = fetcher.fetch(f"http://a.example:{server.port}/x")
        except RowError as error:
            got = error.code
    assert (got, len(server.requests)) == (found, requests)


def test_a_connection_that_was_cut_is_tried_again() -> None:
    cut = iter([reply(b"cu", length=10), reply(b"whole")])
    with web_server({"/x": lambda channel, head: next(cut)(channel, head)}) as server, at_loopback() as fetcher:
        assert fetcher.fetch(f"http://a.example:{server.port}/x") == b"whole"


def test_a_dead_host_is_soon_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRIES", RetryPolicy(3, 30.0))
    monkeypatch.setattr(retries, "LONGEST_WAIT", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    urls = [f"http://a.example:{port}/{number}" for number in range(50)]
    started = time.monotonic()
    with at_loopback() as fetcher:
        for url in urls:
            fetcher.ask(url)
        for url in urls:
            with pytest.raises(RowError, match="Connection refused"):
                fetcher.fetch(url)
    assert time.monotonic() - started < 20


def test_what_was_fetched_is_kept_for_the_next_run(tmp_path: Path) -> None:
    answers = {"/good": reply(b"x" * 100), "/bad": reply(b"", "404 Not Found")}
    with web_server(answers) as server:
        good, bad = (f"http://a.example:{server.port}/{name}" for name in ("good", "bad"))
        for run in (1, 2):
            with at_loopback(folder=tmp_path) as fetcher:
                assert fetcher.fetch(good) == b"x" * 100
                with pytest.raises(RowError, match="404"):
                    fetcher.fetch(bad)
            assert len(server.requests) == 1 + run
        with at_loopback(Limits(bytes=99, seconds=5), folder=tmp_path) as fetcher, pytest.raises(RowError) as error:
            fetcher.fetch(good)
        assert error.value.code == "remote.too_large"
    assert len([*tmp_path.iterdir()]) == 1


def test_a_folder_that_takes_nothing_stops_no_run(tmp_path: Path) -> None:
    with web_server({"/x": reply(b"x")}) as server, at_loopback(folder=tmp_path / "gone") as fetcher:
        assert fetcher.fetch(f"http://a.example:{server.port}/x") == b"x"


def test_no_more_is_held_than_memory_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_HELD", 2 << 20)
    bodies = [bytes([number]) * (1 << 20) for number in range(40)]
    limits = Limits(seconds=1)
    with web_server({f"/{n}": reply(body) for n, body in enumerate(bodies)}) as server, at_loopback(limits) as fetcher:
        urls = [f"http://{n}.example:{server.port}/{n}" for n in range(40)]
        for url in urls:
            fetcher.ask(url)
        time.sleep(1.5)  # waiting for whoever takes them is no silence of the server
        assert fetcher._held < 2 * module.MOST_HELD + 40 * module.CHUNK
        for url, body in zip(urls, bodies, strict=True):
            assert fetcher.fetch(url) == body
            fetcher.release(url)
    assert len(server.requests) == 40


def test_what_is_let_go_is_counted_once() -> None:
    with web_server({f"/{n}": reply(b"x" * 1000) for n in range(30)}) as server, at_loopback() as fetcher:
        for number in range(30):
            assert len(fetcher.fetch(f"http://a.example:{server.port}/{number}")) == 1000
        time.sleep(0.1)
        assert fetcher._held == 0


def test_closing_ends_what_is_under_way_and_leaves_nobody_waiting() -> None:
    with web_server({"/x": lambda channel, _: time.sleep(3)}) as server:
        with at_loopback() as fetcher:
            url = f"http://a.example:{server.port}/x"
            fetcher.ask(url)
            order = fetcher._orders[url]
            time.sleep(0.1)
            started = time.monotonic()
        assert time.monotonic() - started < 2
        assert isinstance(order.result.exception(), RowError)
    assert not [thread for thread in threading.enumerate() if thread.name == "mmconvert-fetcher"]


@pytest.mark.parametrize(
    ("path", "code"), [("/silent", "remote.timeout"), ("/round", "remote.address"), ("/none", "remote.failed")]
)
def test_an_address_that_gives_no_file_is_an_error_of_no_field(path: str, code: str) -> None:
    answers = {"/silent": lambda channel, _: time.sleep(1), "/round": reply(b"", "302 Found", "Location: /round")}
    with (
        web_server(answers) as server,
        at_loopback(Limits(seconds=0.3)) as fetcher,
        pytest.raises(RowError) as refused,
    ):
        fetcher.fetch(f"http://a.example:{server.port}{path}")
    assert (refused.value.code, refused.value.field) == (code, "")
