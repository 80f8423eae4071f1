"""The client against a service that misbehaves in every way it knows."""

import gzip
import json
import random
import ssl
import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx2
import pytest

from mmconvert.core.errors import Error, UsageError
from mmscore.llm.budget import CapReachedError, Price, estimate_most_tokens, read_price
from mmscore.llm.client import Chat, Endpoint, build_chat_url, gather_in_order, read_key
from support.chat_server import Said, chat_server, find_closed_port, refused, said, script

TURN = [{"role": "user", "content": "1 + 1?"}]
KEY = "sk-loopback-0123456789"


def _endpoint(url, **options):
    quick = {"first_wait": 0.001, "silence_seconds": 0.5, "total_seconds": 5.0, **options}
    return Endpoint(build_chat_url(url), "loopback", KEY, **quick)


def _ask(say, **options):
    with chat_server(say) as server, Chat(_endpoint(server.url, **options)) as chat:
        return chat.run(chat.ask(TURN, {"temperature": 0})), server, chat.totals


def test_a_reply_comes_with_its_finish_reason_and_tokens():
    answer, server, totals = _ask(script(said("It is 2.", "length")))
    assert (answer.text, answer.finish_reason, answer.prompt_tokens, answer.completion_tokens) == (
        "It is 2.",
        "length",
        7,
        3,
    )
    assert server.asked == [{"model": "loopback", "messages": TURN, "temperature": 0}]
    assert server.heads[0]["Authorization"] == f"Bearer {KEY}"
    assert server.heads[0]["Accept-Encoding"] == "identity"
    assert (totals.calls, totals.replies, totals.prompt_tokens, totals.completion_tokens) == (1, 1, 7, 3)


def test_the_base_url_is_taken_with_or_without_the_last_part():
    with chat_server(script(said("A"))) as server:
        for url in (server.url, server.url + "/", server.url + "/chat/completions"):
            with Chat(_endpoint(url)) as chat:
                assert chat.run(chat.ask(TURN, {})).text == "A"
    assert {head["path"] for head in server.heads} == {"/v1/chat/completions"}


def test_an_empty_text_is_a_reply_and_no_text_is_none():
    assert _ask(script(said("")))[0].text == ""
    answer, server, _ = _ask(script(said(None, "content_filter")))
    assert answer.status == "failed"
    assert "content_filter" in answer.error
    assert len(server.asked) == 1


HALF = said("half").body[:40]
PASSING = {
    "refused": refused(500),
    "overloaded": refused(429),
    "overloaded_for_a_moment": refused(429, **{"Retry-After": "0.01"}),
    "overloaded_until": refused(429, **{"Retry-After": format_datetime(datetime.now(UTC) - timedelta(days=1))}),
    "pause_negative": refused(503, **{"Retry-After": "-5"}),
    "pause_garbage": refused(503, **{"Retry-After": "soon"}),
    "pause_nan": refused(503, **{"Retry-After": "nan"}),
    "timeout": refused(408),
    "conflict": refused(409),
    "too_early": refused(425),
    "html": Said(b"<html>Bad Gateway</html>", 502),
    "gateway_timeout": Said(b"", 504),
    "empty": Said(b""),
    "cut_json": Said(HALF),
    "html_200": Said(b"<html></html>"),
    "error_200": Said(b'{"error": {"message": "busy"}}'),
    "no_choices": Said(b'{"choices": []}'),
    "a_list": Said(b"[1]"),
    "choice_is_text": Said(b'{"choices": ["x"]}'),
    "deep": Said(b"[" * 100_000),
    "not_utf8": Said(b'{"choices": [{"message": {"content": "\xff"}}]}'),
    "short_body": Said(HALF, hang_up=True),
    "reset": Said(hang_up=True),
    "silent": Said(said("late").body, silent=0.8),
    "not_gzip": Said(b"no gzip", headers={"Content-Encoding": "gzip"}),
}


