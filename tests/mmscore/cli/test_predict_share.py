"""Several processes answer the rows of one output: no row twice, none lost, whoever dies."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from mmconvert.core.record import Part, Record, Turn
from mmconvert.dataset.dataset import DatasetWriter
from mmscore.core.predictions.run_metadata import RUN_METADATA
from mmscore.llm.cache_lock import hold
from mmscore.llm.response_cache import store_path
from support.chat_server import Said, chat_server, said
from support.questions import make_image, record

pytestmark = pytest.mark.slow

PROGRAM = [sys.executable, "-c", "from mmscore.cli import main; main()", "predict"]


def write(folder: Path, count: int) -> Path:
    with DatasetWriter(folder) as writer:
        writer.write([record(i, make_image("red"), f"question {i}", answer=str(i)) for i in range(count)])
    return folder


def started(*arguments: object) -> "subprocess.Popen[str]":
    command = [*PROGRAM, *map(str, arguments), "--share", "--quiet", "--json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def asked(log: Path) -> list[str]:
    return log.read_text().split() if log.exists() else []


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.release
def test_eight_resumes_of_which_one_is_killed_ask_no_row_twice_and_lose_none(predict, tmp_path, output):
    rows, batch = 240, 3
    dataset, logs = write(tmp_path / "d", rows), [tmp_path / f"log{number}" for number in range(9)]
    common = (dataset, "-o", output, "--backend", "echo", "--model")
    words = [(*common, f"prompt:delay=0.02,batch={batch},log={log}") for log in logs]
    first = started(*words[8])
    until(lambda: len(asked(logs[8])) > 4 * batch)
    first.send_signal(signal.SIGINT)
    assert first.wait() == 130

    everyone = [started(*line) for line in words[:8]]
    until(lambda: len(asked(logs[3])) > batch)
    everyone[3].send_signal(signal.SIGKILL)
    ended = [process.communicate(timeout=120) for process in everyone]

    assert [process.returncode for process in everyone] == [0, 0, 0, -signal.SIGKILL, 0, 0, 0, 0], ended
    twice = [row for row, times in Counter(row for log in logs for row in asked(log)).items() if times > 1]
    under_way = [*asked(logs[3])[-batch:], *asked(logs[8])[-batch:]]
    assert set(twice) <= set(under_way)
    assert {row for log in logs for row in asked(log)} == {str(i) for i in range(rows)}
    summaries = [json.loads(out) for out, _ in ended if out]
    assert all(summary["rows"] == rows and summary["failed"] == 0 for summary in summaries)
    whole = tmp_path / "whole.parquet"
    predict(dataset, "-o", whole, "--backend", "echo", "--model", "prompt")
    assert output.read_bytes() == whole.read_bytes()
    assert sorted(file.name for file in tmp_path.glob("*predictions*")) == [output.name, store_path(output).name]


def test_processes_that_ask_one_service_share_its_questions(tmp_path, output):
    rows, concurrency, dataset = 120, 4, write(tmp_path / "d", 120)

    def say(request):
        return Said(said(request["messages"][-1]["content"][-1]["text"].upper()).body, silent=0.03)

    with chat_server(say) as server:
        words = (dataset, "-o", output, "--model", "loopback", "--base-url", server.url, "--concurrency", concurrency)
        everyone = [started(*words) for _ in range(3)]
        until(lambda: len(server.asked) > rows // 2)
        everyone[0].send_signal(signal.SIGKILL)
        ended = [process.communicate(timeout=120) for process in everyone]
    assert [process.returncode for process in everyone[1:]] == [0, 0], ended
    times = Counter(request["messages"][-1]["content"][-1]["text"] for request in server.asked)
    assert set(times) == {f"question {i}" for i in range(rows)}
    assert sum(times.values()) - rows <= concurrency
    assert pq.read_table(output)["prediction"].to_pylist() == [f"QUESTION {i}" for i in range(rows)]


def dialogs(count: int) -> list[Record]:
    """Make dialogs of three rounds."""
    records: list[Record] = []
    for number, place in [(n, k) for n in range(count) for k in range(3)]:
        words = [word for k in range(place + 1) for word in (f"conversation {number} asks {k}", f"right {k}")][:-1]
        turns = tuple(Turn("assistant" if k % 2 else "user", (Part("text", word),)) for k, word in enumerate(words))
        one = record(len(records), "?", messages=turns)
        records.append(replace(one, group=str(number), round=place))
    return records


@pytest.mark.release
def test_processes_that_hold_dialogs_wait_for_each_other_s_rounds(predict, tmp_path, output):
    records = dialogs(20)
    with DatasetWriter(tmp_path / "d") as writer:
        writer.write(records)
    common = (tmp_path / "d", "--protocol", "vlmevalkit", "--backend", "echo", "--model")
    logs = [tmp_path / f"log{number}" for number in range(3)]
    everyone = [started(*common, f"prompt:delay=0.02,batch=2,log={log}", "-o", output) for log in logs]
    until(lambda: len(asked(logs[0])) > 4)
    everyone[0].send_signal(signal.SIGKILL)
    ended = [process.communicate(timeout=120) for process in everyone]
    assert [process.returncode for process in everyone[1:]] == [0, 0], ended
    times = Counter(row for log in logs for row in asked(log))
    assert set(times) == {row.id for row in records}
    assert {row for row, count in times.items() if count > 1} <= set(asked(logs[0])[-2:])
    whole = tmp_path / "whole.parquet"
    predict(*common, "prompt", "-o", whole)
    assert output.read_bytes() == whole.read_bytes()


@pytest.mark.release
def test_a_row_that_fails_is_asked_by_one_of_them(tmp_path, output):
    dataset, log = write(tmp_path / "d", 40), tmp_path / "log"
    words = (dataset, "-o", output, "--backend", "echo", "--model", f"answer:delay=0.03,fail=5,batch=2,log={log}")
    everyone = [started(*words) for _ in range(2)]
    ended = [process.communicate(timeout=60) for process in everyone]
    assert [process.returncode for process in everyone] == [3, 3], ended
    assert {json.loads(out)["failed"] for out, _ in ended} == {8}
    assert pq.read_table(output)["prediction_status"].to_pylist().count("failed") == 8
    # Two that never met are two runs, and the second one asks failed rows again.
    met = all(json.loads(out)["asked"] < 40 for out, _ in ended)
    assert len(asked(log)) == (40 if met else 48)


def test_one_that_shares_ends_like_one_alone(predict, tmp_path, output):
    dataset, alone = write(tmp_path / "d", 9), tmp_path / "alone.parquet"
    words = ("--backend", "echo", "--model", "prompt:fail=4", "--json")
    code, out, _ = predict(dataset, "-o", output, *words, "--share")
    assert (code, predict(dataset, "-o", alone, *words)[0]) == (3, 3)
    counts = json.loads(out)
    assert (counts["rows"], counts["asked"], counts["reused"], counts["failed"]) == (9, 9, 0, 2)
    assert output.read_bytes() == alone.read_bytes()
    counts = json.loads(predict(dataset, "-o", output, *words, "--share")[1])
    assert (counts["rows"], counts["asked"], counts["reused"], counts["failed"]) == (9, 2, 7, 2)


def test_told_to_stop_it_leaves_all_rows_with_the_answers_and_failures_so_far(predict, tmp_path, output):
    dataset, log = write(tmp_path / "d", 40), tmp_path / "log"
    words = (dataset, "-o", output, "--backend", "echo", "--model", f"prompt:delay=0.05,fail=4,batch=2,log={log}")
    process = started(*words)
    until(lambda: len(asked(log)) > 12)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, ""), err
    stopped = pq.read_table(output)
    assert json.loads(stopped.schema.metadata[RUN_METADATA])["partial"] is True
    assert stopped["id"].to_pylist() == [str(number) for number in range(40)]
    statuses = stopped["prediction_status"].to_pylist()
    assert set(statuses) == {"ok", "failed", "skipped"}
    assert statuses.count("skipped") <= 40 - 12
    assert sorted(file.name for file in tmp_path.glob("*predictions*")) == [output.name, store_path(output).name]
    counts = json.loads(predict(dataset, "-o", output, "--backend", "echo", "--model", "prompt", "--json")[1])
    assert (counts["rows"], counts["reused"]) == (40, statuses.count("ok"))


@pytest.mark.release
def test_a_dialog_that_is_stopped_leaves_the_rounds_so_far(predict, tmp_path, output):
    with DatasetWriter(tmp_path / "d") as writer:
        writer.write(dialogs(20))
    log, common = tmp_path / "log", (tmp_path / "d", "-o", output, "--protocol", "vlmevalkit", "--backend", "echo")
    process = started(*common, "--model", f"prompt:delay=0.02,batch=2,log={log}")
    until(lambda: len(asked(log)) > 24)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    rows = pq.read_table(output, columns=["round", "prediction_status"]).to_pylist()
    assert len(rows) == 60
    by_round = [[row["prediction_status"] for row in rows if row["round"] == number] for number in range(3)]
    assert set(by_round[0]) == {"ok"}
    assert set(by_round[1]) == {"ok", "skipped"}
    assert set(by_round[2]) == {"skipped"}


def test_sharing_takes_two(predict, tmp_path, output):
    dataset = write(tmp_path / "d", 2)
    words = (dataset, "-o", output, "--backend", "echo", "--model", "prompt")
    with hold(store_path(output)):
        assert predict(*words, "--share")[0] == 1
    with hold(store_path(output), share=True):
        assert predict(*words)[0] == 1
        assert predict(*words, "--share")[0] == 0
    code, _, err = predict(*words, "--share", "--restart")
    assert code == 2
    assert "--share and --restart exclude each other" in err
