"""Judges whose questions go through a batch API: the same reports as one by one, and nothing paid for twice."""

import json
import random
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from mmconvert.core.errors import Error, UsageError
from mmscore.core.report import json_text
from mmscore.llm import batches as batches_module
from mmscore.llm.cache_lock import hold
from mmscore.llm.response_cache import AnswerStore
from mmscore.scoring.evaluate import score
from mmscore.scoring.judging.request import JudgeRequest
from support.batch_server import batch_server
from support.chat_server import Said, find_closed_port, refused, said
from support.predictions import write_predictions

pytestmark = pytest.mark.slow

ROWS = [{"id": str(n), "question": "?", "prediction": f"answer {n}", "answer": "x"} for n in range(6)]

JUDGE_FILE = """
from mmscore.core.judge import Judge, JudgeQuestion, NoVerdict, Verdict

def _step(case, replies):
    if replies and replies[-1].isdigit():
        return Verdict(None, {"accuracy": int(replies[-1]) % 2})
    if len(replies) == 3:
        return NoVerdict("three responses without a number")
    return JudgeQuestion(f"{len(replies)} {case.item.prediction}", {"temperature": len(replies)})

JUDGE = Judge("numbers", "own", {"1": "test"}, {"all": "every row"}, "all", (), _step, tries=3)
"""

DATED_RECIPE = """
from mmscore.core.judge import Judge, JudgeQuestion, Verdict
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Recipe

def _parse(item, version):
    return Parsed(f"as {version} reads it", "version")

def _step(case, replies):
    return Verdict(None, {"accuracy": 1.0}) if replies else JudgeQuestion(case.parsed.value, {})

def _rate(item, parsed, version):
    return {"accuracy": 0.0}

RECIPE = Recipe("Dated", "own", {"new": "n", "old": "o"}, ("answer",), _parse, _rate, lambda facts: None)
JUDGE = Judge("dated", "own", {"1": "test"}, {"all": "every row"}, "all", (), _step)
"""


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(batches_module, "_FIRST_PAUSE", 0.005)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def file(tmp_path):
    (tmp_path / "numbers.py").write_text(JUDGE_FILE)
    return write_predictions(tmp_path / "p.parquet", ROWS, task="vqa")


def _number(prompt):
    return int(prompt.split()[-1])


def _say(request):
    """Say a number at the first try to even answers, at the second to 1 and 3, and never to 5."""
    prompt = request["messages"][-1]["content"]
    number, tries = _number(prompt), request["temperature"]
    return said(str(number) if number % 2 == 0 or (tries and number != 5) else "well")


def _judged(file, server, **request):
    """Score with a judge; give the report as text, and what judging took."""
    spent = []
    judge = f"{file.parent / 'numbers.py'}@JUDGE" if "name" not in request else request.pop("name")
    cache = str(file.parent / request.pop("cache", "batch.sqlite"))
    asked = JudgeRequest(judge, base_url=server.url, cache=cache, spent=spent.append, **({"batch": True} | request))
    report = score(file, "own_short_answer", judge=asked)
    return json_text(report.to_json()), spent


def _reasons(text):
    (entry,) = json.loads(text)["entries"]
    reasons = [one.partition(" judge: ")[2] for one in entry["messages"] if " judge: " in one]
    return entry["counts"]["judge_failed"], [one.partition(" Judge them")[0] for one in reasons]


def test_batches_and_single_requests_give_the_same_report_round_by_round(file):
    with batch_server(_say) as server:
        batched, (spent,) = _judged(file, server)
        assert server.single == []
        alone, (one_by_one,) = _judged(file, server, batch=False, cache="single.sqlite")
    assert batched == alone
    assert [len(requests) for requests in server.requests()] == [6, 3, 1]
    assert (spent.asked, spent.calls, spent.stored, spent.failed, spent.rows) == (10, 10, 0, 1, 6)
    assert (spent.prompt_tokens, spent.completion_tokens) == (
        one_by_one.prompt_tokens,
        one_by_one.completion_tokens,
    )
    bodies = [json.dumps(one["body"]) for requests in server.requests() for one in requests]
    assert sorted(bodies) == sorted(map(json.dumps, server.single))