@pytest.mark.parametrize("name", PASSING)
def test_what_passes_by_itself_is_asked_again(name):
    answer, server, totals = _ask(script(PASSING[name], said("2")))
    assert answer.text == "2"
    assert len(server.asked) == totals.calls == 2


def test_tries_are_bounded_and_the_row_fails_with_the_cause():
    answer, server, _ = _ask(script(refused(503, "overloaded")), tries=4)
    assert (answer.status, answer.text) == ("failed", None)
    assert answer.error == "no response: 503 overloaded"
    assert len(server.asked) == 4


@pytest.mark.parametrize("status", [400, 413, 422, 451])
def test_a_refused_question_fails_alone_and_is_not_repeated(status):
    answer, server, _ = _ask(script(refused(status, "context length exceeded")))
    assert answer.error == f"no response: {status} context length exceeded"
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [401, 403, 404, 405])
def test_what_every_question_would_meet_stops_at_once(status):
    with chat_server(script(refused(status, f"wrong: {KEY}"))) as server, Chat(_endpoint(server.url)) as chat:
        with pytest.raises(Error, match=str(status)) as caught:
            chat.run(gather_in_order(chat.ask(TURN, {}) for _ in range(50)))
        assert KEY not in str(caught.value)
    assert len(server.asked) <= chat.endpoint.concurrency


def test_a_refused_key_is_named_by_its_own_variable():
    with pytest.raises(Error, match="Export the right one as MY_KEY"):
        _ask(script(refused(401)), key_name="MY_KEY")


def test_a_redirect_is_not_followed_and_stops():
    elsewhere = Said(b"", 307, {"Location": "http://other.example/v1"})
    with pytest.raises(Error, match=r"redirect \(307 to http://other.example/v1"):
        _ask(script(elsewhere))


def test_waits_between_tries_double_to_a_bound_less_a_quarter_at_random(monkeypatch):
    waits = []

    async def note(seconds, *_):
        waits.append(seconds)

    with chat_server(script(refused(503))) as server, Chat(_endpoint(server.url, first_wait=1.0, tries=7)) as chat:
        monkeypatch.setattr("mmscore.llm.client.asyncio.sleep", note)
        assert chat.run(chat.ask(TURN, {})).status == "failed"
    bounds = [1, 2, 4, 8, 8, 8]
    assert len(waits) == 6
    assert all(bound * 0.75 <= wait <= bound for wait, bound in zip(waits, bounds, strict=True))
    assert len({wait / bound for wait, bound in zip(waits, bounds, strict=True)}) == 6


@pytest.mark.parametrize(("seconds", "stops"), [("299", False), ("300", False), ("301", True), ("86400", True)])
def test_a_pause_of_more_than_five_minutes_stops_the_run(monkeypatch, seconds, stops):
    async def note(*_):
        chat._servers.all[0].paused_until = 0.0

    with (
        chat_server(script(refused(429, **{"Retry-After": seconds}), said("2"))) as server,
        Chat(_endpoint(server.url)) as chat,
    ):
        monkeypatch.setattr("mmscore.llm.client.asyncio.sleep", note)
        if stops:
            with pytest.raises(Error, match=f"requests a pause of {seconds} s"):
                chat.run(chat.ask(TURN, {}))
        else:
            assert chat.run(chat.ask(TURN, {})).text == "2"


def test_a_long_pause_stops_the_run():
    with pytest.raises(Error, match="pause of 1000000 s"):
        _ask(script(refused(429, **{"Retry-After": "1000000"})))


def test_one_pause_holds_every_question():
    seen = []

    def say(request):
        seen.append(request)
        return refused(429, **{"Retry-After": "0.3"}) if len(seen) == 1 else said("2")

    with chat_server(say) as server, Chat(_endpoint(server.url, concurrency=1)) as chat:
        assert [a.text for a in chat.run(gather_in_order(chat.ask(TURN, {}) for _ in range(3)))] == ["2"] * 3
    assert len(seen) == 4


