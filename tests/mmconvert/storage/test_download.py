"""A large file is fetched once, checked, and gone on with where a download breaks off; loopback only."""

import hashlib
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from mmconvert.core.errors import Error
from mmconvert.core.progress import Done
from mmconvert.storage.download import download_file
from mmconvert.storage.http import open_url
from support.web_server import Handler, WebServer, raw, reply, web_server

DATA = bytes(range(256)) * 1000
SUMS = {"md5": hashlib.md5(DATA).hexdigest()}
TAG = '"one"'

Download = Callable[..., Path]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "tables/a.tsv"


@pytest.fixture
def answers() -> dict[str, Handler]:
    return {}


@pytest.fixture
def server(answers: dict[str, Handler]) -> Iterator[WebServer]:
    with web_server(answers) as running:
        yield running


@pytest.fixture
def download(server: WebServer, place: Path) -> Download:
    def fetch(sums: dict[str, str] | None = None, **more: object) -> Path:
        opened = partial(open_url, allowed=lambda address: True)
        download_file(f"http://127.0.0.1:{server.port}/a.tsv", place, sums or {}, open_url=opened, **more)
        return place

    return fetch


def serve(data: bytes = DATA, *, tag: str | None = TAG, breaks: list[int] | None = None) -> Handler:
    """Answer as a server that knows ranges; `breaks`: after how many bytes each answer ends, then none does."""
    left = list(breaks or [])

    def answer(channel: socket.socket, head: bytes) -> None:
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:] if ": " in line)
        named = [f"ETag: {tag}"] if tag else []
        start = int(fields["Range"].removeprefix("bytes=").rstrip("-")) if "Range" in fields else 0
        if start and fields.get("If-Range", tag) != tag:
            start = 0
        if start >= len(data):
            reply(b"", "416 Range Not Satisfiable", f"Content-Range: bytes */{len(data)}")(channel, head)
            return
        rest = data[start:]
        status = "206 Partial Content" if start else "200 OK"
        ranges = [f"Content-Range: bytes {start}-{len(data) - 1}/{len(data)}"] if start else []
        sent = rest[: left.pop(0)] if left else rest
        reply(sent, status, *named, *ranges, length=len(rest))(channel, head)

    return answer


def list_starts(server: WebServer) -> list[str]:
    found = [[line for line in head.decode().split("\r\n") if line.startswith("Range")] for head in server.requests]
    return [lines[0].removeprefix("Range: ") if lines else "" for lines in found]


def list_names(place: Path) -> list[str]:
    return sorted(path.name for path in place.parent.iterdir())


def test_a_file_is_fetched_once(download: Download, server: WebServer, answers: dict[str, Handler]) -> None:
    answers["/a.tsv"] = serve()
    done: list[Done] = []
    for _ in range(2):
        assert download(SUMS, advance=done.append).read_bytes() == DATA
    assert len(server.requests) == 1
    assert list_names(download(SUMS)) == ["a.tsv"]
    assert done[-1] == Done(bytes=len(DATA), share=1.0)