def test_a_second_run_reads_the_cache_whichever_way_it_was_filled(file):
    with batch_server(_say) as server:
        first, _ = _judged(file, server)
        second, (spent,) = _judged(file, server, batch=False)
        third, _ = _judged(file, server)
    assert first == second == third
    assert (spent.stored, spent.asked, len(server.batches), server.single) == (10, 0, 3, [])


def test_all_judges_and_repeats_go_together_a_batch_a_model(file):
    with batch_server(lambda request: said("1")) as server:
        _judged(file, server, model=("m", "n"), repeats=2)
    assert [({one["body"]["model"] for one in r}, len(r)) for r in server.requests()] == [({"m"}, 12), ({"n"}, 12)]


def test_a_batch_asks_about_what_the_version_of_the_recipe_read(file):
    (file.parent / "dated.py").write_text(DATED_RECIPE)
    recipe = f"{file.parent / 'dated.py'}@RECIPE"
    with batch_server(lambda request: said("1")) as server:
        request = JudgeRequest(f"{file.parent / 'dated.py'}@JUDGE", base_url=server.url, batch=True)
        score(file, f"{recipe}@old", judge=request)
    assert {*server.prompts()} == {"as old reads it"}
    assert server.single == []


@pytest.mark.parametrize("cache", [None, "shared.sqlite"])
def test_questions_about_several_files_go_together(file, cache):
    other = write_predictions(file.parent / "q.parquet", [{**row, "prediction": f"other {row['id']}"} for row in ROWS])
    spent = []
    with batch_server(_say) as server:
        judge = f"{file.parent / 'numbers.py'}@JUDGE"
        place = None if cache is None else str(file.parent / cache)
        request = JudgeRequest(judge, base_url=server.url, cache=place, batch=True, spent=spent.append)
        report = score([file, other], "own_short_answer", judge=request)
        first, again = (score([file, other], "own_short_answer", judge=request) for _ in range(2))
    sizes = [len(requests) for requests in server.requests()]
    assert sizes == ([12, 6, 2] if cache else [6, 6, 3, 3, 1, 1])
    assert report == first == again
    assert [entry.counts.judge_failed for entry in report.entries] == [1, 1]
    assert [one.calls for one in spent] == [10, 10, 0, 0, 0, 0]


@pytest.mark.parametrize(("limit", "value"), [("MOST_REQUESTS", 4), ("MOST_BYTES", 1150)])
def test_a_file_holds_no_more_than_the_api_takes(file, monkeypatch, limit, value):
    monkeypatch.setattr(batches_module, limit, value)
    with batch_server(lambda request: said("1")) as server:
        _judged(file, server)
    assert [len(requests) for requests in server.requests()] == [4, 2]
    assert sorted(map(_number, server.prompts())) == [0, 1, 2, 3, 4, 5]


def test_a_file_may_be_as_long_as_the_api_takes_and_not_a_byte_longer(file, monkeypatch):
    with batch_server(lambda request: said("1")) as server:
        _judged(file, server)
        (batch,) = server.batches.values()
        length = len(server.files[batch["input_file_id"]])
        for less in (0, 1):
            monkeypatch.setattr(batches_module, "MOST_BYTES", length - less)
            _judged(file, server, cache=f"{less}.sqlite")
    assert [len(requests) for requests in server.requests()] == [6, 6, 5, 1]


def test_lines_in_any_order_twice_or_of_nobody_change_nothing(file):
    def twist(lines):
        other = json.loads(lines[0])
        wrong = json.loads(lines[0])
        wrong["response"]["body"] = json.loads(said("7").body)
        foreign = json.dumps({**other, "custom_id": "x"}).encode()
        return [b"not JSON", b"[]", *lines[::-1], foreign, json.dumps(wrong).encode()]

    with batch_server(_say, twist=twist) as server:
        batched, _ = _judged(file, server)
        alone, _ = _judged(file, server, batch=False, cache="single.sqlite")
    assert batched == alone


