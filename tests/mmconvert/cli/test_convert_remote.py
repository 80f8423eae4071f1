"""Nothing touches the network unless --allow-remote is given, and then nothing but public hosts."""

import hashlib
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import datasets
import pytest
from click.testing import CliRunner, Result

from mmconvert.cli import program
from mmconvert.core.errors import Error, UsageError
from mmconvert.pipeline.convert import read
from mmconvert.storage import http
from mmconvert.storage.fetch_cache import FetchCache
from mmconvert.storage.fetcher import AT_ONCE, Fetcher
from mmconvert.storage.http import Limits
from support.records import image_bytes
from support.terminal import mmconvert
from support.web_server import Handler, WebServer, redirect, reply, web_server

WATCHED = """
import os
import sys

def watch(event, arguments):
    if event.startswith("socket.") and event not in ("socket.__new__", "socket.gethostname"):
        print("NETWORK", event, arguments, file=sys.stderr)
        sys.stderr.flush()
        os._exit(99)

sys.addaudithook(watch)
from mmconvert.cli import main
main()
"""


def rows(folder: Path, *urls: str) -> Path:
    file = folder / "rows.jsonl"
    lines = [
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}], "answer": "x"}
        for url in urls
    ]
    text = {"messages": [{"role": "user", "content": "2 + 2?"}], "answer": "4"}
    file.write_text("".join(json.dumps(line) + "\n" for line in [text, *lines]))
    return file


