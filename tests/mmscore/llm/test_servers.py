"""Several API servers share the questions: by their speed, without one that fails, with it again when it is back."""

import asyncio
import re
import time

import pytest

from mmconvert.core.errors import Error
from mmscore.llm.client import Chat, Endpoint, build_chat_url, gather_in_order
from mmscore.llm.servers import Place, Server, Servers
from support.chat_server import Said, chat_server, find_closed_port, refused, said, script

CLOSED = "http://127.0.0.1:{}/v1"


def ask_many(count, *urls, probe=False, **options):
    first, *more = map(build_chat_url, urls)
    quick = {"first_wait": 0.001, "silence_seconds": 0.5, "total_seconds": 5.0, **options}
    with Chat(Endpoint(first, "loopback", None, more_urls=tuple(more), **quick)) as chat:
        if probe:
            chat.run(chat.note_models())
        turns = [[{"role": "user", "content": str(number)}] for number in range(count)]
        return chat.run(gather_in_order(chat.ask(turn, {}) for turn in turns))


def echo(request):
    return said(request["messages"][-1]["content"])


def slowly(seconds):
    return lambda request: Said(echo(request).body, silent=seconds)


@pytest.fixture
def quick_pauses(monkeypatch):
    monkeypatch.setattr("mmscore.llm.servers._FIRST_PAUSE", 0.05)
    monkeypatch.setattr("mmscore.llm.servers._LONGEST_PAUSE", 0.2)


@pytest.mark.parametrize("concurrency", [2, None])
def test_a_fast_server_answers_more_than_a_slow_one(concurrency):
    with chat_server(slowly(0.01)) as fast, chat_server(slowly(0.1)) as slow:
        answers = ask_many(150, fast.url, slow.url, concurrency=concurrency)
    assert [answer.text for answer in answers] == [str(number) for number in range(150)]
    assert len(fast.asked) + len(slow.asked) == 150
    assert len(fast.asked) > 3 * len(slow.asked) > 0


def test_the_limit_is_that_of_each_server():
    with chat_server(slowly(0.05)) as one, chat_server(slowly(0.05)) as other:
        ask_many(40, one.url, other.url, concurrency=3)
    assert one.most_at_once == other.most_at_once == 3


def test_a_server_that_is_not_there_is_left_out_and_named(capfd):
    closed = CLOSED.format(find_closed_port())
    with chat_server(echo) as server:
        answers = ask_many(30, closed, server.url, probe=True, tries=1)
    assert [answer.text for answer in answers] == [str(number) for number in range(30)]
    told = capfd.readouterr().err.splitlines()
    assert told == [f"mmscore: {closed}/chat/completions: left out, and tried again in 1 s (Connection refused)."]


def test_no_server_there_ends_the_run():
    closed = [CLOSED.format(find_closed_port()) for _ in range(2)]
    with pytest.raises(Error, match=rf"{closed[0]}.*, {closed[1]}.*: the API server cannot be reached"):
        ask_many(3, *closed, probe=True)
    # Without the probe, as when servers die midway: each question is tried, and three that fail end the run.
    with pytest.raises(Error, match="questions failed in a row"):
        ask_many(30, *closed, tries=2)


@pytest.mark.parametrize(
    "fault",
    [refused(500), Said(headless=True), Said(silent=9), refused(429), refused(404), refused(401), Said(b"<html>")],
    ids=["500", "reset", "silence", "429", "404", "401", "no json"],
)
def test_what_one_server_fails_another_answers_and_no_try_is_lost(fault):
    with chat_server(script(fault)) as bad, chat_server(echo) as good:
        answers = ask_many(20, bad.url, good.url, tries=1, total_seconds=0.9, concurrency=4)
    assert [answer.text for answer in answers] == [str(number) for number in range(20)]
    assert len(good.asked) == 20
    assert bad.asked


