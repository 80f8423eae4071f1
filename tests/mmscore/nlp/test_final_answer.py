"""Where a response states its final answer."""

import re

from hypothesis import given
from hypothesis import strategies as st

from mmscore.nlp.final_answer import BEGINNINGS, MARKER, list_answer_positions

_PIECES = st.sampled_from(
    [
        *("<answer>", "answer", "Option", "CHOICE:", "result is", "I", "I'd choose", "I would pick", "ı will select"),
        *(
            "答案",
            "选项",
            "结果是",
            "选",
            "选择",
            "不选",
            "选项目",
            "的是",
            "应该",
            "is",
            "would be",
            "->",
            ":",
            "=",
            "**",
            "_",
        ),
        *(" ", "\n", "\t", "B", "x", "İ opt for", "K", "ſ"),
    ]
)


@given(st.lists(_PIECES, max_size=12).map("".join))
def test_every_marker_begins_with_one_of_the_beginnings(text: str) -> None:
    everywhere = re.compile(MARKER.pattern.removeprefix(BEGINNINGS), MARKER.flags)
    assert [found.span() for found in MARKER.finditer(text)] == [found.span() for found in everywhere.finditer(text)]


def test_the_last_statement_comes_first() -> None:
    text = "Option: A? I will go with C. 答案是 D"
    assert [text[place:].strip() for place in list_answer_positions(text)] == [
        "D",
        "C. 答案是 D",
        "A? I will go with C. 答案是 D",
    ]