def convert(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WATCHED, "convert", *map(str, arguments), "--json"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.mark.slow
def test_nothing_is_fetched_by_default(tmp_path: Path) -> None:
    with web_server({}) as server:
        file = rows(tmp_path, f"http://127.0.0.1:{server.port}/x.png", "https://localhost/x.png", "//localhost/x.png")
        done = convert(file, "-o", tmp_path / "out")
        kept = convert(file, "-o", tmp_path / "kept", "--keep-urls")
        table = convert(f"https://127.0.0.1:{server.port}/T.tsv", "-o", tmp_path / "table")
    assert (done.returncode, json.loads(done.stdout)["rows_rejected"]) == (3, 3), done.stderr
    assert (kept.returncode, json.loads(kept.stdout)["rows_rejected"]) == (3, 1), kept.stderr
    shown = datasets.load_dataset(str(tmp_path / "kept"), cache_dir=str(tmp_path / "cache"), split="test")
    assert [row["images"] for row in shown] == [[], [None], [None]]
    assert [len(record.images) for record in read(tmp_path / "kept")] == [0, 1, 1]
    assert (table.returncode, "--allow-remote" in table.stderr) == (2, True), table.stderr
    codes = [json.loads(line)["code"] for line in (tmp_path / "out.rejects.jsonl").read_text().splitlines()]
    assert codes == ["image.remote", "image.remote", "image.path"]
    assert server.requests == []


def test_the_watch_would_see_a_connection(tmp_path: Path) -> None:
    done = convert(rows(tmp_path, "http://localhost:9/x.png"), "-o", tmp_path / "out", "--allow-remote")
    assert (done.returncode, "NETWORK socket.getaddrinfo" in done.stderr) == (99, True)


def test_hosts_inside_are_refused_even_when_asked_for(tmp_path: Path) -> None:
    with web_server({"/x.png": reply(image_bytes("PNG"))}) as server:
        urls = [f"http://{host}:{server.port}/x.png" for host in ("127.0.0.1", "[::ffff:127.0.0.1]", "2130706433")]
        done = convert(rows(tmp_path, *urls), "-o", tmp_path / "out", "--allow-remote", "--workers", 1)
    assert (done.returncode, json.loads(done.stdout)["rows_rejected"]) == (3, 3), done.stderr
    codes = {json.loads(line)["code"] for line in (tmp_path / "out.rejects.jsonl").read_text().splitlines()}
    assert (codes, server.requests) == ({"remote.address"}, [])


def test_a_host_that_is_named_may_be_inside_and_no_other(tmp_path: Path) -> None:
    away = "http://[::1]/x.png"
    with web_server({"/x.png": reply(image_bytes("PNG")), "/to": redirect(away)}) as server:
        inside, other = (f"http://{host}:{server.port}" for host in ("127.0.0.1", "localhost"))
        urls = (
            f"{inside}/x.png",
            f"{other}/x.png",
            f"{inside}/to",
            "http://127.0.0.1:1/x.png",
            "http://168.63.129.16/",
        )
        options = ("--allow-remote", "--allow-host", f"127.0.0.1:{server.port}", "--workers", 1, "--json")
        done = mmconvert("convert", rows(tmp_path, *urls), "-o", tmp_path / "out", *options)
    assert (done.code, json.loads(done.out)["images"]) == (3, 1), done.err
    codes = [json.loads(line)["code"] for line in (tmp_path / "out.rejects.jsonl").read_text().splitlines()]
    assert codes == ["remote.address"] * 4


def test_kept_addresses_are_told_with_what_to_do(tmp_path: Path) -> None:
    file = rows(tmp_path, "https://a.example/1.png", "https://a.example/2.png")
    done = mmconvert("convert", file, "-o", tmp_path / "out", "--keep-urls")
    (line,) = [line for line in (done.out + done.err).splitlines() if "load_dataset gives None" in line]
    assert "(2 times)" in line
    assert "--allow-remote" in line


def test_images_are_fetched_checked_and_keep_their_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[Limits] = []

    def open_at_loopback(limit: Limits, **how: object) -> Fetcher:
        limits.append(limit)
        return Fetcher(limit, **how, resolve=lambda host, port: ["127.0.0.1"], allowed=lambda address: True)

    monkeypatch.setattr("mmconvert.pipeline.read.Fetcher", open_at_loopback)
    with web_server({"/x.png": reply(image_bytes("PNG")), "/page": reply(b"<html>")}) as server:
        host = f"http://pictures.example:{server.port}"
        file = rows(tmp_path, f"{host}/x.png", f"{host}/page", f"{host}/gone.png")
        options = ["--allow-remote", "--max-image-mb", "1", "--workers", "1", "--json"]
        done = CliRunner().invoke(program, ["convert", str(file), "-o", str(tmp_path / "out"), *options])
        CliRunner().invoke(program, ["convert", str(file), "-o", str(tmp_path / "kept"), "--keep-urls"])
        later = ["convert", str(tmp_path / "kept"), "-o", str(tmp_path / "later"), *options]
        assert json.loads(CliRunner().invoke(program, later).stdout)["images"] == 1
    assert [row.id for row in read(tmp_path / "later")] == [row.id for row in read(tmp_path / "out")]
    summary = json.loads(done.stdout)
    assert (summary["rows_written"], summary["images"]) == (2, 1)
    rejects = [json.loads(line) for line in (tmp_path / "out.rejects.jsonl").read_text().splitlines()]
    assert [reject["code"] for reject in rejects] == ["image.format", "remote.failed"]
    assert {limit.bytes for limit in limits} == {1 << 20}
    (image,) = [image for record in read(tmp_path / "out") for image in record.images]
    assert (image.bytes, image.url) == (image_bytes("PNG"), f"{host}/x.png")


@pytest.mark.parametrize(
    "options",
    [
        ["--keep-urls", "--allow-remote"],
        ["--md5", "0" * 32],
        ["--allow-host", "images.internal"],
        ["--allow-remote", "--allow-host", "images.internal/x"],
        ["--allow-remote", "--allow-host", "user@images.internal"],
        ["--allow-remote", "--allow-host", "images.internal:0"],
        ["--sha256", "0" * 64, "--allow-remote"],
    ],
)
def test_options_that_cannot_be_honoured_are_refused(tmp_path: Path, options: list[str]) -> None:
    file = rows(tmp_path)
    done = mmconvert("convert", file, "-o", tmp_path / "out", *options)
    assert (done.code, (tmp_path / "out").exists()) == (2, False)


def test_an_address_that_names_no_table_is_a_mistake_of_usage(tmp_path: Path) -> None:
    arguments = ["convert", "https://tables.example/page.html", "-o", str(tmp_path / "out"), "--allow-remote"]
    done = CliRunner().invoke(program, arguments, standalone_mode=False)
    assert isinstance(done.exception, UsageError)


def test_a_table_is_downloaded_checked_and_converted(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = (repository / "src/mmconvert/testing/demo/files/lmudata/Colours.tsv").read_bytes()
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))

    def convert_table(name: str, *options: str) -> Result:
        arguments = ["convert", "dev=https://tables.example/Colours.tsv", "-o", str(tmp_path / name), "--json"]
        return CliRunner().invoke(program, [*arguments, "--allow-remote", *options], standalone_mode=False)

    with web_server({"/Colours.tsv": reply(table)}) as server:

        def at_loopback(url: str, limits: Limits, hosts: Sequence[str]) -> AbstractContextManager[Iterator[bytes]]:
            here = url.replace("https://tables.example", f"http://127.0.0.1:{server.port}")
            return http.open_url(here, limits, allowed=lambda address: True)

        monkeypatch.setattr("mmconvert.pipeline.convert_files.open_url", at_loopback)
        wrong = convert_table("wrong", "--sha256", "0" * 64)
        assert isinstance(wrong.exception, Error)
        assert hashlib.sha256(table).hexdigest() in str(wrong.exception)
        assert not (tmp_path / "wrong").exists()
        for name in ("first", "second"):
            done = convert_table(name, "--md5", hashlib.md5(table).hexdigest())
            assert json.loads(done.stdout)["splits"] == {"dev": 4}
    assert len(server.requests) == 2, "the right table is fetched once, after the wrong one"