def test_three_failures_of_one_cause_end_the_run():
    with chat_server(script(refused(400, "unknown parameter top_k"))) as server:
        with (
            Chat(_endpoint(server.url, concurrency=1)) as chat,
            pytest.raises(Error, match="3 questions failed in a row"),
        ):
            chat.run(gather_in_order(chat.ask(TURN, {}) for _ in range(100)))
        assert len(server.asked) == 3


def test_refusals_of_single_questions_do_not_end_a_run_that_works():
    def say(request):
        return said("2") if request["messages"][0]["content"] == "fine" else refused(400, "content filter")

    questions = ["fine", *["bad"] * 10, "fine"]
    with chat_server(say) as server, Chat(_endpoint(server.url, concurrency=1)) as chat:
        answers = chat.run(gather_in_order(chat.ask([{"role": "user", "content": q}], {}) for q in questions))
    assert [a.status for a in answers] == ["ok", *["failed"] * 10, "ok"]


def test_refusals_do_not_end_a_run_whose_settings_got_replies_before():
    with chat_server(script(refused(400, "content filter"))) as server, Chat(_endpoint(server.url)) as chat:
        chat.replied = True
        answers = chat.run(gather_in_order(chat.ask(TURN, {}) for _ in range(5)))
    assert [answer.error for answer in answers] == ["no response: 400 content filter"] * 5


def test_a_failure_that_passes_by_itself_says_so():
    assert _ask(script(refused(503)), tries=2)[0].passing
    assert _ask(script(refused(400)))[0].passing is None


def test_nobody_listening_ends_the_run_by_one_attempt(attempts):
    port = find_closed_port()
    with Chat(_endpoint(f"http://127.0.0.1:{port}/v1")) as chat, pytest.raises(Error) as failed:
        chat.run(gather_in_order(chat.ask(TURN, {}) for _ in range(10)))
    assert attempts == [("127.0.0.1", port)]
    assert str(failed.value) == (
        f"http://127.0.0.1:{port}/v1/chat/completions: the API server cannot be reached (Connection refused). "
        "Start it or correct the base URL, and run the same command again."
    )


def test_questions_wait_for_the_first_connection_and_not_for_its_response(attempts):
    together = threading.Barrier(3, timeout=60)

    def say(_):
        together.wait()
        return said("2")

    with chat_server(say) as server, Chat(_endpoint(server.url, silence_seconds=90, total_seconds=90)) as chat:
        answers = chat.run(gather_in_order(chat.ask(TURN, {}) for _ in range(3)))
    assert [answer.text for answer in answers] == ["2", "2", "2"]
    assert len(attempts) == 3


def test_a_name_that_is_not_found_ends_the_run():
    with (
        Chat(_endpoint("http://host.invalid/v1")) as chat,
        pytest.raises(Error, match=r"cannot be reached \(.*[Nn]ame"),
    ):
        chat.run(chat.ask(TURN, {}))


def test_concurrency_is_bounded_and_used():
    def say(_):
        return Said(said("2").body, silent=0.02)

    with chat_server(say) as server, Chat(_endpoint(server.url, concurrency=4)) as chat:
        chat.run(gather_in_order(chat.ask(TURN, {}) for _ in range(20)))
    assert 2 <= server.most_at_once <= 4


def test_connections_are_used_again():
    with chat_server(script(said("2"))) as server, Chat(_endpoint(server.url, concurrency=4)) as chat:
        chat.run(gather_in_order(chat.ask(TURN, {}) for _ in range(40)))
        chat.run(chat.models())
    assert len(server.asked) == 40
    assert 1 <= len(server.ports) <= 4


def test_the_cap_on_calls_holds_with_retries():
    with chat_server(script(refused(500))) as server, Chat(_endpoint(server.url, max_calls=4)) as chat:
        with pytest.raises(CapReachedError, match="cap of 4 calls"):
            chat.run(chat.ask(TURN, {}))
        assert len(server.asked) == chat.totals.calls == 4


