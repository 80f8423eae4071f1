"""`mmscore predict` with a service, from outside: nothing asked twice, faults, keys, interruptions."""

import json
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from mmconvert.core.record import Part, Turn
from mmconvert.dataset.dataset import DatasetWriter
from mmscore.llm.response_cache import store_path
from support.chat_server import ChatServer, Said, chat_server, refused, said
from support.questions import make_image, record

pytestmark = pytest.mark.slow

PROGRAM = [sys.executable, "-c", "from mmscore.cli import main; main()", "predict"]
CONCURRENCY = 6
KEY = "sk-loopback-0123456789"


def question(number: int) -> str:
    return f"question {number}"


def write(folder: Path, count: int) -> Path:
    with DatasetWriter(folder, overwrite=folder.exists()) as writer:
        writer.write([record(i, make_image("red"), question(i), answer=str(i)) for i in range(count)])
    return folder


def text_of(request: dict) -> str:
    content = request["messages"][-1]["content"]
    return content if isinstance(content, str) else content[-1]["text"]


def echoed(request: dict) -> Said:
    return said(text_of(request).upper())


def asking(dataset: Path, output: Path, server: ChatServer, *more: object) -> list[str]:
    words = (dataset, "-o", output, "--model", "loopback", "--base-url", server.url, "--concurrency", CONCURRENCY)
    return [str(word) for word in (*words, *more)]


def predictions(output: Path) -> list[str | None]:
    return pq.read_table(output)["prediction"].to_pylist()


def stored(output: Path) -> set[str]:
    """Texts of the answers that are in the store."""
    if not store_path(output).exists():
        return set()
    with sqlite3.connect(store_path(output)) as db:
        tables = db.execute("SELECT name FROM sqlite_master").fetchall()
        texts = db.execute("SELECT answer FROM answers WHERE status = 'ok'").fetchall() if tables else []
    db.close()
    return {json.loads(text)["text"] for (text,) in texts}


def test_a_base_url_alone_chooses_the_service_and_fills_the_columns(predict, tmp_path, output):
    dataset = write(tmp_path / "d", 5)
    with chat_server(echoed) as server:
        code, out, err = predict(*asking(dataset, output, server, "--json"))
    summary = json.loads(out)
    assert (code, err) == (0, "")
    assert (summary["rows"], summary["asked"], summary["failed"]) == (5, 5, 0)
    assert (summary["prompt_tokens"], summary["completion_tokens"]) == (35, 10)
    first = pq.read_table(output).to_pylist()[0]
    assert (first["prediction"], first["model"], first["method"]) == ("QUESTION 0", "loopback", "generate")
    assert (first["finish_reason"], first["prompt_tokens"], first["completion_tokens"]) == ("stop", 7, 2)


def test_a_finished_run_asks_nothing_again_at_any_address_and_counts_the_same_tokens(predict, tmp_path, output):
    dataset = write(tmp_path / "d", 5)
    with chat_server(echoed) as server:
        predict(*asking(dataset, output, server))
    with chat_server(echoed) as other:
        code, out, _ = predict(*asking(dataset, output, other, "--json", "--resume", "--concurrency", 2))
    assert (code, other.asked) == (0, [])
    assert (json.loads(out)["reused"], json.loads(out)["prompt_tokens"]) == (5, 35)


def test_a_reference_that_changed_asks_nothing_of_a_service_and_anew_of_what_sees_it(predict, tmp_path, output):
    records = [record(i, make_image("red"), question(i), answer="A") for i in range(3)]
    seen = tmp_path / "seen.parquet"
    with chat_server(echoed) as server:
        for answer in "AB":
            with DatasetWriter(tmp_path / "d", overwrite=answer == "B") as writer:
                writer.write([replace(one, answer=answer) for one in records])
            predict(*asking(tmp_path / "d", output, server, "--resume"))
            predict(tmp_path / "d", "-o", seen, "--backend", "echo", "--model", "answer", "--resume")
    assert len(server.asked) == 3
    assert predictions(seen) == ["B"] * 3


