import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mmscore.parsers.own_short_answer import own_short_answer


@pytest.mark.parametrize(
    ("reply", "answer", "how"),
    [
        ("42", "42", "whole response"),
        (" 'red car'. ", "red car", "whole response"),
        ("$12.50", "$12.50", "whole response"),
        ("12 $.", "12 $", "whole response"),
        (".5", ".5", "whole response"),
        ("$x^2$", "x^2", "whole response"),
        ("so \\boxed{\\frac{1}{2}}, as \\boxed{x", "\\frac{1}{2}", "boxed"),
        ("<answer> 4 </answer>", "4", "answer tag"),
        ("Adding up, the answer is **42 kg**.", "42 kg", "answer marker"),
        ("Answer: A? No.\nFinal answer: 3.14 m. That is all", "3.14 m", "answer marker"),
        ("### Answer\n42", "42", "answer marker"),
        ("Answer: St. Louis", "St. Louis", "answer marker"),
        ("The answer is the U.S. Open. It", "the U.S. Open", "answer marker"),
        ("答案是：红色。因为有光", "红色", "answer marker"),
        ("答案应该是 3.5 米", "3.5 米", "answer marker"),
        ("The sign says **STOP**, I think", "STOP", "bold"),
        ("Paris.\nIt is the capital.", "Paris", "first line"),
        ("Let me count:\nfour and three\n7", "7", "last line"),
        ("<think>8 or 9</think> 9", "9", "whole response"),
        ("<think>8 or 9", None, "unparsed"),
        (" \n", None, "unparsed"),
        ("...", None, "unparsed"),
    ],
)
def test_the_final_statement_is_taken_without_the_words_around_it(reply, answer, how):
    parsed = own_short_answer(reply)
    assert (parsed.value, parsed.how) == (answer, how)


SNIPPETS = [
    "answer is ",
    "Answer: ",
    "答案是",
    "**",
    "\\boxed{",
    "}",
    "<answer>",
    "</answer>",
    "<think>",
    "</think>",
    "$",
    "1.5",
]


@given(st.one_of(st.text(max_size=40), st.lists(st.sampled_from([*SNIPPETS, *"ab .,:\n。"]), max_size=15).map("".join)))
@example("$0 $")
def test_the_answer_is_a_piece_of_the_reply(reply):
    parsed = own_short_answer(reply)
    assert (parsed.value is None) == (parsed.how == "unparsed")
    if parsed.span:
        assert parsed.value == reply[slice(*parsed.span)]
        assert parsed.value == parsed.value.strip() != ""


@pytest.mark.parametrize("filler", [" ", "\n", "*", "answer is ", "\\boxed{", "<answer>", "**a", "."])
def test_long_replies_do_not_hang(filler):
    started = time.process_time()
    own_short_answer("The answer is " + filler * 4_000 + "x")
    assert time.process_time() - started < 2


def test_the_last_line_with_words_is_taken_where_empty_ones_follow():
    parsed = own_short_answer("First I look.\nforty two\n\n  ")
    assert (parsed.value, parsed.how, parsed.span) == ("forty two", "last line", (14, 23))
