import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmscore.parsers.own_choice import own_choice

ANIMALS = ["cat", "dog", "a big mouse", "mouse"]
CHINESE = ["猫", "狗", "一只大老鼠", "老鼠"]


@pytest.mark.parametrize(
    ("reply", "letter", "how"),
    [
        ("B", "B", "bare letter"),
        (" (b). ", "B", "bare letter"),
        ("**B**", "B", "bare letter"),
        ("$\\text{C}$", "C", "bare letter"),
        ("（Ｂ）", "B", "bare letter"),
        ("I count the legs.\n\nB", "B", "bare letter"),
        ("\\boxed{B}", "B", "boxed"),
        ("Thus $x=2$, so $\\boxed{\\text{(D) mouse}}$. Hence A is wrong.", "D", "boxed"),
        ("\\boxed{dog}", "B", "boxed"),
        ("Dog.", "B", "whole option text"),
        ("The answer is B because A is too small", "B", "answer marker"),
        ("Answer: A? No. The final answer is: **C**. It is not D.", "C", "answer marker"),
        ("**Answer:** (D) mouse", "D", "answer marker"),
        ("### Answer\nB. dog", "B", "answer marker"),
        ("The correct option is most likely option C.", "C", "answer marker"),
        ("answer is b.", "B", "answer marker"),
        ("The answer is a dog.", "B", "answer marker"),
        ("The answer is A dog", "B", "answer marker"),
        ("The answer is A because it purrs", "A", "answer marker"),
        ("The answer is a big mouse", "C", "answer marker"),
        ("I would choose D", "D", "answer marker"),
        ("<answer>C</answer>", "C", "answer marker"),
        ("It is not B but C, though A comes close", "C", "not but"),
        ("Legs and ears:\n**D. mouse** fits, A and B do not", "D", "bold"),
        ("B. dog\nA would be smaller", "B", "leading letter"),
        ("Looking at the ears (see B too), (C) fits", "C", "bracketed letter"),
        ("Looking at the ears, (C) fits, not (A)", "C", "bracketed letter"),
        ("I would say that it is option D", "D", "lone letter"),
        ("A because it purrs", "A", "lone letter"),
        ("It is obviously a dog", "B", "option text"),
        ("This is a big mouse", "C", "option text"),
        ("It is not a cat, it is a dog", "B", "option text"),
        ("A or B", None, None),
        ("The answer is A or B", None, None),
        ("The answer is not B", None, None),
        ("a cat and a dog", None, None),
        ("I'm sorry, I can't tell. It may be (B)", None, None),
        ("E", None, None),
        ("", None, None),
        ("A cat", "A", "option text"),
        ("I see A car", None, None),
        ("A\nB", None, None),
        ("<think>The answer is A</think>\n\nB", "B", "bare letter"),
        ("<think>The answer is A", None, None),
        ("<think>It purrs.</think> The answer is A or B", None, None),
    ],
)
def test_english_replies(reply, letter, how):
    parsed = own_choice(reply, ANIMALS)
    assert (parsed.value, parsed.how) == (letter, how or "unparsed")


@pytest.mark.parametrize(
    ("reply", "letter", "how"),
    [
        ("选B", "B", "answer marker"),
        ("选项B是错误的", "B", "lone letter"),
        ("经过分析，正确答案是 B。", "B", "answer marker"),
        ("答案：（C）", "C", "answer marker"),
        ("因此答案应该选Ｄ。", "D", "answer marker"),
        ("答案是狗。", "B", "answer marker"),
        ("不是A而是B，C也不对", "B", "not but"),
        ("图中是一只狗", "B", "option text"),
        ("这是一只大老鼠", "C", "option text"),
        ("不是猫，是狗", "B", "option text"),
        ("答案是A和B", None, None),
        ("我无法确定，可能是B", None, None),
        ("不选A", None, None),
    ],
)
def test_chinese_replies(reply, letter, how):
    parsed = own_choice(reply, CHINESE)
    assert (parsed.value, parsed.how) == (letter, how or "unparsed")