def test_a_server_that_fails_is_tried_again_with_growing_pauses(quick_pauses, capfd):
    def say(_):
        return said("back") if time.monotonic() > back else refused(500)

    back = time.monotonic() + 1.0
    with chat_server(say) as bad, chat_server(slowly(0.02)) as good:
        answers = ask_many(400, bad.url, good.url, concurrency=4, tries=1)
    assert all(answer.status == "ok" for answer in answers)
    told = capfd.readouterr().err.splitlines()
    assert len(told) == 2
    assert "left out, and tried again in 0.05 s (500 no)" in told[0]
    assert re.fullmatch(rf"mmscore: {bad.url}/chat/completions: answers again\.", told[1])
    assert sum(answer.text == "back" for answer in answers) > 50
    # Three failures and those under way with them; then one each after 0.05, 0.1, 0.2, 0.2 ... seconds.
    failures = len(bad.asked) - sum(answer.text == "back" for answer in answers)
    assert 5 <= failures <= 3 + 4 + 8


def test_a_pause_holds_one_server_only():
    seen = []

    def say(request):
        seen.append(time.monotonic())
        return refused(429, **{"Retry-After": "1"}) if len(seen) == 1 else echo(request)

    with chat_server(say) as paused, chat_server(slowly(0.02)) as other:
        start = time.monotonic()
        answers = ask_many(20, paused.url, other.url, concurrency=1, tries=1)
        took = time.monotonic() - start
    assert all(answer.status == "ok" for answer in answers)
    assert took < 0.9
    assert len(seen) == 1


def test_a_question_that_every_server_fails_is_one_failure():
    def say(request):
        return refused(500) if request["messages"][-1]["content"] == "3" else echo(request)

    with chat_server(say) as one, chat_server(say) as other:
        answers = ask_many(12, one.url, other.url, concurrency=1, tries=3)
    assert [answer.status for answer in answers] == ["failed" if number == 3 else "ok" for number in range(12)]
    asked = [prompt for server in (one, other) for prompt in server.prompts() if prompt == "3"]
    assert 3 <= len(asked) <= 5  # three tries, and once at each server for nothing


def test_a_server_with_another_model_is_named_and_asked_nothing(capfd):
    with chat_server(echo, ["other"]) as wrong, chat_server(echo) as right:
        answers = ask_many(10, wrong.url, right.url, probe=True)
    assert [answer.text for answer in answers] == [str(number) for number in range(10)]
    assert wrong.asked == []
    assert f"{wrong.url}/chat/completions: left out" in (told := capfd.readouterr().err)
    assert "it has no model 'loopback', but other" in told


@pytest.mark.parametrize("at_once", [False, True])
def test_the_only_server_is_never_left_out(at_once, capfd):
    async def fail(count):
        servers = Servers([Server(f"http://{number}/v1/chat/completions", 1) for number in range(count)])
        for began in range(20):
            servers.add_failure(servers.all[0], "it is slow", float(began), at_once=at_once)
        return servers.all[0].is_out

    assert asyncio.run(fail(1)) is False
    assert capfd.readouterr().err == ""
    assert asyncio.run(fail(2)) is True
    assert capfd.readouterr().err.count("left out, and tried again in 1 s (it is slow)") == 1


@pytest.mark.parametrize(("most", "text"), [(1, "a, ..."), (2, "a, b, ..."), (3, "a, b, c"), (4, "a, b, c")])
def test_so_many_models_of_a_server_are_named(most, text):
    server = Server("http://a/v1/chat/completions", 1)
    server.models = ["a", "b", "c"]
    assert server.describe_models(most) == text


def test_a_name_that_no_server_lists_may_be_an_alias():
    with chat_server(echo, ["a"]) as one, chat_server(echo, ["b"]) as other:
        assert ask_many(1, one.url, other.url, probe=True)[0].text == "0"


def test_who_gives_up_waiting_keeps_no_place():
    async def run():
        servers = Servers([Server("http://a/v1/chat/completions", 1)])
        async with Place(servers):
            waiting = [asyncio.ensure_future(servers.take()) for _ in range(3)]
            await asyncio.sleep(0)
            waiting[0].cancel()
        # The place is with the second now, who is cancelled before it knows.
        waiting[1].cancel()
        assert await asyncio.wait_for(waiting[2], 5) is servers.all[0]
        assert servers.all[0].taken == 1

    asyncio.run(run())


def test_growth_lets_several_in():
    async def run():
        server = Server("http://a/v1/chat/completions", None)
        servers = Servers([server])
        async with Place(servers):
            waiting = [asyncio.ensure_future(servers.take()) for _ in range(5)]
            await asyncio.sleep(0)
            server.auto.limit = 3
        await asyncio.sleep(0)
        assert [one.done() for one in waiting] == [True, True, True, False, False]
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    asyncio.run(run())
