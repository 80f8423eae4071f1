"""A service that means harm: whatever it sends costs one row, never the run."""

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmconvert.core.errors import Error
from mmscore.llm.client import Chat, Endpoint, build_chat_url
from mmscore.llm.response_cache import Answer
from mmscore.llm.responses import Fault, describe_redirect, describe_refusal, read_responses
from support.chat_server import Said, chat_server, refused, said

TURN = [{"role": "user", "content": "1 + 1?"}]
NUMBERS = st.one_of(
    st.integers(),
    st.floats(),
    st.integers(300, 5000).map(lambda n: 10**n),
    st.integers(300, 5000).map(lambda n: -(10**n)),
)
TEXTS = st.one_of(st.text(), st.text(st.characters(min_codepoint=0xD800, max_codepoint=0xDFFF), min_size=1))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)
TOKENS = st.one_of(VALUES, st.lists(st.fixed_dictionaries({"logprob": st.one_of(NUMBERS, VALUES)}), max_size=3))
CHOICE = st.fixed_dictionaries(
    {
        "message": st.fixed_dictionaries(
            {"content": st.one_of(TEXTS, VALUES)}, optional={"reasoning": VALUES, "reasoning_content": VALUES}
        )
    },
    optional={"finish_reason": st.one_of(TEXTS, VALUES), "logprobs": st.fixed_dictionaries({"content": TOKENS})},
)
BODIES = st.fixed_dictionaries(
    {"choices": st.one_of(st.lists(st.one_of(CHOICE, VALUES), min_size=1, max_size=3), VALUES)},
    optional={
        "error": VALUES,
        "usage": st.one_of(VALUES, st.fixed_dictionaries({"prompt_tokens": NUMBERS, "completion_tokens": NUMBERS})),
    },
)


def encode(value: Any) -> bytes:
    """Write JSON with integers of any length, which Python itself refuses to write in digits."""
    if isinstance(value, dict):
        return b"{" + b",".join(json.dumps(k).encode() + b":" + encode(v) for k, v in value.items()) + b"}"
    if isinstance(value, list):
        return b"[" + b",".join(map(encode, value)) + b"]"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**300:
        digits = value.bit_length() * 3 // 10
        return b"-" * (value < 0) + b"1" + b"0" * digits
    return json.dumps(value).encode()


def check(found: list[Answer] | Fault) -> None:
    if isinstance(found, Fault):
        found.reason.encode()
        return
    assert found
    for answer in found:
        for text in (answer.text, answer.finish_reason, answer.thinking):
            (text or "").encode()
        assert all(map(math.isfinite, answer.token_logprobs or ()))


@given(BODIES)
@settings(max_examples=400, deadline=None)
def test_a_reply_is_read_or_a_fault(body: dict[str, Any]) -> None:
    data = encode(body)
    check(read_responses(data))
    describe_refusal(data).encode()


@given(st.binary())
def test_bytes_are_read_or_a_fault(data: bytes) -> None:
    check(read_responses(data))
    describe_refusal(data).encode()


@given(st.text(st.characters(max_codepoint=255)))
def test_a_redirect_is_described_on_one_line(text: str) -> None:
    assert describe_redirect({"location": text}).isprintable()
    assert len(describe_redirect({"location": text})) <= 200


def _endpoint(url: str) -> Endpoint:
    return Endpoint(build_chat_url(url), "m", None, first_wait=0.001, tries=2, total_seconds=5.0)


def hostile(logprob: str) -> Said:
    head = '{"choices":[{"message":{"content":"A"},"logprobs":{"content":[{"logprob":'
    return Said(f"{head}{logprob}}}]}}}}]}}".encode())


@pytest.mark.parametrize(
    "answer",
    [
        hostile("1" + "0" * 400),
        hostile("-1e999"),
        refused(429, **{"Retry-After": "Mon, 01 Jan 99999999999999999999 00:00:00 GMT"}),
        refused(429, **{"Retry-After": "Mon, 01 Jan 2030 00:00:00 +99999999999999"}),
        refused(429, **{"Retry-After": "1e999"}),
    ],
)
def test_hostile_numbers_and_pauses_cost_one_row(answer: Said) -> None:
    turns = iter([answer, answer])
    with chat_server(lambda body: next(turns, said("B"))) as server, Chat(_endpoint(server.url)) as chat:
        first = chat.run(chat.ask(TURN, {}))
        assert (first.status == "ok") != (first.error is not None)
        assert chat.run(chat.ask(TURN, {})).text in ("A", "B")


@pytest.mark.parametrize("place", ["http://other.example/\x01\x7f", "http://[::1", "http://other.example:99999999/"])
def test_a_redirect_after_a_reply_costs_one_row_and_before_one_names_the_mistake(place: str) -> None:
    turns = iter([said("A"), *[refused(307, Location=place)] * 2])
    with chat_server(lambda body: next(turns, said("B"))) as server, Chat(_endpoint(server.url)) as chat:
        assert chat.run(chat.ask(TURN, {})).text == "A"
        assert chat.run(chat.ask(TURN, {})).status == "failed"
        assert chat.run(chat.ask(TURN, {})).status in ("failed", "ok")
        assert chat.run(chat.ask(TURN, {})).text == "B"
    with chat_server(lambda body: refused(307, Location=place)) as server, Chat(_endpoint(server.url)) as chat:
        work = (chat.ask(TURN, {}) for _ in range(3))
        with pytest.raises(Error, match=r"redirect \(307 to http|Invalid") as caught:
            list(map(chat.run, work))
        assert str(caught.value).isprintable()