def test_rows_of_several_batches_stand_in_order_and_share_the_places(predict, tmp_path, output):
    dataset = write(tmp_path / "d", 300)

    def say(request):
        # The last row of the first batch of 256 is slow, and those after it are not kept waiting.
        return Said(echoed(request).body, silent=1.0 if text_of(request) == question(255) else 0)

    with chat_server(say) as server:
        predict(*asking(dataset, output, server))
    assert predictions(output) == [question(i).upper() for i in range(300)]
    assert server.most_at_once <= CONCURRENCY
    finished_before = [text_of(request) for request in server.asked].index(question(299))
    assert finished_before == pytest.approx(299, abs=CONCURRENCY)


def test_a_failed_row_has_its_reason_and_no_text_and_is_asked_again(predict, tmp_path, output):
    dataset, broken = write(tmp_path / "d", 12), {question(3), question(8)}

    def say(request):
        return refused(400, "content filter") if text_of(request) in broken else echoed(request)

    with chat_server(say) as server:
        assert predict(*asking(dataset, output, server, "--concurrency", 1))[0] == 3
        row = pq.read_table(output).to_pylist()[3]
        assert (row["prediction"], row["prediction_status"]) == (None, "failed")
        assert row["prediction_error"] == "no response: 400 content filter"
        broken.clear()
        server.asked.clear()
        assert predict(*asking(dataset, output, server, "--resume"))[0] == 0
    assert sorted(map(text_of, server.asked)) == [question(3), question(8)]


REFUSED = {question(number) for number in (9, 10, 11)}


def test_rows_that_are_refused_end_no_run_that_goes_on_where_others_were_answered(predict, tmp_path, output):
    dataset, whole = write(tmp_path / "d", 12), tmp_path / "whole.parquet"

    def say(request):
        return refused(400, "content filter") if text_of(request) in REFUSED else echoed(request)

    with chat_server(say) as server:
        assert predict(*asking(dataset, whole, server, "--concurrency", 2))[0] == 3
        assert predict(*asking(dataset, output, server, "--concurrency", 2, "--max-calls", 9))[0] == 1
        code, _, err = predict(*asking(dataset, output, server))
        assert (code, "in a row" in err) == (3, False)
        assert predict(*asking(dataset, output, server, "--resume"))[0] == 3
    assert predictions(output) == predictions(whole)


def test_rows_that_are_refused_end_no_resumed_run_where_they_come_first(predict, tmp_path, output):
    # The answered rows are in a batch of their own, and nothing in it is asked again.
    dataset, first = tmp_path / "d", {question(number) for number in range(5)}
    with DatasetWriter(dataset) as writer:
        for split, numbers in (("dev", range(5)), ("test", range(5, 12))):
            writer.write([record(i, make_image("red"), question(i)) for i in numbers], split)
    answers = threading.Semaphore(0)

    def say(request):
        if text_of(request) not in first:
            answers.release()
            return echoed(request)
        if len(server.asked) <= 12:
            answers.acquire(timeout=10)
        return refused(400, "content filter")

    with chat_server(say) as server:
        assert predict(*asking(dataset, output, server))[0] == 3
        code, _, err = predict(*asking(dataset, output, server, "--resume"))
        assert (code, "in a row" in err) == (3, False)
        assert Counter(map(text_of, server.asked)) == {question(i): 2 if i < 5 else 1 for i in range(12)}
        # What other settings were answered to proves nothing of these.
        other = predict(*asking(dataset, output, server, "--resume", "--extra-body", '{"x": 1}', "--limit", 5))
    assert (other[0], "questions failed in a row" in other[2]) == (1, True)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_what_every_row_would_meet_ends_the_run_at_once_and_keeps_what_was_said(predict, tmp_path, output, status):
    dataset, down = write(tmp_path / "d", 40), [False]

    def say(request):
        down[0] = down[0] or text_of(request) == question(20)
        return refused(status, "no more") if down[0] else echoed(request)

    with chat_server(say) as server:
        code, out, err = predict(*asking(dataset, output, server))
        assert (code, out) == (1, "")
        assert f"({status} no more)" in err
        assert len(server.asked) <= 20 + CONCURRENCY
        assert not output.exists()
        before = stored(output)
        assert len(before) >= 20 - CONCURRENCY
    with chat_server(echoed) as server:
        predict(*asking(dataset, output, server))
    assert {text_of(request).upper() for request in server.asked}.isdisjoint(before)
    assert predictions(output) == [question(i).upper() for i in range(40)]