def serve_colours(count: int, delay: float = 0.0) -> dict[str, Handler]:
    def answer(number: int) -> Handler:
        def late(channel: socket.socket, head: bytes) -> None:
            time.sleep(delay * (number % 3))
            reply(image_bytes("PNG", number))(channel, head)

        return late

    return {f"/{number}.png": answer(number) for number in range(count)}


def named(server: WebServer, count: int) -> list[str]:
    return [f"http://127.0.0.1:{server.port}/{number}.png" for number in range(count)]


def read_bytes(folder: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.glob("data/*"))}


@pytest.mark.slow
def test_order_and_bytes_do_not_depend_on_what_comes_first(tmp_path: Path) -> None:
    with web_server(serve_colours(40, 0.02)) as server:
        file = rows(tmp_path, *named(server, 40), *named(server, 5))
        options = ["--allow-remote", "--allow-host", f"127.0.0.1:{server.port}", "--json"]
        found = {}
        for name, more in (("one", ["--per-host", 1]), ("many", []), ("two", ["--workers", 2])):
            done = mmconvert("convert", file, "-o", tmp_path / name, *options, *more)
            assert (done.code, json.loads(done.out)["images"]) == (0, 45), done.err
            found[name] = read_bytes(tmp_path / name)
    assert found["one"] == found["many"] == found["two"]
    assert [record.images[0].bytes for record in read(tmp_path / "many") if record.images] == [
        image_bytes("PNG", number) for number in (*range(40), *range(5))
    ]
    assert not [*tmp_path.glob(".*.fetched")]


def find_kept(folder: Path, addresses: list[str]) -> list[str]:
    cache = FetchCache(folder)
    kept = [address for address in addresses if cache.read(address, 1 << 20) is not None]
    cache.close()
    return kept


@pytest.mark.slow
def test_a_run_that_is_killed_fetches_nothing_twice(tmp_path: Path) -> None:
    with web_server(serve_colours(300, 0.02)) as server:
        file = rows(tmp_path, *named(server, 300))
        options = ["-o", tmp_path / "out", "--allow-remote", "--allow-host", f"127.0.0.1:{server.port}"]
        command = [sys.executable, "-m", "mmconvert", "convert", *map(str, [file, *options])]
        kept = tmp_path / ".out.fetched"
        with subprocess.Popen(command) as process:
            while len(find_kept(kept, named(server, 300))) <= 50:
                assert process.poll() is None
                time.sleep(0.01)
            process.kill()
        had = find_kept(kept, named(server, 300))
        assert 50 < len(had) < 300
        asked = len(server.requests)
        assert not (tmp_path / "out").exists()
        assert mmconvert("convert", file, *options).code == 0
        again = [head.split()[1].decode() for head in server.requests[asked:]]
    # What was under way at the end may reach the server late, and is asked for again.
    addresses = {f"http://127.0.0.1:{server.port}{path}" for path in again}
    assert addresses == set(named(server, 300)) - set(had)
    assert len(again) - len(addresses) <= AT_ONCE
    assert not kept.exists()


def test_more_is_not_fetched_than_the_limit_takes(tmp_path: Path) -> None:
    with web_server(serve_colours(200)) as server:
        options = ["--allow-remote", "--allow-host", f"127.0.0.1:{server.port}", "--limit", 5]
        done = mmconvert("convert", rows(tmp_path, *named(server, 200)), "-o", tmp_path / "out", *options)
    assert done.code == 0, done.err
    assert len(server.requests) < 12


def test_a_folder_of_another_is_not_used_for_what_is_fetched(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".out.fetched").symlink_to(tmp_path / "elsewhere")
    with web_server(serve_colours(3)) as server:
        options = ["--allow-remote", "--allow-host", f"127.0.0.1:{server.port}"]
        done = mmconvert("convert", rows(tmp_path, *named(server, 3)), "-o", tmp_path / "out", *options)
    assert (done.code, [*(tmp_path / "elsewhere").iterdir()]) == (0, [])


def test_what_could_not_be_fetched_leaves_no_empty_folder(tmp_path: Path) -> None:
    with web_server({}) as server:
        options = ["--allow-remote", "--allow-host", f"127.0.0.1:{server.port}", "--on-bad", "fail"]
        done = mmconvert("convert", rows(tmp_path, *named(server, 3)), "-o", tmp_path / "out", *options)
    assert done.code == 1
    assert not [*tmp_path.glob(".*.fetched")]
