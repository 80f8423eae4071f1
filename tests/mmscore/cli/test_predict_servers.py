"""`mmscore predict` with several servers, one of which dies midway and comes back: the file of one server alone."""

import itertools
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx2
import pyarrow.parquet as pq
import pytest

import mmscore
import support
from mmconvert.dataset.dataset import DatasetWriter
from support.chat_server import chat_server, find_closed_port, said
from support.questions import record

SERVED = Path(support.__path__[0], "served.py")
ROWS = 400


class Served:
    """A server in a process of its own, which can be killed and started again on its port."""

    def __init__(self) -> None:
        self.port = find_closed_port()
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        words = [sys.executable, SERVED, "--alone", "--port", self.port, "--slow", 0.01]
        self.process = subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL)
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                httpx2.get(f"{self.url}/models")
            except httpx2.HTTPError:
                time.sleep(0.02)
            else:
                return
        raise AssertionError("the server does not start")

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@pytest.fixture
def dataset(tmp_path):
    with DatasetWriter(tmp_path / "d") as writer:
        writer.write([record(number, f"question {number}") for number in range(ROWS)])
    return tmp_path / "d"


def answer(request):
    return said(request["messages"][-1]["content"].upper())


def predict_with(predict, dataset, output, *urls):
    servers = [word for url in urls for word in ("--base-url", url)]
    return predict(dataset, "-o", output, "--model", "loopback", "--concurrency", 4, "--resume", *servers)


@pytest.mark.slow
def test_a_server_may_die_and_come_back_and_the_file_is_that_of_one(predict, dataset, tmp_path, monkeypatch):
    monkeypatch.setattr("mmscore.llm.servers._FIRST_PAUSE", 0.1)
    monkeypatch.setattr("mmscore.llm.servers._LONGEST_PAUSE", 0.1)
    dying, begun, back = Served(), threading.Event(), threading.Event()
    count = itertools.count()

    def answer_steadily(request):
        number = next(count)
        if number > 30:
            begun.set()
        if number > ROWS / 2:
            # The other one shall come back while there are rows left.
            assert back.wait(60)
            time.sleep(0.05)
        return answer(request)

    def kill_and_start_again():
        begun.wait(60)
        dying.kill()
        dying.start()
        back.set()

    with chat_server(answer) as alone:
        assert predict_with(predict, dataset, tmp_path / "one.parquet", alone.url)[0] == 0
    with chat_server(answer_steadily) as steady:
        thread = threading.Thread(target=kill_and_start_again)
        try:
            dying.start()
            thread.start()
            code, _, told = predict_with(predict, dataset, tmp_path / "two.parquet", dying.url, steady.url)
        finally:
            thread.join()
            dying.kill()
    assert code == 0
    assert re.search(r"(?s)left out, and tried again in 0.1 s \(.*answers again\.", told)
    assert ROWS / 2 < len(steady.asked) < ROWS - 20
    assert (tmp_path / "two.parquet").read_bytes() == (tmp_path / "one.parquet").read_bytes()


def test_other_addresses_take_the_answers_of_the_store(predict, dataset, tmp_path):
    with chat_server(answer) as one, chat_server(answer) as other:
        predict_with(predict, dataset, tmp_path / "p.parquet", one.url, other.url)
        assert len(one.asked) + len(other.asked) == ROWS
        again = predict_with(predict, dataset, tmp_path / "p.parquet", f"{one.url}/")
    assert again[0] == 0
    assert len(one.asked) + len(other.asked) == ROWS
    assert pq.read_metadata(tmp_path / "p.parquet").num_rows == ROWS


def test_a_task_file_takes_several(dataset, tmp_path):
    with chat_server(answer) as one, chat_server(answer) as other:
        servers = {"base-url": [one.url, other.url], "concurrency": 2}
        task = {"datasets": [str(dataset)], "models": ["loopback"], "steps": "predict", "predict": servers}
        (outcome,) = mmscore.run(task, work_dir=tmp_path / "w")
    assert (outcome.status, outcome.rows) == ("ok", ROWS)
    assert min(len(one.asked), len(other.asked)) > ROWS / 10
