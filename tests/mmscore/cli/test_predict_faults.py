"""A service that does everything wrong: the table is that of a service without faults, or rows have failed."""

import json
import random
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from mmconvert.console.app import run
from mmscore.cli import program
from mmscore.llm.response_cache import store_path
from support.asking import written
from support.chat_server import ChatServer, Said, chat_server, said
from support.deferred import defer
from support.faults import FAULTS, HARMLESS, PASSING, ROW, RUN, SILENCE, SILENT
from support.questions import make_image, record

pytestmark = pytest.mark.slow

CONCURRENCY = 6
TRIES = 6
KEY = "sk-loopback-0123456789"


def text_of(request: Mapping[str, Any]) -> str:
    return request["messages"][-1]["content"][-1]["text"]


def right(request: Mapping[str, Any]) -> Said:
    return said(text_of(request).upper())


def dataset(folder: Path, rows: int) -> Path:
    return written(folder, [record(i, make_image("red"), f"question {i}") for i in range(rows)])


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "predictions.parquet"


@pytest.fixture
def ask(capsys, monkeypatch, output):
    """Predict with a service; gives the exit code and what was said on stderr."""
    monkeypatch.setattr("mmconvert.core.retries.LONGEST_WAIT", 0.005)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def call(folder: Path, server: ChatServer, timeout: float = SILENCE) -> tuple[int, str]:
        words = (folder, "-o", output, "--model", "loopback", "--base-url", server.url, "--concurrency", CONCURRENCY)
        with pytest.raises(SystemExit) as ended:
            run(program, ["predict", *map(str, words), "--timeout", str(timeout), "--resume"], program="mmscore")
        return ended.value.code, capsys.readouterr().err

    return call


def table(output: Path) -> list[tuple[str | None, str]]:
    columns = pq.read_table(output, columns=["prediction", "prediction_status"])
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


def check(output: Path, rows: int) -> None:
    """Hold every answer that stands anywhere against the right one."""
    with sqlite3.connect(store_path(output)) as db:
        answers = [json.loads(text) for (text,) in db.execute("SELECT answer FROM answers WHERE status = 'ok'")]
    db.close()
    assert {answer["text"] for answer in answers} <= {f"QUESTION {i}" for i in range(rows)}
    if output.exists():
        for number, (prediction, status) in enumerate(table(output)):
            assert prediction == (f"QUESTION {number}" if status == "ok" else None)
    for file in output.parent.glob("*predictions*"):
        assert KEY.encode() not in file.read_bytes()


def runs_until_done(
    ask, folder: Path, output: Path, server: ChatServer, rows: int, most: int, timeout: float = SILENCE
) -> int:
    """Run again as long as a run ends or rows fail; give the number of runs."""
    for number in range(1, most + 1):
        code, err = ask(folder, server, timeout)
        assert code in (0, 1, 3), err
        assert "Traceback" not in err
        assert KEY not in err
        check(output, rows)
        if code == 0:
            return number
    raise AssertionError(f"not done after {most} runs: {err}")


def once(fault: Callable[[Said], Said], every: int) -> Callable[[dict[str, Any]], Said]:
    """Do a thing wrong the first time that each n-th question is asked."""
    met, lock = set(), threading.Lock()

    def say(request: dict[str, Any]) -> Said:
        text = text_of(request)
        with lock:
            now = int(text.split()[-1]) % every == 0 and text not in met
            met.add(text)
        return fault(right(request)) if now else right(request)

    return say


@pytest.mark.parametrize("name", defer(FAULTS, 15))
def test_a_fault_costs_a_try_a_row_or_a_run_but_never_a_wrong_answer(ask, tmp_path, output, name):
    rows, patience = 12, SILENCE if name in SILENT else 30.0
    with chat_server(once(FAULTS[name], every=5)) as server:
        runs = runs_until_done(ask, dataset(tmp_path / "d", rows), output, server, rows, most=5, timeout=patience)
    assert table(output) == [(f"QUESTION {i}", "ok") for i in range(rows)]
    times = Counter(map(text_of, server.asked))
    if name in SILENT:
        # On a busy machine a right reply may be late too.
        assert (runs, max(times.values()) <= TRIES) == (1, True)
    elif name in HARMLESS:
        assert (runs, max(times.values())) == (1, 1)
    elif name in PASSING:
        assert (runs, max(times.values())) == (1, 2)
    elif name in ROW:
        assert (runs, sum(times.values())) == (2, rows + 3)
    else:
        assert name in RUN
        assert 2 <= runs <= 4


def mixed_faults(ask, tmp_path: Path, output: Path, *, rows: int, seed: int) -> None:
    dice, lock, names = random.Random(seed), threading.Lock(), list(FAULTS)
    folder, faulty = dataset(tmp_path / "d", rows), [True]

    def say(request: dict[str, Any]) -> Said:
        with lock:
            name = dice.choice(names) if dice.random() < 0.2 else None
        return FAULTS[name](right(request)) if name and faulty[0] else right(request)

    with chat_server(say) as server:
        runs = runs_until_done(ask, folder, output, server, rows, most=rows)
    assert table(output) == [(f"QUESTION {i}", "ok") for i in range(rows)]
    assert Counter(map(text_of, server.asked)).most_common(1)[0][1] <= TRIES * runs
    assert len(server.asked) <= 2 * rows + runs * CONCURRENCY


@pytest.mark.parametrize("seed", range(2))
def test_mixed_faults_end_with_the_table_of_a_service_without_faults(ask, tmp_path, output, seed):
    mixed_faults(ask, tmp_path, output, rows=120, seed=seed)


@pytest.mark.release
@pytest.mark.parametrize("seed", range(20))
def test_a_thousand_requests_with_mixed_faults(ask, tmp_path, output, seed):
    mixed_faults(ask, tmp_path, output, rows=1000, seed=seed)


def test_a_service_that_goes_and_comes_back_is_gone_on_with(ask, tmp_path, output):
    rows, folder = 40, dataset(tmp_path / "d", 40)

    def say(request: dict[str, Any]) -> Said:
        return right(request) if int(text_of(request).split()[-1]) < 20 else Said(headless=True)

    with chat_server(say) as server:
        assert ask(folder, server)[0] == 1
    code, err = ask(folder, server)
    assert code == 1
    assert "the API server cannot be reached (Connection refused)" in err
    check(output, rows)
    with chat_server(right) as server:
        assert runs_until_done(ask, folder, output, server, rows, most=1) == 1
    assert len(server.asked) <= 20 + CONCURRENCY