def test_a_refused_row_is_the_same_state_as_one_by_one(file):
    def say(request):
        return refused(400, "too long") if _number(request["messages"][-1]["content"]) == 3 else said("1")

    with batch_server(say) as server:
        batched, _ = _judged(file, server)
        alone, _ = _judged(file, server, batch=False, cache="single.sqlite")
    assert batched == alone
    assert _reasons(batched) == (1, ["no response: 400 too long."])


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ({"end": "expired", "keep": lambda p: _number(p) != 3}, "This request was not executed: expired."),
        ({"end": "cancelled", "keep": lambda p: _number(p) != 3}, "This request was not executed: cancelled."),
        ({"forget": lambda p: _number(p) == 3}, "the batch's output lacks it."),
    ],
)
def test_rows_without_a_response_fail_and_are_sent_again_by_the_next_run(file, behaviour, reason):
    with batch_server(lambda request: said("1"), **behaviour) as server:
        text, (spent,) = _judged(file, server)
        assert _reasons(text) == (1, [f"no response: {reason}"])
        assert (spent.asked, spent.failed) == (5, 1)
        server.end, server.keep, server.forget = "completed", lambda p: True, lambda p: False
        again, _ = _judged(file, server)
    assert _reasons(again) == (0, [])
    assert [len(requests) for requests in server.requests()] == [6, 1]


def test_a_batch_that_fails_as_a_whole_says_why(file):
    with batch_server(_say, end="failed") as server:
        text, _ = _judged(file, server)
    failed, reasons = _reasons(text)
    assert failed == 6
    assert set(reasons) == {"no response: the batch failed: no such model."}


@pytest.mark.parametrize("status", [404, 405, 501])
def test_a_server_without_a_batch_api_is_refused_before_anything_is_asked(file, status):
    with batch_server(_say, no_batches=status) as server:
        with pytest.raises(UsageError, match=rf"has no batch API \({status} Not Found\)\. Leave --judge-batch out\."):
            _judged(file, server)
        assert server.single == []


def test_a_batch_whose_start_was_not_confirmed_is_not_started_twice(file):
    with batch_server(lambda request: said("1"), answer_to_create=[refused(503)]) as server:
        text, _ = _judged(file, server)
    assert (len(server.batches), _reasons(text)[0]) == (1, 0)