def test_what_is_there_needs_no_rights_to_write(
    download: Download, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.parent.mkdir()
    place.write_bytes(DATA)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the folder may only be read")

    monkeypatch.setattr("mmconvert.storage.download.occupied", refuse)
    assert download(SUMS).read_bytes() == DATA


@pytest.mark.parametrize("sums", [SUMS, {}])
def test_what_breaks_off_is_gone_on_with(
    sums: dict[str, str], download: Download, server: WebServer, answers: dict[str, Handler]
) -> None:
    answers["/a.tsv"] = serve(breaks=[1000, 5000])
    assert download(sums).read_bytes() == DATA
    assert list_starts(server) == ["", "bytes=1000-", "bytes=6000-"]


def test_a_later_run_goes_on(download: Download, server: WebServer, answers: dict[str, Handler], place: Path) -> None:
    answers["/a.tsv"] = serve(breaks=[1000, 0])
    with pytest.raises(Error, match=r"a\.tsv\.part: run again to continue"):
        download(SUMS)
    assert list_names(place) == ["a.tsv.part", "a.tsv.part.json"]
    assert download(SUMS).read_bytes() == DATA
    assert list_starts(server) == ["", "bytes=1000-", "bytes=1000-"]
    assert list_names(place) == ["a.tsv"]


def test_a_file_that_changed_meanwhile_is_fetched_whole(download: Download, answers: dict[str, Handler]) -> None:
    answers["/a.tsv"] = serve(b"old" * 1000, tag='"old"', breaks=[100, 0])
    with pytest.raises(Error):
        download()
    answers["/a.tsv"] = serve()
    assert download().read_bytes() == DATA


def test_without_a_tag_the_sum_tells_a_file_that_changed(
    download: Download, server: WebServer, answers: dict[str, Handler]
) -> None:
    answers["/a.tsv"] = serve(b"old" * 1000, tag=None, breaks=[100, 0])
    with pytest.raises(Error):
        download(SUMS)
    answers["/a.tsv"] = serve(tag=None)
    assert download(SUMS).read_bytes() == DATA
    assert list_starts(server)[2:] == ["bytes=100-", ""]


def test_without_tag_and_sum_nothing_is_gone_on_with(
    download: Download, server: WebServer, answers: dict[str, Handler]
) -> None:
    answers["/a.tsv"] = serve(tag=None, breaks=[100, 0])
    with pytest.raises(Error):
        download()
    assert download().read_bytes() == DATA
    assert list_starts(server) == ["", "", ""]


def test_a_server_without_ranges_sends_the_whole_file(download: Download, answers: dict[str, Handler]) -> None:
    answers["/a.tsv"] = serve(breaks=[1000, 0])
    with pytest.raises(Error):
        download(SUMS)
    answers["/a.tsv"] = reply(DATA)
    assert download(SUMS).read_bytes() == DATA


def test_a_part_that_is_the_whole_file_is_not_fetched_again(
    download: Download, server: WebServer, answers: dict[str, Handler], place: Path
) -> None:
    answers["/a.tsv"] = serve(breaks=[1000, 0])
    with pytest.raises(Error):
        download()
    place.with_name("a.tsv.part").write_bytes(DATA)
    assert download().read_bytes() == DATA
    assert list_starts(server)[2:] == [f"bytes={len(DATA)}-"]


@pytest.mark.parametrize("said", ["bytes 5-9/10", "", "bytes */3"])
def test_another_part_than_was_asked_for_is_not_taken(
    said: str, download: Download, server: WebServer, answers: dict[str, Handler]
) -> None:
    whole, asked = serve(breaks=[1000, 0]), []

    def answer(channel: socket.socket, head: bytes) -> None:
        asked.append(head)
        wrong = raw(f"HTTP/1.1 206 Partial Content\r\nContent-Length: 1\r\nContent-Range: {said}\r\n\r\nx".encode())
        (wrong if len(asked) == 3 else whole)(channel, head)

    answers["/a.tsv"] = answer
    with pytest.raises(Error):
        download(SUMS)
    assert download(SUMS).read_bytes() == DATA
    assert list_starts(server)[2:] == ["bytes=1000-", ""]


def test_a_wrong_sum_keeps_nothing_of_what_came(download: Download, answers: dict[str, Handler], place: Path) -> None:
    answers["/a.tsv"] = serve()
    with pytest.raises(Error, match=f"{SUMS['md5']}, expected md5 0000"):
        download({"md5": "0" * 32})
    assert list_names(place) == []
    place.write_bytes(b"old")
    with pytest.raises(Error, match="Nothing was replaced"):
        download({"md5": "0" * 32})
    assert (place.read_bytes(), list_names(place)) == (b"old", ["a.tsv"])


def test_an_answer_that_is_no_file_says_where_to_put_one(download: Download, place: Path) -> None:
    with pytest.raises(Error, match=rf"404.*put it there: {place}"):
        download(SUMS)
    assert list_names(place) == []


def test_an_answer_that_is_no_file_leaves_what_has_arrived(
    download: Download, answers: dict[str, Handler], place: Path
) -> None:
    answers["/a.tsv"] = serve(breaks=[1000, 0])
    with pytest.raises(Error):
        download(SUMS)
    answers["/a.tsv"] = reply(b"later", "503 Service Unavailable")
    with pytest.raises(Error, match="503"):
        download(SUMS)
    assert place.with_name("a.tsv.part").read_bytes() == DATA[:1000]


@pytest.mark.slow
def test_processes_that_need_the_same_file_fetch_it_once(
    server: WebServer, answers: dict[str, Handler], place: Path
) -> None:
    def answer(channel: socket.socket, head: bytes) -> None:
        time.sleep(0.5)
        serve()(channel, head)

    answers["/a.tsv"] = answer
    code = (
        "import sys; from functools import partial; from pathlib import Path\n"
        "from mmconvert.storage.download import download_file; from mmconvert.storage.http import open_url\n"
        "download_file(sys.argv[1], Path(sys.argv[2]), {}, open_url=partial(open_url, allowed=lambda address: True))"
    )
    command = [sys.executable, "-c", code, f"http://127.0.0.1:{server.port}/a.tsv", str(place)]
    running = [subprocess.Popen(command) for _ in range(3)]
    assert [one.wait(60) for one in running] == [0, 0, 0]
    assert (place.read_bytes(), len(server.requests)) == (DATA, 1)