def test_the_key_stands_in_no_file_and_no_message(predict, tmp_path, output, monkeypatch):
    dataset = write(tmp_path / "d", 4)
    monkeypatch.setenv("MY_KEY", KEY)

    def say(request):
        return refused(400, f"bad key {KEY}") if text_of(request) == question(1) else echoed(request)

    with chat_server(say) as server:
        code, out, err = predict(*asking(dataset, output, server, "--api-key-env", "MY_KEY", "--concurrency", 1))
    assert (code, server.heads[0]["Authorization"]) == (3, f"Bearer {KEY}")
    assert "bad key ***" in pq.read_table(output)["prediction_error"][1].as_py()
    assert KEY not in out + err
    for file in tmp_path.iterdir():
        assert file.is_dir() or KEY.encode() not in file.read_bytes()


def test_the_cap_on_calls_ends_a_run_that_goes_on_later(predict, tmp_path, output):
    dataset = write(tmp_path / "d", 10)
    with chat_server(echoed) as server:
        code, _, err = predict(*asking(dataset, output, server, "--max-calls", 4))
        assert (code, len(server.asked)) == (1, 4)
        assert "the cap of 4 calls is used up" in err
        predict(*asking(dataset, output, server))
    assert len(server.asked) == 10


@pytest.mark.parametrize("several", [["--share"], ["--processes", 2], ["--engine", "ray"]])
@pytest.mark.parametrize("cap", [["--max-calls", 3], ["--max-total-tokens", 9], ["--max-cost", 1, "--price", "1,1"]])
def test_a_cap_is_refused_where_several_processes_would_count_each_for_itself(predict, tmp_path, output, several, cap):
    with chat_server(echoed) as server:
        code, _, err = predict(*asking(write(tmp_path / "d", 3), output, server, *several, *cap))
    assert (code, server.asked) == (2, [])
    assert f"{cap[0]}: the limit applies to one process." in err


def test_the_cost_of_the_file_is_told_whichever_run_paid_it_and_can_be_capped(predict, tmp_path, output):
    dataset = write(tmp_path / "d", 10)
    price = ("--price", "1000,2000")
    with chat_server(echoed) as server:
        code, _, err = predict(*asking(dataset, output, server, *price, "--max-cost", 2.05))
        assert (code, 1 <= len(server.asked) < 10) == (1, True)
        assert "the cap on cost of 2.05 is used up" in err
        code, out, _ = predict(*asking(dataset, output, server, *price, "--json"))
        again = predict(*asking(dataset, output, server, *price, "--resume"))[1]
    summary = json.loads(out)
    assert len(server.asked) == 10
    assert (summary["prompt_tokens"], summary["completion_tokens"]) == (70, 20)
    assert summary["cost"] == pytest.approx(0.11)
    assert ", cost 0.11" in again