def test_a_key_that_the_server_repeats_is_shown_and_kept_nowhere(file, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-shown")
    lines = []

    def say(request):
        number = _number(request["messages"][-1]["content"])
        return refused(400, "your key sk-never-shown") if number == 3 else said("sk-never-shown 1")

    def twist(outcomes):
        lacking = json.loads(outcomes[0]) | {"response": None, "error": {"message": "sk-never-shown"}}
        return [json.dumps(lacking).encode(), *outcomes]

    with batch_server(say, twist=twist) as server:
        text, _ = _judged(file, server, announce=lines.append)
    assert "***" in text
    assert "sk-never-shown" not in text + "".join(lines)
    assert b"sk-never-shown" not in b"".join(one.read_bytes() for one in file.parent.iterdir() if one.is_file())


def test_a_server_that_cannot_be_reached_is_named_with_the_reason(file):
    closed = SimpleNamespace(url=f"http://127.0.0.1:{find_closed_port()}/v1")
    with pytest.raises(Error, match=rf"{closed.url}.*: the API server cannot be reached \(Connection refused\)\."):
        _judged(file, closed, model="m")


@pytest.mark.parametrize("cap", [{"max_calls": 4}, {"max_total_tokens": 12}])
def test_caps_hold_for_batches_too(file, cap):
    with batch_server(lambda request: said("1")) as server:
        text, (spent,) = _judged(file, server, **cap)
    assert (len(server.prompts()), spent.unasked, _reasons(text)[0]) == (4, 2, 2)


def test_a_verdict_is_asked_for_anew_in_batches_too(file):
    with batch_server(_say) as server:
        _judged(file, server)
        server.say = lambda request: said("7") if request["temperature"] == 2 else said("well")
        text, (spent,) = _judged(file, server, rejudge=True)
    assert _reasons(text)[0] == 0
    assert [len(requests) for requests in server.requests()] == [6, 3, 1, 1, 1, 1]
    assert spent.asked == 3


def test_requests_under_way_in_a_batch_are_not_sent_one_by_one(file):
    with batch_server(_say) as server:
        cache = file.parent / "batch.sqlite"
        with hold(cache) as held, AnswerStore(held, fingerprint="") as store:
            url = f"{server.url}/chat/completions"
            store.keep_batch("file-1", {"url": url, "file": "file-1", "batch": "batch_1", "keys": ["a", "b"]})
        with pytest.raises(UsageError, match="2 requests are under way in a batch"):
            _judged(file, server, batch=False)
        assert server.single == []


@pytest.mark.parametrize(
    "body",
    [
        b"not JSON",
        b"[]",
        b'{"id": "../models", "status": "validating"}',
        b'{"id": "batch_0", "status": "odd"}',
        b'{"id": 7, "status": "validating"}',
        b'{"id": "batch_0", "status": ["validating"]}',
    ],
)
def test_a_response_that_is_no_batch_is_named_and_the_file_is_sent_once(file, body):
    with batch_server(lambda request: said("1"), answer_to_create=[Said(body)]) as server:
        with pytest.raises(Error, match="answers with no batch"):
            _judged(file, server)
        text, _ = _judged(file, server)
    assert (len(server.batches), _reasons(text)[0]) == (1, 0)


def test_a_batch_that_the_server_has_lost_is_sent_again_by_the_run_after(file):
    def stop(line):
        if "validating" in line:
            raise Error("stopped")

    with batch_server(lambda request: said("1")) as server:
        with pytest.raises(Error, match="stopped"):
            _judged(file, server, announce=stop)
        server.batches.clear()
        text, _ = _judged(file, server)
        assert set(_reasons(text)[1]) == {"no response: the API server has no such batch any more."}
        again, _ = _judged(file, server)
    assert _reasons(again)[0] == 0


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_stopped_goes_on_with_the_batch_it_paid_for(file, blow):
    with batch_server(lambda request: said("1")) as server:
        server.hold.clear()
        single = [sys.executable, "-m", "mmscore", str(file), "--recipe", "own_short_answer", "--json"]
        single += ["--judge", f"{file.parent / 'numbers.py'}@JUDGE", "--judge-base-url", server.url]
        command = [*single, "--judge-batch"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert server.seen.wait(60)
            process.send_signal(blow)
            out, err = process.communicate(timeout=60)
        assert (out, b"Traceback" in err, b"6 requests sent" in err) == (b"", False, True)
        assert process.returncode == (-signal.SIGKILL if blow == signal.SIGKILL else 130)
        server.hold.set()
        again = subprocess.run(command, capture_output=True, check=True)
        single += ["--judge-cache", str(file.parent / "single.sqlite")]
        alone = subprocess.run(single, capture_output=True, check=True)
    assert len(server.batches) == 1
    assert b"0 responses from the store, 6 new in 6 calls" in again.stderr
    assert again.stdout == alone.stdout


@pytest.mark.release
@pytest.mark.parametrize("seed", range(4))
def test_kills_at_any_time_pay_for_no_batch_twice(file, seed):
    moments = random.Random(seed)
    with batch_server(_say) as server:
        command = [sys.executable, "-m", "mmscore", str(file), "--recipe", "own_short_answer", "--json"]
        command += ["--judge", f"{file.parent / 'numbers.py'}@JUDGE", "--judge-base-url", server.url, "--judge-batch"]
        for _ in range(5):
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                time.sleep(moments.uniform(0.8, 4))
                process.kill()
        done = subprocess.run(command, capture_output=True, check=False)
    assert [len(requests) for requests in server.requests()] == [6, 3, 1]
    assert json.loads(done.stdout)["entries"][0]["counts"]["judge_failed"] == 1
