"""Cases put to a model: tries, stored replies, and runs that break off."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter

import pytest
from msgspec.structs import replace

from mmconvert.core.errors import Error, UsageError
from mmscore.core.judge import LEAVE, Case, Judge, JudgeQuestion, KitPrompts, NoVerdict, Verdict
from mmscore.core.parsed import UNPARSED, Parsed
from mmscore.core.recipe import Item
from mmscore.llm.cache_lock import hold
from mmscore.llm.client import Chat, Endpoint, build_chat_url
from mmscore.llm.response_cache import AnswerStore
from mmscore.scoring.judging.jury import DryJury, JudgeSetting, ModelJury
from support.chat_server import Said, chat_server, refused, said, script
from support.predictions import write_predictions

pytestmark = pytest.mark.slow

TRIES = 3


def _step(case, replies):
    if case.item.prediction == "clear":
        return LEAVE
    if replies and replies[-1].isupper():
        return Verdict(Parsed(replies[-1], "judge"))
    if len(replies) == TRIES:
        return NoVerdict("three responses in small letters")
    return JudgeQuestion(case.item.prediction, {"temperature": 0.5 * len(replies)}, system="Shout.")


JUDGE = Judge("shouts", "own", {"1": "test"}, {"all": "every row"}, "all", (), _step, tries=TRIES)


def _cases(*predictions):
    return [Case(Item(prediction=p), UNPARSED, {}, "1", "all") for p in predictions]


def _judged(server, folder, predictions, *, judge=JUDGE, again=False, generation=None, **endpoint):
    setting = JudgeSetting("shouts", judge, "1", "all", "loopback", None, generation or {})
    quick = {"first_wait": 0.001, "tries": 2, **endpoint}
    path = folder / "judge.sqlite"
    with (
        Chat(Endpoint(build_chat_url(server.url), "loopback", None, **quick)) as chat,
        hold(path) as held,
        AnswerStore(held, fingerprint="") as store,
    ):
        jury = ModelJury(setting, chat, store, again=again)
        return jury.judge(_cases(*predictions)), jury.tally


def _shout_when_warm(request):
    text = request["messages"][-1]["content"]
    return said(text.upper() if request["temperature"] >= 1 else text)


def test_each_row_has_its_own_tries_and_each_try_its_options(tmp_path):
    with chat_server(_shout_when_warm) as server:
        outcomes, tally = _judged(server, tmp_path, ["a", "clear", "b"])
    assert [outcome.step for outcome in outcomes] == [
        Verdict(Parsed("A", "judge")), LEAVE, Verdict(Parsed("B", "judge")),
    ]  # fmt: skip
    assert [(outcome.tries, outcome.reply) for outcome in outcomes] == [(3, "A"), (0, None), (3, "B")]
    assert Counter(request["temperature"] for request in server.asked) == {0: 2, 0.5: 2, 1: 2}
    assert server.asked[0]["messages"][0] == {"role": "system", "content": "Shout."}
    assert (tally.rows, tally.asked, tally.failed) == (2, 6, 0)


def test_what_the_user_sets_wins_over_the_protocol(tmp_path):
    with chat_server(_shout_when_warm) as server:
        outcomes, _ = _judged(server, tmp_path, ["a"], generation={"temperature": 2})
    assert outcomes[0].tries == 1
    assert server.asked[0]["temperature"] == 2


def test_equal_questions_are_asked_once(tmp_path):
    def say(request):
        return Said(_shout_when_warm(request).body, silent=0.02)

    with chat_server(say) as server:
        outcomes, _ = _judged(server, tmp_path, ["a"] * 20)
    assert len(server.asked) == 3
    assert {outcome.reply for outcome in outcomes} == {"A"}


def test_stored_replies_are_walked_again_without_a_call(tmp_path):
    with chat_server(_shout_when_warm) as server:
        first, _ = _judged(server, tmp_path, ["a", "b"])
        second, tally = _judged(server, tmp_path, ["b", "a"])
    assert first == second[::-1]
    assert (len(server.asked), tally.stored, tally.asked) == (6, 6, 0)


@pytest.mark.parametrize("change", [{"generation": {"seed": 1}}, {"predictions": ["b"]}])
def test_what_a_reply_depends_on_is_in_its_key(tmp_path, change):
    with chat_server(_shout_when_warm) as server:
        _judged(server, tmp_path, ["a"])
        _judged(server, tmp_path, **({"predictions": ["a"]} | change))
    assert len(server.asked) == 6


def test_rows_without_a_verdict_are_asked_anew_when_told_each_question_once(tmp_path):
    with chat_server(lambda request: said("small")) as server:
        _judged(server, tmp_path, ["a", "a"])
        assert len(server.asked) == 3
        outcomes, tally = _judged(server, tmp_path, ["a", "a"], again=True)
    assert all(isinstance(outcome.step, NoVerdict) for outcome in outcomes)
    assert len(server.asked) == 6
    assert (tally.asked, tally.failed) == (3, 2)


def test_a_call_without_a_reply_ends_the_rows_tries(tmp_path):
    def say(request):
        return refused(400, "too long") if request["temperature"] else said("small")

    with chat_server(say) as server:
        (outcome,), _ = _judged(server, tmp_path, ["a"])
    assert outcome.step == NoVerdict("no response: 400 too long")
    assert (outcome.reply, outcome.tries) == (None, 2)
    assert len(server.asked) == 2


def test_a_stored_refusal_is_no_reply_from_the_store(tmp_path):
    with chat_server(lambda request: refused(400, "too long")) as server:
        _judged(server, tmp_path, ["a"])
        _, tally = _judged(server, tmp_path, ["a"])
    assert (len(server.asked), tally.stored, tally.failed) == (1, 0, 1)


def test_a_failure_that_passes_by_itself_is_asked_about_in_the_next_run(tmp_path):
    with chat_server(script(refused(503), refused(503), said("LOUD"))) as server:
        (lost,), _ = _judged(server, tmp_path, ["a"])
        (found,), tally = _judged(server, tmp_path, ["a"])
    assert isinstance(lost.step, NoVerdict)
    assert (found.reply, tally.stored, tally.asked) == ("LOUD", 0, 1)


def test_a_verdict_that_was_cut_off_is_named(tmp_path):
    with chat_server(lambda request: said("small", "length")) as server:
        (outcome,), _ = _judged(server, tmp_path, ["a"])
    assert outcome.step.reason.endswith("the response was cut off, allow more max_tokens")


def test_a_protocol_that_never_ends_is_named(tmp_path):
    endless = Judge("x", "own", {"1": ""}, {"all": ""}, "all", (), lambda case, replies: JudgeQuestion("?"), tries=2)
    with chat_server(lambda request: said("x")) as server, pytest.raises(Error, match="asks more than its 2 tries"):
        _judged(server, tmp_path, ["a"], judge=endless)


def _forgets(first):
    def step(case, replies):
        return None if replies or not first else JudgeQuestion("?")

    return Judge("x", "own", {"1": ""}, {"all": ""}, "all", (), step)


@pytest.mark.parametrize("first", [True, False])
def test_a_protocol_that_says_nothing_is_named(tmp_path, first):
    said_nothing = r"judge 'shouts': `step` returns no Question, Verdict, NoVerdict or LEAVE \(got None\)"
    with chat_server(lambda request: said("x")) as server, pytest.raises(Error, match=said_nothing):
        _judged(server, tmp_path, ["a"], judge=_forgets(first))
    with pytest.raises(Error, match=said_nothing):
        DryJury(JudgeSetting("shouts", _forgets(False), "1", "all"), None).judge(_cases("a"))


def test_replies_before_a_fatal_error_are_kept(tmp_path):
    def say(request):
        return refused(401) if len(server.asked) > 4 else said("LOUD")

    rows = [f"row {n}" for n in range(10)]
    with chat_server(say) as server, pytest.raises(Error, match="rejects the key"):
        _judged(server, tmp_path, rows, concurrency=1)
    with chat_server(lambda request: said("LOUD")) as server:
        _judged(server, tmp_path, rows)
    assert len(server.asked) == 6


def test_a_dry_run_counts_what_stored_replies_leave_open(tmp_path):
    setting = JudgeSetting("shouts", JUDGE, "1", "all", "loopback", None, {"max_tokens": 5})
    with chat_server(lambda request: said("small")) as server:
        _judged(server, tmp_path, ["a"], generation={"max_tokens": 5})
    with hold(tmp_path / "judge.sqlite") as held, AnswerStore(held, fingerprint="") as store:
        for again, calls in ((False, 1), (True, 2)):
            jury = DryJury(setting, store, again=again)
            assert {outcome.step for outcome in jury.judge(_cases("a", "clear", "b", "b"))} == {LEAVE}
            guess = jury.estimate
            assert (guess.rows, guess.calls, guess.most_calls, guess.stored) == (3, calls, calls * TRIES, 3)
            assert guess.most_completion_tokens == 5 * calls
    assert len(server.asked) == 3


@pytest.mark.parametrize(
    "blow",
    [signal.SIGKILL, *(pytest.param(told, marks=pytest.mark.release) for told in (signal.SIGTERM, signal.SIGINT))],
)
def test_a_run_that_is_stopped_repeats_at_most_what_was_under_way(tmp_path, blow):
    rows = [{"id": str(n), "question": "?", "prediction": f"answer {n}", "answer": "x"} for n in range(30)]
    file = write_predictions(tmp_path / "p.parquet", rows, task="vqa")
    doomed = []

    def say(request):
        if len(server.asked) == 12 and doomed:
            os.kill(doomed.pop().pid, blow)
        even = int(request["messages"][-1]["content"].split("\nanswer ")[1].split("\n")[0]) % 2 == 0
        return Said(said(json.dumps({"verdict": "correct" if even else "incorrect"})).body, silent=0.02)

    with chat_server(say) as server:
        command = [sys.executable, "-m", "mmscore", file, "--recipe", "own_short_answer", "--judge", "own", "--json"]
        command += ["--judge-base-url", server.url, "--judge-concurrency", "4"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            doomed.append(process)
            out, err = process.communicate(timeout=60)
        assert process.returncode == (-signal.SIGKILL if blow == signal.SIGKILL else 130)
        assert (out, b"Traceback" in err) == (b"", False)
        again = subprocess.run(command, capture_output=True, check=True)
    asked = Counter(server.prompts())
    assert len(asked) == 30
    assert asked.total() <= 30 + 4
    (entry,) = json.loads(again.stdout)["entries"]
    assert entry["metrics"]["accuracy"]["value"] == 0.5


def test_a_row_gets_the_frameworks_prompt_that_it_needs_or_none():
    kit = KitPrompts("a framework", choose=lambda item, options: options.get("kind"))
    prompts = {"short": "Is it {answer}?"}
    setting = JudgeSetting("shouts", replace(JUDGE, kit_prompts=kit), "1", "all", kit_prompts=prompts)

    def choose_wording(kind):
        return setting.build_case(Item(prediction="a"), UNPARSED, {}, {"kind": kind}).wording

    assert choose_wording("short") == "Is it {answer}?"
    assert choose_wording(None) is None
    with pytest.raises(UsageError, match="no prompt 'long' was read, of short"):
        choose_wording("long")
