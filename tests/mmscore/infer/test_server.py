"""`--serve`: the server starts, is waited for, shows why it ended, leaves no process behind."""

import random
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import mmscore
import support
from mmconvert.core.errors import Error, UsageError
from mmconvert.dataset.dataset import DatasetWriter
from mmscore.infer.options import PredictOptions
from mmscore.infer.server import locate_log, resolve_served
from mmscore.infer.session import predict
from support.chat_server import chat_server, find_closed_port, said
from support.questions import record

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

FAKE = Path(support.__path__[0], "served.py")
PROGRAM = [sys.executable, "-c", "from mmscore.cli import main; main()", "predict"]
SECONDS_TO_END = 30


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    with DatasetWriter(tmp_path / "d") as writer:
        writer.write([record(number, f"question {number}") for number in range(40)])
    return tmp_path / "d"


@pytest.fixture
def token(tmp_path: Path) -> str:
    """What the environment of all processes of a server has in it."""
    return f"SERVED_BY_TEST={tmp_path}"


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is gone is asked as often as ever, without seconds between."""
    monkeypatch.setattr("mmconvert.core.retries.LONGEST_WAIT", 0.05)


def command(token: str, *words: object, port: int | None = None) -> str:
    port = find_closed_port() if port is None else port
    return shlex.join(["env", token, sys.executable, str(FAKE), "--port", str(port), *map(str, words)])


def list_left(token: str) -> list[str]:
    """List the processes that have the token in their environment or command, but for those that have ended."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                command = (folder / "cmdline").read_bytes()
                if token.encode() in (folder / "environ").read_bytes() + command:
                    found.append(command.decode().replace("\0", " "))
            except OSError:
                continue
    return found


def wait_until_gone(token: str) -> None:
    end = time.monotonic() + SECONDS_TO_END
    while (left := list_left(token)) and time.monotonic() < end:
        time.sleep(0.05)
    assert left == []


def run(dataset: Path, token: str, *words: object, **more: object) -> None:
    options = PredictOptions(model="loopback", serve=command(token, *words), **more)
    predict(dataset, dataset.with_name("out.parquet"), options, quiet=True)


def test_a_server_is_started_asked_and_ended_with_its_children(dataset, token):
    run(dataset, token, "--wait", 0.3)
    found = pq.read_table(dataset.with_name("out.parquet"))["prediction"].to_pylist()
    assert found == [f"QUESTION {number}" for number in range(40)]
    assert list_left(token) == []
    assert locate_log(dataset.with_name("out.parquet")).is_file()


def test_several_processes_share_one_server(dataset, token):
    run(dataset, token, processes=2)
    assert pq.read_metadata(dataset.with_name("out.parquet")).num_rows == 40
    assert list_left(token) == []