def test_a_begun_reply_is_continued_only_when_asked(predict, tmp_path, output):
    begun = (Turn("user", (Part("text", "1 + 1?"),)), Turn("assistant", (Part("text", "It is"),)))
    with DatasetWriter(tmp_path / "d") as writer:
        writer.write([record(0, "1 + 1?", messages=begun)])
    with chat_server(echoed) as server:
        assert predict(*asking(tmp_path / "d", output, server))[0] == 3
        assert "--continue-final-message" in pq.read_table(output)["prediction_error"][0].as_py()
        assert predict(*asking(tmp_path / "d", output, server, "--resume", "--continue-final-message"))[0] == 0
    assert [request["continue_final_message"] for request in server.asked] == [True]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--base-url", "localhost:8000"], "base URL: expected http://"),
        (["--backend", "openai"], "no base URL given"),
        (["--base-url", "http://127.0.0.1:1", "--top-k", "5", "--do-sample"], "'openai' has no --top-k"),
        (["--base-url", "http://127.0.0.1:1", "--batch-size", "5"], "'openai' has no --batch-size"),
        (["--base-url", "http://127.0.0.1:1", "--api-key-env", "NOT_SET"], "NOT_SET is not set"),
        (["--base-url", "http://127.0.0.1:1", "--backend", "echo", "--concurrency", "2"], "no --base-url, --conc"),
        (["--base-url", "http://127.0.0.1:1", "--extra-body", "x"], "--extra-body: is not JSON"),
        (["--base-url", "http://127.0.0.1:1", "--max-cost", "2"], "--max-cost: what do tokens cost? Add --price"),
        (["--base-url", "http://127.0.0.1:1", "--price", "2"], "--price: expected two numbers"),
        (["--base-url", "http://127.0.0.1:1", "--timeout", "0"], "Invalid value for '--timeout'"),
    ],
)
def test_a_mistake_is_one_message_and_publishes_nothing(predict, tmp_path, output, monkeypatch, arguments, message):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    code, out, err = predict(write(tmp_path / "d", 1), "-o", output, "--model", "m", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert not output.exists()


# Runs that end early


def started(*arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen([*PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(server: ChatServer, questions: int) -> None:
    end = time.monotonic() + 30
    while len(server.asked) < questions and time.monotonic() < end:
        time.sleep(0.005)


def killed_again_and_again(predict, tmp_path, output, *, kills: int) -> None:
    rows = 30 * kills
    dataset, whole = write(tmp_path / "d", rows), tmp_path / "whole.parquet"
    with chat_server(echoed) as server:
        predict(*asking(dataset, whole, server))
    moments = random.Random(20261121)
    with chat_server(lambda request: Said(echoed(request).body, silent=0.02)) as server:
        for _ in range(kills):
            before = stored(output)
            server.asked.clear()
            with started(*asking(dataset, output, server, "--quiet")) as process:
                wait_for(server, moments.choice((0, 1, 1, 1)))
                time.sleep(moments.uniform(0, 0.1))
                process.send_signal(signal.SIGKILL)
            time.sleep(0.05)
            asked = [text_of(request).upper() for request in server.asked]
            assert len(asked) == len(set(asked))
            assert before.isdisjoint(asked)
            assert len(set(asked) - stored(output)) <= CONCURRENCY
        before = stored(output)
        server.asked.clear()
        code, out, _ = predict(*asking(dataset, output, server, "--quiet", "--json"))
    assert (code, json.loads(out)["reused"]) == (0, len(before))
    assert sorted([*before, *(text_of(request).upper() for request in server.asked)]) == sorted(predictions(whole))
    assert output.read_bytes() == whole.read_bytes()


def test_a_run_killed_again_and_again_asks_nothing_twice(predict, tmp_path, output):
    killed_again_and_again(predict, tmp_path, output, kills=2)


@pytest.mark.release
def test_a_run_killed_two_hundred_times_asks_nothing_twice(predict, tmp_path, output):
    killed_again_and_again(predict, tmp_path, output, kills=200)


@pytest.mark.parametrize("how", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.release)])
def test_an_interrupted_run_says_so_and_goes_on_later(predict, tmp_path, output, how):
    dataset = write(tmp_path / "d", 60)
    with chat_server(lambda request: Said(echoed(request).body, silent=0.1)) as server:
        with started(*asking(dataset, output, server)) as process:
            wait_for(server, 3 * CONCURRENCY)
            process.send_signal(how)
            out, err = process.communicate(timeout=10)
        assert process.returncode == 130
        assert (out, err.split("\n")) == ("", ["", "mmscore: interrupted. Run the same command again to continue.", ""])
        before = stored(output)
        statuses = pq.read_table(output)["prediction_status"].to_pylist()
        assert (statuses.count("ok"), set(statuses)) == (len(before), {"ok", "skipped"})
        assert len(before) >= 2 * CONCURRENCY
        server.asked.clear()
        summary = json.loads(predict(*asking(dataset, output, server, "--json"))[1])
    assert summary["reused"] == len(before)
    assert len(server.asked) == summary["asked"] == 60 - len(before)
