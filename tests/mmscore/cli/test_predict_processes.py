"""`predict --processes N`: one command, several processes, every row asked once."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mmconvert.dataset.dataset import DatasetWriter
from mmscore.core.predictions.run_metadata import RUN_METADATA
from mmscore.infer.multiprocess import _build_environments
from mmscore.llm.cache_lock import hold
from mmscore.llm.response_cache import store_path
from support.chat_server import Said, chat_server, said
from support.questions import record

pytestmark = pytest.mark.slow

ROWS = 60
PROGRAM = [sys.executable, "-c", "from mmscore.cli import main; main()", "predict"]

WITNESS = """
import os, signal
from pathlib import Path

LOG = Path({log!r})

def slow(records):
    import time
    time.sleep(0.02)
    with LOG.open("a") as log:
        for record in records:
            print(record.id, os.getpid(), os.environ.get("OMP_NUM_THREADS"), file=log)
    return [record.id for record in records]

def dies(records):
    answers = slow(records)
    if not LOG.with_suffix(".died").exists():
        LOG.with_suffix(".died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return answers

def picky(records):
    from mmscore.llm.response_cache import Answer, failed
    return [failed("no") if int(record.id) % 12 == 0 else Answer(record.id) for record in records]

def broken(records):
    raise OSError("no such luck")
"""

LATE = """
import time
from pathlib import Path

# The process that is second to load this waits until the first one has answered all rows.
try:
    Path({first!r}).touch(exist_ok=False)
except FileExistsError:
    while not Path({output!r}).exists():
        time.sleep(0.01)
    time.sleep(0.5)

def picky(records):
    from mmscore.llm.response_cache import Answer, failed
    return [failed("no") if int(record.id) % 12 == 0 else Answer(record.id) for record in records]
"""


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    with DatasetWriter(tmp_path / "d") as writer:
        writer.write([record(number, f"question {number}", answer="A") for number in range(ROWS)])
    return tmp_path / "d"


@pytest.fixture
def asking(tmp_path: Path, dataset: Path, output: Path):
    """Give the arguments of a run of two processes, whose backend tells who asked what."""
    (tmp_path / "mine.py").write_text(WITNESS.format(log=str(tmp_path / "asked.log")))

    def arguments(name: str) -> list[str]:
        backend = ("--backend", f"{tmp_path / 'mine.py'}@{name}", "--model", "m", "--batch-size", "2")
        return [*map(str, (dataset, "-o", output, *backend, "--processes", "2", "--json", "--quiet"))]

    return arguments


def asked(folder: Path) -> list[list[str]]:
    log = folder / "asked.log"
    return [line.split() for line in log.read_text().splitlines()] if log.exists() else []


@pytest.mark.release
def test_processes_share_the_rows_and_the_cores(predict, tmp_path, output, asking, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    code, out, err = predict(*asking("slow"))
    summary, lines = json.loads(out), asked(tmp_path)
    assert (code, err) == (0, "")
    assert (summary["rows"], summary["asked"], summary["reused"], summary["failed"]) == (ROWS, ROWS, 0, 0)
    assert sorted(int(row) for row, _, _ in lines) == list(range(ROWS))
    assert len({process for _, process, _ in lines} | {str(os.getpid())}) == 3
    assert {threads for _, _, threads in lines} == {str(max(1, len(os.sched_getaffinity(0)) // 2))}
    assert pq.read_table(output)["prediction"].to_pylist() == [str(number) for number in range(ROWS)]
    assert json.loads(predict(*asking("slow"), "--resume")[1])["reused"] == ROWS
    assert json.loads(predict(*asking("slow"), "--restart")[1])["asked"] == ROWS


@pytest.mark.release
def test_rows_that_fail_again_are_not_taken_from_those_that_are_reused(predict, asking):
    counts = []
    for _ in range(2):
        code, out, _ = predict(*asking("picky"), "--resume")
        summary = json.loads(out)
        counts.append((code, summary["reused"], summary["failed"]))
    assert counts == [(3, 0, 5), (3, ROWS - 5, 5)]


@pytest.mark.release
def test_rows_that_fail_are_asked_once_though_a_process_is_done_before_the_other_begins(
    predict, tmp_path, dataset, output
):
    (tmp_path / "late.py").write_text(LATE.format(first=str(tmp_path / "first"), output=str(output)))
    backend = ("--backend", f"{tmp_path / 'late.py'}@picky", "--model", "m", "--batch-size", "2")
    code, out, err = predict(dataset, "-o", output, *backend, "--processes", "2", "--json", "--quiet")
    summary = json.loads(out)
    assert (code, err) == (3, "")
    assert (summary["rows"], summary["asked"], summary["failed"]) == (ROWS, ROWS, 5)


@pytest.mark.release
def test_what_a_resumed_run_finds_is_said_once(predict, asking):
    words = [word for word in asking("picky") if word != "--quiet"]
    assert "responses are cached" not in predict(*words)[2]
    err = predict(*words, "--resume")[2]
    assert (
        err.count(f"{ROWS - 5} responses are cached, 5 failed samples are retried.")
        == err.count("responses are cached")
        == 1
    )


@pytest.mark.release
def test_the_rows_of_a_process_that_died_are_answered_by_the_others(predict, tmp_path, output, asking):
    code, out, err = predict(*asking("dies"))
    assert (code, json.loads(out)["rows"]) == (0, ROWS)
    assert "one of 2 processes ended early, the others did its part: process" in err
    assert "exit code -9" in err
    twice = [row for row, times in Counter(row for row, _, _ in asked(tmp_path)).items() if times > 1]
    assert len(twice) <= 2
    assert set(pq.read_table(output)["prediction_status"].to_pylist()) == {"ok"}


@pytest.mark.release
def test_when_all_fail_the_first_reason_ends_the_run(predict, output, asking):
    code, _, err = predict(*asking("broken"))
    assert code == 1
    assert "no such luck" in err
    assert not output.exists()


@pytest.mark.release
def test_restart_with_a_mistyped_model_forgets_nothing(predict, dataset, output):
    words = (dataset, "-o", output, "--backend", "echo", "--processes", "2", "--json", "--quiet", "--model")
    predict(*words, "answer")
    code, _, err = predict(*words, "answr", "--restart")
    assert code == 2
    assert "answr" in err
    assert "Traceback" not in err
    assert json.loads(predict(*words, "answer", "--resume")[1])["reused"] == ROWS


def test_an_output_in_use_is_refused_before_models_are_loaded(predict, tmp_path, output, asking):
    with hold(store_path(output)):
        code, _, err = predict(*asking("slow"))
    assert (code, asked(tmp_path)) == (1, [])
    assert "in use by process" in err


@pytest.mark.release
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_told_to_stop_it_stops_them_all_and_goes_on_later(predict, tmp_path, output, asking, how):
    with subprocess.Popen([*PROGRAM, *asking("slow")], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        end = time.monotonic() + 60
        while len(asked(tmp_path)) < 8 and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(how)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    assert err.decode().splitlines()[-1] == "mmscore: interrupted. Run the same command again to continue."
    stopped = pq.read_table(output)
    assert json.loads(stopped.schema.metadata[RUN_METADATA])["partial"] is True
    assert stopped["id"].to_pylist() == [str(number) for number in range(ROWS)]
    statuses = stopped["prediction_status"].to_pylist()
    assert set(statuses) == {"ok", "skipped"}
    assert statuses.count("ok") >= 4
    assert sorted(file.name for file in tmp_path.glob("*predictions*")) == [output.name, store_path(output).name]
    for pid in {int(pid) for _, pid, _ in asked(tmp_path)}:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    summary = json.loads(predict(*asking("slow"))[1])
    assert summary["rows"] == ROWS == summary["asked"] + summary["reused"]
    assert summary["reused"] > 0


@pytest.mark.release
def test_told_to_stop_while_a_service_is_asked_it_says_one_line(tmp_path, dataset, output):
    with chat_server(lambda request: Said(said("A").body, silent=0.2)) as server:
        words = [
            *map(str, (dataset, "-o", output, "--model", "loopback", "--base-url", server.url, "--concurrency", 2))
        ]
        command = [*PROGRAM, *words, "--processes", "2", "--quiet"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            end = time.monotonic() + 60
            while len(server.asked) < 12 and time.monotonic() < end:
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert err == "\nmmscore: interrupted. Run the same command again to continue.\n"
    assert pq.read_table(output)["prediction_status"].to_pylist().count("ok") >= 6


@pytest.mark.parametrize(
    ("devices", "count", "dealt"),
    [("0,1,2,3", 2, ["0,2", "1,3"]), ("4,5", 2, ["4", "5"]), ("7", 2, ["7", "7"]), ("0,1,2", 2, ["0,2", "1"])],
)
def test_gpus_are_dealt_out(monkeypatch, devices, count, dealt):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", devices)
    assert [environment["CUDA_VISIBLE_DEVICES"] for environment in _build_environments(count)] == dealt


@pytest.mark.parametrize(("devices", "count", "sharing"), [("0,1", 2, "11"), ("7", 3, "333"), ("0,1", 3, "212")])
def test_processes_know_how_many_share_their_gpu(monkeypatch, devices, count, sharing):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", devices)
    told = [environment["MMSCORE_PROCESSES_PER_GPU"] for environment in _build_environments(count)]
    assert told == [*sharing]


def test_without_a_gpu_threads_that_were_chosen_stay(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert _build_environments(2) == [{"OMP_NUM_THREADS": "3"}] * 2
