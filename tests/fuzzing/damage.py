"""Seeded damage to what every file is made of: bytes, texts, and trees of values."""

import json
from collections.abc import Sequence
from random import Random
from typing import Any

TOKENS = [
    b'"', b"'", b"\t", b"\n", b"\r", b"\0", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"\xff\xfe", b"\x1f\x8b", b"PK\x03\x04",
    b"[", b"]", b"{", b"}", b",", b":", b"\\", b"\\u0000", b"\\ud800", b"\xe2\x80\xa8", b"\xc2\x85", b"null", b"NaN",
    b"Infinity", b"1e400", b"9" * 400, b"-0", b"true", b"None", b"data:", b"data:image/png;base64,", b"../../x.png",
    b"/etc/passwd", b"file:///etc/passwd", b"http://127.0.0.1:9/x.png", b"<image>", b"<image 1>", b"<image 101>",
    b"__import__('os').system('touch /tmp/x')", b"=1+1", b"_x000D_",
]  # fmt: skip

TEXTS = [
    "", " ", "\0", "\n", "a\tb", '"', "\u2028", "\ufeff", "\U0001f600", "null", "None", "NaN", "nan", "true", "0", "-1",
    "1.0", "1e400", "00012", "2147483648", "9223372036854775808", "9" * 5000, "A", "Z", "AB", "A,B", "z", "[", "[]",
    "['a', 'b']", '["A"]', "[1, 2]", "{'a': 1}", "(1,)", "[[[[[]]]]]", "<image>", "<image 1>", "<image 7>", "<image 0>",
    "<image 99999999999>", "data:", "data:,", "data:image/png;base64,", "data:image/png;base64,AAAA", "../../x.png",
    "/etc/passwd", "images/red.png", "~/x", "C:\\x", "\\\\host\\x", "http://127.0.0.1:9/x.png", "x" * 5000, "1", "44",
    "user", "assistant", "tool", "text", "image", "multiple-choice", "=1+1",
]  # fmt: skip

VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 7, 1.5, -0.0, 1e308, 2**31, 2**63, 10**30, 10**400, [], {}, [None], [[]], [1], ["A"],
    {"a": 1}, {"bytes": None, "path": None}, {"bytes": "AAAA"}, {"url": 5}, [{"type": "text"}], [{"type": "image"}],
]  # fmt: skip


def of_bytes(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Flip, cut, drop, repeat, insert or splice."""
    at = rng.randrange(len(data) + 1)
    end = min(len(data), at + rng.choice([1, 1, 4, 16, 256]))
    match rng.randrange(8):
        case 0 if at < len(data):
            return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
        case 1 if at < len(data):
            return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        case 2:
            return data[: len(data) * rng.randrange(101) // 100]
        case 3:
            return data[:at] + data[end:]
        case 4:
            return data[:end] + data[at:end] * rng.choice([1, 2, 50]) + data[end:]
        case 5 if others:
            other = rng.choice(others)
            return data[:at] + other[rng.randrange(len(other) + 1) :]
    return data[:at] + rng.choice(TOKENS) + data[at:]


def odd(rng: Random) -> Any:
    """A value that a field rarely has."""
    if rng.random() < 0.02:
        return json.loads("[" * 200 + "]" * 200)
    return rng.choice(VALUES) if rng.random() < 0.5 else text(rng)


def text(rng: Random) -> str:
    """A text that a field rarely has."""
    return rng.choice(TEXTS) + (rng.choice(TEXTS) if rng.random() < 0.1 else "")


def of_tree(value: Any, rng: Random) -> Any:
    """Damage a JSON value in place where it can be; give it back."""
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, child in items:
            places.append((node, key))
            walk(child)

    walk(value)
    if not places or rng.random() < 0.02:
        return odd(rng)
    node, key = rng.choice(places)
    other, other_key = rng.choice(places)
    match rng.randrange(8):
        case 0:
            node.pop(key)
        case 1:
            node[key] = [node[key]]
        case 2 if isinstance(node[key], list) and node[key]:
            node[key] = node[key][0]
        case 3 if isinstance(node, list):
            node.insert(key, json.loads(json.dumps(other[other_key])))
        case 4 if isinstance(node, dict):
            node[rng.choice([other_key if isinstance(other_key, str) else "x", text(rng)])] = node.pop(key)
        case 5:
            node[key] = json.loads(json.dumps(other[other_key]))
        case _:
            node[key] = odd(rng)
    return value
