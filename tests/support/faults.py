"""What a service can do wrong, by name: each is a function of the right answer to a request."""

import gzip
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from support.chat_server import Said, completion, refused, said

SILENCE = 0.25
"""Seconds of silence that a test lets pass before it asks again."""

WRONG = "the response to another question"

Fault = Callable[[Said], Said]


def always(answer: Said) -> Fault:
    return lambda right: answer


def _cut(right: Said) -> Said:
    return Said(right.body[: len(right.body) // 2])


def _later(days: int) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(days=days))


def _http(answer: Said) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(answer.body)}\r\n\r\n"
    return head.encode() + answer.body


_CALL = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}

SILENT: Mapping[str, Fault] = {
    "silent": lambda right: replace(right, silent=3 * SILENCE),
    "silent after the head": lambda right: replace(right, pause=3 * SILENCE),
    "a length too great": lambda right: replace(right, headers={"Content-Length": str(len(right.body) + 50)}),
    "a byte now and then": lambda right: replace(right, trickle=1.5 * SILENCE),
}
"""What is asked again after a time without a byte."""

PASSING: Mapping[str, Fault] = {
    "reset before the head": always(Said(headless=True)),
    "reset after the head": always(Said(hang_up=True)),
    "reset inside the body": lambda right: replace(_cut(right), hang_up=True),
    "408": always(refused(408)),
    "409": always(refused(409)),
    "425": always(refused(425)),
    "429": always(refused(429)),
    "429, wait a moment": always(refused(429, **{"Retry-After": "0.01"})),
    "429, wait until": always(refused(429, **{"Retry-After": _later(-1)})),
    "429, wait negative": always(refused(429, **{"Retry-After": "-5"})),
    "429, wait garbage": always(refused(429, **{"Retry-After": "soon"})),
    "500": always(refused(500)),
    "502 as a page": always(Said(b"<html>Bad Gateway</html>", 502)),
    "503": always(refused(503)),
    "504": always(Said(b"", 504)),
    "nothing": always(Said(b"")),
    "cut JSON": _cut,
    "a page": always(Said(b"<html></html>")),
    "an error with 200": always(Said(b'{"error": {"message": "busy"}}')),
    "no choices": always(Said(b'{"choices": []}')),
    "no UTF-8": always(Said(b'{"choices": [{"message": {"content": "\xff"}}]}')),
    "a length too small": lambda right: replace(right, headers={"Content-Length": str(len(right.body) - 5)}),
    "no gzip": always(Said(b"no gzip", headers={"Content-Encoding": "gzip"})),
}
"""What is asked again at once, and then answered."""

ROW: Mapping[str, Fault] = {
    "400": always(refused(400)),
    "413": always(refused(413)),
    "422": always(refused(422)),
    "no text": always(said(None)),
    "a filtered text": always(said(None, "content_filter")),
    "a call of a tool": always(completion({"content": None, "tool_calls": [_CALL]}, "tool_calls", 7, 3)),
    "a bomb": always(Said(gzip.compress(b" " * 10_000_000), headers={"Content-Encoding": "gzip"})),
    "50 MB": always(Said(b" " * 50_000_000)),
}
"""What fails one row."""

RUN: Mapping[str, Fault] = {
    "401": always(refused(401)),
    "403": always(refused(403)),
    "404": always(refused(404)),
    "429, wait for days": always(refused(429, **{"Retry-After": "1000000"})),
    "429, wait until tomorrow": always(refused(429, **{"Retry-After": _later(1)})),
    "a redirect": always(Said(b"", 307, {"Location": "http://other.example/v1"})),
    "a redirect to itself": always(Said(b"", 308, {"Location": "/v1/chat/completions"})),
}
"""What ends a run."""

HARMLESS: Mapping[str, Fault] = {
    "cut for its length": lambda right: Said(right.body.replace(b'"stop"', b'"length"')),
    "another response behind it": lambda right: replace(right, after=_http(said(WRONG))),
}
"""What is a right answer all the same."""

FAULTS = {**SILENT, **PASSING, **ROW, **RUN, **HARMLESS}