def test_the_cap_on_tokens_holds_whatever_is_under_way():
    with chat_server(script(said("2"))) as server, Chat(_endpoint(server.url, max_total_tokens=60)) as chat:
        with pytest.raises(CapReachedError, match="cap of 60 tokens is used up"):
            chat.run(gather_in_order(chat.ask(TURN, {"max_tokens": 20}) for _ in range(40)))
        # A reply takes 8 tokens; a call that begins at 38 could end at 60, one at 40 could not.
        assert len(server.asked) == chat.totals.calls == 5
        assert chat.totals.prompt_tokens + chat.totals.completion_tokens == 40


def test_the_cap_on_tokens_counts_every_reply_that_is_asked_for():
    with chat_server(script(said("2"))) as server, Chat(_endpoint(server.url, max_total_tokens=100)) as chat:
        with pytest.raises(CapReachedError, match="the next call could take 162"):
            chat.run(chat.ask_several(TURN, {"max_tokens": 20, "n": 8}))
        assert server.asked == []


def test_the_cap_on_cost_holds_whatever_is_under_way():
    price = Price(prompt=1.0, completion=2.0)
    with (
        chat_server(script(said("2"))) as server,
        Chat(_endpoint(server.url, max_cost=1e-4, price=price)) as chat,
    ):
        with pytest.raises(CapReachedError, match="cap on cost"):
            chat.run(gather_in_order(chat.ask(TURN, {"max_tokens": 20}) for _ in range(40)))
        totals = chat.totals
        assert 1 < len(server.asked) < 40
        assert price.compute_cost(totals.prompt_tokens, totals.completion_tokens) <= 1e-4


def test_an_image_counts_as_some_tokens_and_not_as_its_text():
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 100_000}}
    turn = {"role": "user", "content": [image, {"type": "text", "text": "A cat sits on the mat."}]}
    assert estimate_most_tokens([turn], {"max_tokens": 10}) == 1000 + 7 + 10


@pytest.mark.parametrize("text", ["", "1", "1,2,3", "a,b", "-1,2", "nan,1", "inf,1"])
def test_a_price_is_a_pair_of_numbers(text):
    with pytest.raises(UsageError, match="--price: expected two numbers"):
        read_price(text, "m")


def test_tokens_that_the_service_does_not_count_are_guessed_for_the_cap():
    uncounted = Said(b'{"choices": [{"message": {"content": "2"}}]}')
    with chat_server(script(uncounted)) as server, Chat(_endpoint(server.url, max_total_tokens=60)) as chat:
        with pytest.raises(CapReachedError):
            chat.run(gather_in_order(chat.ask(TURN, {"max_tokens": 20}) for _ in range(40)))
        assert len(server.asked) == 2
        assert chat.totals.prompt_tokens == 0


def test_a_question_has_a_total_of_time():
    answer, _, _ = _ask(script(refused(500)), total_seconds=0.3, first_wait=0.2)
    assert "no response within 0.3 s" in answer.error


def test_room_under_a_cap_is_waited_for_beyond_a_questions_total_of_time():
    def say(_):
        return Said(said("2").body, silent=0.2)

    with (
        chat_server(say) as server,
        Chat(_endpoint(server.url, max_total_tokens=100, total_seconds=0.4)) as chat,
    ):
        answers = chat.run(gather_in_order(chat.ask(TURN, {"max_tokens": 50}) for _ in range(4)))
    assert [answer.text for answer in answers] == ["2"] * 4
    assert server.most_at_once == 1


def test_a_pause_that_the_service_asks_for_is_waited_out_beyond_the_total_of_time():
    answer, server, _ = _ask(script(refused(429, **{"Retry-After": "0.6"}), said("2")), total_seconds=0.3)
    assert (answer.text, len(server.asked)) == ("2", 2)