@pytest.mark.parametrize(
    ("reply", "letters", "how"),
    [
        ("AC", "AC", "bare letter"),
        ("C, A.", "AC", "bare letter"),
        ("B", "B", "bare letter"),
        ("The answer is A and C", "AC", "answer marker"),
        ("答案：ＡＢＤ", "ABD", "answer marker"),
        ("答案是A、C和D。", "ACD", "answer marker"),
        ("\\boxed{B, D}", "BD", "boxed"),
        ("**A. cat** and **D. mouse** fit", "AD", "bold"),
        ("I see (A) and (C), not (B)", "AC", "bracketed letter"),
        ("There is a cat beside a dog", "AB", "option text"),
        ("A. no\nB. yes\nC. no\nD. no", None, "unparsed"),
        ("The answer is BAD", None, "unparsed"),
    ],
)
def test_several_letters_where_several_may_be_chosen(reply, letters, how):
    parsed = own_choice(reply, ANIMALS, multiple=True)
    assert (parsed.value, parsed.how) == (letters, how)


def test_letters_without_an_option_are_no_answers():
    assert own_choice("B", ["cat", None, "dog"]).value is None
    assert own_choice("C", ["cat", None, "dog"]).value == "C"
    assert own_choice("B", []).value is None


def test_numbers_match_as_wholes():
    assert own_choice("There are 15 of them", ["5", "15", "1"]).value == "B"
    assert own_choice("It is -5 degrees", ["5", "15"]).value is None


def test_a_refusal_may_be_an_option():
    assert own_choice("It cannot be determined", ["cat", "cannot be determined"]).value == "B"
    assert own_choice("We cannot determine it", ["cat", "Cannot determine"]).how == "option text"


def test_a_letter_inside_an_option_text_is_no_choice():
    assert own_choice("It shows vitamin C pills", ["vitamin C", "iron", "zinc"]).value == "A"


def test_an_option_text_inside_a_longer_one_does_not_count_whatever_lies_between_in_length():
    parsed = own_choice("This is a big mouse", ["a big mouse", "a horse", "mouse"])
    assert (parsed.value, parsed.how) == ("A", "option text")


def test_a_letter_right_behind_an_option_text_is_no_part_of_it():
    parsed = own_choice("这是A型B", ["A型", "O型"])
    assert (parsed.value, parsed.how) == ("B", "lone letter")


def test_the_span_points_into_the_whole_reply():
    reply = "<think>hm</think>The answer is **C**."
    assert reply[slice(*own_choice(reply, ANIMALS).span)] == "C"


def test_the_span_of_several_letters_reaches_from_the_first_to_the_last():
    reply = "I see (A), (B) and (C)."
    assert reply[slice(*own_choice(reply, ANIMALS, multiple=True).span)] == "A), (B) and (C"


SNIPPETS = [
    "answer is ",
    "Answer: ",
    "答案",
    "选",
    "(A)",
    " B ",
    "**C**",
    "\\boxed{",
    "}",
    "not ",
    " but ",
    "dog",
    "İ",
    "\n",
    "<think>",
]


@given(
    st.one_of(st.text(max_size=40), st.lists(st.sampled_from([*SNIPPETS, *"ABCDE aı.,:()*"]), max_size=15).map("".join))
)
def test_any_text_is_read_and_the_span_lies_inside(reply):
    for multiple in (False, True):
        parsed = own_choice(reply, ["cat", "a dog", None, "İstanbul"], multiple=multiple)
        assert (parsed.value is None) == (parsed.how == "unparsed")
        assert parsed.value in (None, "A", "B", "D", *(("AB", "AD", "BD", "ABD") if multiple else ()))
        if parsed.span:
            assert 0 <= parsed.span[0] < parsed.span[1] <= len(reply)


@pytest.mark.parametrize(
    "filler", [" ", "\n", "*", "option ", "the ", "answer is ", "\\boxed{", "not A ", "**A", "(", "选", "dog "]
)
def test_long_replies_do_not_hang(filler):
    started = time.process_time()
    own_choice("The answer is " + filler * 4_000 + "x", ANIMALS)
    assert time.process_time() - started < 2
