"""What every parser owes: it takes any text, says how it read it, and points inside the text."""

import inspect
import itertools
import typing
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.record import LETTERS
from mmconvert.plugins.registry import find_plugins, load
from mmscore.core.parsed import Parsed

PARSERS = list(find_plugins("mmscore.parsers"))
TEXTS = {"A": "cat", "B": "a dog", "C": "", "D": "ÇA ﬁn İ"}
ARGUMENTS: dict[str, list[Any]] = {
    "options": [TEXTS, list(TEXTS.values()), [None, "cat"], []],
    "letters": ["ABCD"],
    "texts": [TEXTS],
    "n_options": [4, 0],
}
"""Parameter -> what it is tried with; those of a parser that are not named here keep their defaults."""

SNIPPETS = [
    "answer is ",
    "Answer: ",
    "ANSWER:",
    "答案：",
    "(A)",
    " B ",
    "C.",
    "**D**",
    "\\boxed{",
    "}",
    "$",
    "{",
    "3",
    "cat",
    "Yes",
    "n.o",
    "not ",
    "neutral",
    "50",
    "-100",
    "I'm sorry",
    "<think>",
    "</think>",
    "\\text{",
    "İ",
    "\n",
]
REPLIES = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from([*SNIPPETS, *"ABCDZ .,:()[]{}*'!?/、，"]), max_size=20).map("".join),
)
REWORDED = {"option text", "whole option text", "answer marker", "answer phrase"}
"""Rules whose answer is said in other words than stand in the reply."""


def _ways(parser: Callable[..., Any]) -> Iterator[Callable[[str], Any]]:
    """Give the parser with every choice of arguments but the text."""
    _, *others = inspect.signature(parser).parameters.values()
    tried: dict[str, list[Any]] = {}
    for parameter in others:
        if parameter.name in ARGUMENTS:
            values = ARGUMENTS[parameter.name]
            mapped = "Mapping" in str(parameter.annotation)
            tried[parameter.name] = [
                value for value in values if isinstance(value, dict) == mapped or parameter.name != "options"
            ]
        elif typing.get_origin(parameter.annotation) is typing.Literal:
            tried[parameter.name] = list(typing.get_args(parameter.annotation))
        elif parameter.annotation is bool:
            tried[parameter.name] = [False, True]
        else:
            assert parameter.default is not parameter.empty, f"{parameter.name}: name examples in ARGUMENTS"
    for values in itertools.product(*tried.values()):
        yield partial(parser, **dict(zip(tried, values, strict=True)))


@pytest.mark.parametrize("name", PARSERS)
def test_any_text_is_parsed_and_the_span_lies_in_it(name: str) -> None:
    ways = list(_ways(load("mmscore.parsers", name)))

    @given(reply=REPLIES)
    def holds(reply: str) -> None:
        for parse in ways:
            parsed = parse(reply)
            if isinstance(parsed, list):
                assert parsed
                continue
            assert isinstance(parsed, Parsed)
            assert (parsed.value is None) == (parsed.how == "unparsed")
            if parsed.span is not None:
                start, end = parsed.span
                assert 0 <= start <= end <= len(reply)
                if parsed.value and parsed.value in LETTERS and parsed.how not in REWORDED:
                    # Several letters may stand apart: "A:B".
                    assert {*parsed.value.lower()} <= {*reply[start:end].lower()}

    holds()


@pytest.mark.parametrize("name", PARSERS)
def test_some_reply_is_read_and_the_same_twice(name: str) -> None:
    replies = ["A", "ANSWER: A", "(A)", "yes", "50", "7", "{A}", "[1, 2, 3, 4]", "x=1, y=2", "neutral", "cat"]
    replies += ["I'm sorry, no."]
    read = [[parse(reply) for reply in replies] for parse in _ways(load("mmscore.parsers", name))]
    assert any(isinstance(parsed, list) or parsed.value is not None for way in read for parsed in way)
    assert read == [[parse(reply) for reply in replies] for parse in _ways(load("mmscore.parsers", name))]
