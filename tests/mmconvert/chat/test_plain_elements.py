"""Elements of plain conversations with an image, and everything that is none."""

import json

import pytest

from mmconvert.chat.plain_elements import read_plain_elements
from mmconvert.core.plain_chats import PlainImageLine, PlainLine
from mmconvert.core.text.image_markers import Markers

PLAIN = b'{"id": "1", "image": "a.png", "conversations": [{"from": "human", "value": "<image>\\nWhat?"}]}'
OTHERS = {
    "a key twice": b'{"id": "1", "id": "2", "conversations": [{"from": "human", "value": "a"}]}',
    "a key twice, and two quotes in escapes": (
        b'{"id": "1", "conversations": [{"from": "human", "from": "human", "value": "\\u0022\\u0022\\u0022\\u0022"}]}'
    ),
    "a field of its own": b'{"conversations": [{"from": "human", "value": "a"}], "split": "a"}',
    "a field of a message": b'{"conversations": [{"from": "human", "value": "a", "name": "b"}]}',
    "a number with a point as id": b'{"id": 1.0, "conversations": [{"from": "human", "value": "a"}]}',
    "no turns": b'{"conversations": []}',
    "an image and no turns": b'{"image": "a.png", "conversations": []}',
    "a list of images": b'{"image": ["a.png"], "conversations": [{"from": "human", "value": "<image>"}]}',
    "another role": b'{"conversations": [{"from": "tool", "value": "a"}]}',
    "an image that no text shows": b'{"image": "a.png", "conversations": [{"from": "human", "value": "a"}]}',
    "an image behind text": b'{"image": "a.png", "conversations": [{"from": "human", "value": "a<image>"}]}',
    "a marker without an image": b'{"conversations": [{"from": "human", "value": "<image>a"}]}',
    "two markers": b'{"image": "a.png", "conversations": [{"from": "human", "value": "<image><image>"}]}',
    "a marker in the second text": (
        b'{"image": "a.png", "conversations": [{"from": "human", "value": "<image>"}, '
        b'{"from": "gpt", "value": "<image>"}]}'
    ),
    "a marker that is text": b'{"conversations": [{"from": "human", "value": "<\\\\image>"}]}',
    "half a character": b'{"conversations": [{"from": "human", "value": "\\ud800"}]}',
    "no UTF-8": b'{"conversations": [{"from": "human", "value": "\xff"}]}',
    "a list": b"[" + PLAIN + b"]",
    "a number": b"3",
    "nothing between commas": b"",
    "an object that breaks off": b'{"conversations"',
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_whatever_is_more_or_less_than_plain_is_left_to_others(other):
    markers = Markers(line_break=True)
    assert len(read_plain_elements(b",\n".join([PLAIN, PLAIN]), markers) or ()) == 2
    for raw in ([PLAIN, other], [other, PLAIN], [PLAIN, other, PLAIN]):
        assert read_plain_elements(b",".join(raw), markers) is None


@pytest.mark.parametrize(
    ("text", "line_break", "expected"),
    [
        ("<image>\nWhat?", True, "What?"),
        ("<image>\n\nWhat?", True, "\nWhat?"),
        ("<image>\nWhat?", False, "\nWhat?"),
        ("<image>", True, ""),
        ("<image>a <b> <video>", True, "a <b> <video>"),
    ],
)
def test_the_marker_leaves_the_first_text(text, line_break, expected):
    row = {"image": "a.png", "conversations": [{"from": "human", "value": text}, {"from": "gpt", "value": "你好 😀"}]}
    [line] = read_plain_elements(json.dumps(row).encode(), Markers(line_break=line_break)) or [None]
    assert isinstance(line, PlainImageLine)
    assert line.image == "a.png"
    assert [(turn.role, turn.content) for turn in line.messages] == [("user", expected), ("assistant", "你好 😀")]


@pytest.mark.parametrize(
    ("given", "expected"),
    [("7", "7"), (" 7 ", "7"), (7, "7"), (0, "0"), ("", None), ("  ", None), (None, None)],
)
def test_an_id_is_a_text_without_blanks_around_it(given, expected):
    row = {"id": given, "image": None, "conversations": [{"from": "human", "value": "a"}]}
    [line] = read_plain_elements(json.dumps(row).encode(), Markers()) or [None]
    assert type(line) is PlainLine
    assert (line.id or None) == expected
