"""Lines of plain conversations, and everything that is none."""

import json

import pytest

from mmconvert.chat.plain_lines import read_plain_lines

PLAIN = b'{"id": "%d", "messages": [{"role": "user", "content": "Why?"}]}\n'
OTHERS = {
    "a key twice": b'{"id": "1", "id": "2", "messages": [{"role": "user", "content": "a"}]}\n',
    "a key twice, once in escapes": b'{"id": "1", "\\u0069d": "2", "messages": [{"role": "user", "content": "a"}]}\n',
    "a key twice, and two quotes in escapes": (
        b'{"id": "1", "messages": [{"role": "user", "role": "user", "content": "\\u0022\\u0022\\u0022\\u0022"}]}\n'
    ),
    "a field of its own": b'{"id": "1", "messages": [{"role": "user", "content": "a"}], "split": "a"}\n',
    "a field of a message": b'{"id": "1", "messages": [{"role": "user", "content": "a", "name": "b"}]}\n',
    "a number as id": b'{"id": 1, "messages": [{"role": "user", "content": "a"}]}\n',
    "an empty id": b'{"id": "", "messages": [{"role": "user", "content": "a"}]}\n',
    "blanks around the id": b'{"id": " 1", "messages": [{"role": "user", "content": "a"}]}\n',
    "no messages": b'{"id": "1", "messages": []}\n',
    "parts": b'{"id": "1", "messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}]}\n',
    "another role": b'{"id": "1", "messages": [{"role": "tool", "content": "a"}]}\n',
    "a null as answer": b'{"id": "1", "messages": [{"role": "user", "content": "a"}], "answer": null}\n',
    "several answers": b'{"id": "1", "messages": [{"role": "user", "content": "a"}], "answer": ["a"]}\n',
    "half a character": b'{"id": "1", "messages": [{"role": "user", "content": "\\ud800"}]}\n',
    "no UTF-8": b'{"id": "1", "messages": [{"role": "user", "content": "\xff"}]}\n',
    "a raw tab in a text": b'{"id": "1", "messages": [{"role": "user", "content": "a\tb"}]}\n',
    "a blank line": b"\n",
    "a line of blanks": b" \n",
    "a line that breaks off": b'{"id": "1", "messages"\n',
    "two objects on a line": PLAIN.strip() + PLAIN,
    "an object on two lines": b'{"id": "1",\n "messages": [{"role": "user", "content": "a"}]}\n',
    "one on two lines, and two on one": (
        b'{"id": "1",\n"messages": [{"role": "user", "content": "a"}]}{"id": "2", "messages": [{"role": "user", '
        b'"content": "a"}]}\n'
    ),
    "a byte order mark": b"\xef\xbb\xbf" + PLAIN,
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_whatever_is_more_or_less_than_plain_is_left_to_others(other):
    before, behind = PLAIN % 7, PLAIN % 8
    assert len(read_plain_lines(before + behind) or ()) == 2
    assert [read_plain_lines(raw) for raw in (other, before + other, other + behind, before + other + behind)] == [
        None
    ] * 4


def test_texts_come_as_they_are():
    messages = [{"role": role, "content": text} for role, text in (("system", 'a "b" \\ 你好 😀'), ("user", "\x7f\n"))]
    row = {"id": "一", "messages": messages, "answer": ""}
    for ascii_only in (True, False):
        [line] = read_plain_lines((json.dumps(row, ensure_ascii=ascii_only) + "\r\n").encode()) or [None]
        assert (line.id, line.answer) == ("一", "")
        assert [{"role": turn.role, "content": turn.content} for turn in line.messages] == messages