def test_a_reply_that_trickles_ends_with_the_total_of_time():
    answer, server, _ = _ask(script(Said(said("2").body, trickle=0.05)), total_seconds=0.5)
    assert "no response within 0.5 s" in answer.error
    assert len(server.asked) == 1


def test_silence_after_the_first_bytes_is_asked_again():
    answer, server, _ = _ask(script(Said(said("2").body, trickle=0.8), said("2")))
    assert answer.text == "2"
    assert len(server.asked) == 2


@pytest.mark.parametrize("compressed", [False, True])
def test_a_reply_that_is_too_large_fails_and_is_not_kept(compressed):
    body = b" " * 10_000_000
    headers = {"Content-Encoding": "gzip"} if compressed else {}
    answer, server, _ = _ask(script(Said(gzip.compress(body) if compressed else body, headers=headers)))
    assert "larger than 4 MiB" in answer.error
    assert len(server.asked) == 1


def test_halves_of_surrogate_pairs_are_replaced():
    body = json.dumps({"choices": [{"message": {"content": "a\ud800b"}}]}).encode()
    assert _ask(script(Said(body)))[0].text == "a\ufffdb"


def test_the_key_stands_in_no_message():
    for answer in (refused(400, f"bad key {KEY}"), Said(json.dumps({"error": KEY}).encode())):
        failure, _, _ = _ask(script(answer), tries=1)
        assert KEY not in failure.error
        assert "***" in failure.error
    assert KEY not in repr(_endpoint("http://127.0.0.1:1/v1"))


def test_mixed_faults_give_the_results_of_a_service_without_faults():
    faults = [answer for name, answer in PASSING.items() if name != "silent"]
    dice = random.Random(0)

    def say(request):
        fault = dice.choice(faults) if dice.random() < 0.2 else None
        return fault or said(request["messages"][0]["content"].upper())

    with chat_server(say) as server, Chat(_endpoint(server.url, tries=10)) as chat:
        asked = [f"q{n}" for n in range(200)]
        answers = chat.run(gather_in_order(chat.ask([{"role": "user", "content": q}], {}) for q in asked))
    assert [answer.text for answer in answers] == [q.upper() for q in asked]
    assert chat.totals.calls < 400


def test_a_list_of_models_that_never_ends_is_no_list():
    names = [f"{n}-" + "x" * 1000 for n in range(5000)]
    with chat_server(script(said("x")), models=names) as server, Chat(_endpoint(server.url)) as chat:
        assert chat.run(chat.models()) == []


def test_models_are_listed():
    with chat_server(script(said("x")), models=["a", "b"]) as server, Chat(_endpoint(server.url)) as chat:
        assert chat.run(chat.models()) == ["a", "b"]


@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://x/v1", "http://", "http://u:p@x/v1", "http://[::1/v1"])
def test_an_address_that_is_none_is_refused(url, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(UsageError) as caught:
        build_chat_url(url)
    assert "u:p" not in str(caught.value)


def test_the_address_may_stand_in_the_environment(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert build_chat_url(None) == "http://127.0.0.1:1/v1/chat/completions"


def test_the_key_comes_from_the_environment_only(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", " abc\n")
    assert read_key() == "abc"
    monkeypatch.delenv("OPENAI_API_KEY")
    assert read_key() is None
    with pytest.raises(UsageError, match="MY_KEY is not set"):
        read_key("MY_KEY")
    monkeypatch.setenv("MY_KEY", "sk\x01secret")
    with pytest.raises(UsageError) as caught:
        read_key("MY_KEY")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_certificates_are_trusted_where_tls_is_spoken_and_checked_wherever(scheme):
    with Chat(Endpoint(f"{scheme}://127.0.0.1:9/v1/chat/completions", "m")) as chat:
        trusted = httpx2.create_ssl_context() if scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        tls = next(iter(chat._connections.values()))._tls
        assert tls.cert_store_stats() == trusted.cert_store_stats()
        assert (tls.verify_mode, tls.check_hostname) == (ssl.CERT_REQUIRED, True)