def test_a_server_that_ends_early_shows_its_last_lines(dataset, token, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-12345")
    with pytest.raises(Error, match=r"--serve: the server ended \(exit code 7\)") as told:
        run(dataset, token, "--fail", "no such GPU, key sk-12345")
    assert "out.parquet.server.log:\n  loading\n  no such GPU, key ***" in str(told.value)
    assert list_left(token) == []


@pytest.mark.slow
def test_a_server_that_dies_during_the_run_shows_its_last_lines(dataset, token, short_waits):
    with pytest.raises(Error, match=r"(?s)Connect.*--serve: the server ended \(exit code 9\).*out of memory"):
        run(dataset, token, "--requests", 10)
    assert list_left(token) == []


@pytest.mark.parametrize("more", [{}, {"processes": 2}], ids=["alone", "processes"])
def test_no_server_is_started_where_every_row_is_answered(dataset, token, more):
    run(dataset, token)
    (output := dataset.with_name("out.parquet")).unlink()
    locate_log(output).unlink()
    run(dataset, token, resume=True, **more)
    assert pq.read_metadata(output).num_rows == 40
    assert not locate_log(output).exists()
    run(dataset, token, restart=True, **more)
    assert locate_log(output).exists()
    assert list_left(token) == []


@pytest.mark.slow
def test_a_server_that_dies_before_the_last_rows_shows_its_last_lines(dataset, token, short_waits, capfd):
    # Two questions fail: too few to end the run.
    run(dataset, token, "--requests", 38, concurrency=1)
    assert re.search(r"(?s)--serve: the server ended \(exit code 9\).*out of memory", capfd.readouterr().err)
    assert pq.read_table(dataset.with_name("out.parquet"))["prediction_status"].to_pylist().count("failed") == 2
    assert list_left(token) == []


@pytest.mark.slow
def test_a_server_of_a_task_that_dies_is_explained_and_started_again_for_the_next_dataset(
    dataset, token, short_waits, tmp_path
):
    with DatasetWriter(tmp_path / "few") as writer:
        writer.write([record(number, f"few {number}") for number in range(5)])
    model = {"model": "loopback", "serve": command(token, "--requests", 10)}
    task = {"datasets": [str(dataset), str(tmp_path / "few")], "models": [model], "steps": "predict"}
    first, second = mmscore.run(task, work_dir=tmp_path / "w")
    assert "--serve: the server ended (exit code 9)" in first.error
    assert "out of memory" in (first.folder / "log.txt").read_text()
    assert (second.status, second.rows) == ("ok", 5)
    assert list_left(token) == []


@pytest.mark.slow
def test_a_server_whose_child_ignores_sigterm_is_ended(dataset, token):
    run(dataset, token, "--stubborn")
    assert list_left(token) == []


def test_another_server_at_the_port_is_not_taken_for_ours(dataset, token):
    with chat_server(lambda request: said("A")) as other:
        serve = command(token, port=int(other.url.split(":")[2].partition("/")[0]))
        options = PredictOptions(model="loopback", serve=serve, base_url=(other.url,))
        with pytest.raises(UsageError, match=r"a server answers at .* already"):
            predict(dataset, dataset.with_name("out.parquet"), options, quiet=True)
        assert other.asked == []
    assert list_left(token) == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"serve": "vllm serve 'x"}, "No closing quotation"),
        ({"serve": " "}, "is empty"),
        ({"serve": "no-such-program serve x"}, "there is no program"),
        ({"serve": "sh --port 0"}, "from 1 to 65535"),
        ({"serve": "sh", "share": True}, "Leave --share out"),
        ({"serve": "sh", "engine": "ray"}, "Leave --engine out"),
        ({"serve": "sh", "base_url": ("http://a", "http://b")}, "Give one --base-url"),
    ],
)
def test_a_command_that_cannot_be_run_is_refused_at_once(given, message):
    with pytest.raises(UsageError, match=message):
        resolve_served(PredictOptions(model="m", **given))


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ({"serve": "sh"}, "http://localhost:8000/v1"),
        ({"serve": "sh --port 81"}, "http://localhost:81/v1"),
        ({"serve": "sh --port=82 -x"}, "http://localhost:82/v1"),
        ({"serve": "sh --port 81", "base_url": ("http://h:1",)}, "http://h:1"),
        ({}, None),
    ],
)
def test_the_base_url_follows_from_the_port(given, url):
    resolved = resolve_served(PredictOptions(model="m", **given))
    assert resolved.base_url == (() if url is None else (url,))
    assert resolved.plugin == ("transformers" if url is None else "openai")


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.release), signal.SIGINT]
)
def test_ten_kills_at_any_moment_leave_no_process_behind(dataset, token, number):
    randomly = random.Random(int(number))
    for attempt in range(10):
        output = dataset.with_name(f"{attempt}.parquet")
        words = [*PROGRAM, dataset, "-o", output, "--model", "loopback", "--serve", command(token, "--wait", 0.2)]
        process = subprocess.Popen(list(map(str, words)), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        end = time.monotonic() + 20
        while not locate_log(output).exists() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.005)
        time.sleep(randomly.choice([0, randomly.uniform(0, 0.3), randomly.uniform(0, 1.5)]))
        process.send_signal(number)
        process.wait(SECONDS_TO_END)
        wait_until_gone(token)
