"""`predict --engine ray`: backends on the nodes of a cluster, the store here."""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from mmconvert.dataset.dataset import DatasetWriter
from support.questions import make_image, record
from support.ray_cluster import two_nodes

pytestmark = pytest.mark.slow

ROWS = 60
BACKEND = """
import os, signal, time
from pathlib import Path

HERE = Path(__file__).parent

def slow(records):
    time.sleep(0.02)
    with (HERE / "asked.log").open("a") as log:
        for record in records:
            print(record.id, os.getpid(), file=log)
    return [f"{record.id}:{len(record.images[0].bytes)}" for record in records]

def slowly(records):
    time.sleep(0.1)
    return slow(records)

def beside_two_others(records):
    answers = slowly(records)
    until = time.monotonic() + 60
    while len(processes()) < 3 and time.monotonic() < until:
        time.sleep(0.01)
    return answers

def processes():
    return {line.split()[1] for line in (HERE / "asked.log").read_text().splitlines()}

def dies_once(records):
    answers = slow(records)
    if not (HERE / "died").exists():
        (HERE / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return answers

def broken(records):
    raise OSError("no such luck")
"""


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[Any]:
    with two_nodes() as made:
        yield made


@pytest.fixture
def asking(tmp_path: Path, output: Path):
    with DatasetWriter(tmp_path / "d") as writer:
        writer.write([record(n, make_image("red"), f"question {n}", answer="A") for n in range(ROWS)])
    (tmp_path / "mine.py").write_text(BACKEND)

    def arguments(name: str, *more: str) -> list[str]:
        backend = ("--backend", f"{tmp_path / 'mine.py'}@{name}", "--model", "m", "--batch-size", "2")
        return [*map(str, (tmp_path / "d", "-o", output, *backend, "--engine", "ray", "--json", "--quiet")), *more]

    return arguments


def asked(folder: Path) -> list[list[str]]:
    return [line.split() for line in (folder / "asked.log").read_text().splitlines()]


@pytest.mark.release
def test_every_node_answers_rows_and_each_row_is_asked_once(predict, tmp_path, output, asking):
    code, out, err = predict(*asking("slowly"))
    assert (code, err) == (0, "")
    assert (json.loads(out)["rows"], json.loads(out)["asked"]) == (ROWS, ROWS)
    assert sorted(int(row) for row, _ in asked(tmp_path)) == list(range(ROWS))
    assert len({process for _, process in asked(tmp_path)}) == 2
    size = len(make_image("red"))
    assert pq.read_table(output)["prediction"].to_pylist() == [f"{number}:{size}" for number in range(ROWS)]
    assert json.loads(predict(*asking("slowly", "--resume"))[1])["reused"] == ROWS


@pytest.mark.release
def test_rows_of_a_process_that_died_are_asked_again(predict, tmp_path, output, asking):
    code, out, _ = predict(*asking("dies_once"))
    assert (code, json.loads(out)["rows"], json.loads(out)["failed"]) == (0, ROWS, 0)
    twice = [row for row, times in Counter(row for row, _ in asked(tmp_path)).items() if times > 1]
    assert 1 <= len(twice) <= 2
    assert set(pq.read_table(output)["prediction_status"].to_pylist()) == {"ok"}


@pytest.mark.release
def test_rows_of_a_node_that_is_killed_are_asked_elsewhere(predict, tmp_path, output, asking, cluster):
    third = cluster.add_node(num_cpus=1)
    killed = threading.Event()

    def kill() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if (tmp_path / "asked.log").exists() and len({process for _, process in asked(tmp_path)}) == 3:
                cluster.remove_node(third, allow_graceful=False)
                killed.set()
                return
            time.sleep(0.005)

    killer = threading.Thread(target=kill)
    killer.start()
    # Nobody goes on before the third node is asked, however late it begins.
    code, out, _ = predict(*asking("beside_two_others"))
    killer.join()
    assert killed.is_set()
    assert (code, json.loads(out)["rows"], json.loads(out)["failed"]) == (0, ROWS, 0)
    assert set(pq.read_table(output)["prediction_status"].to_pylist()) == {"ok"}


@pytest.mark.release
def test_more_processes_than_the_cluster_has_room_for_keep_nobody_waiting(predict, tmp_path, output, asking):
    assert json.loads(predict(*asking("slowly", "--processes", "5"))[1])["rows"] == ROWS
    assert len({process for _, process in asked(tmp_path)}) <= 2


@pytest.mark.release
def test_what_a_backend_raises_ends_the_run(predict, output, asking):
    with pytest.raises(OSError, match="no such luck"):
        predict(*asking("broken"))
    assert not output.exists()
