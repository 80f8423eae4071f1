"""Options, their letters, and the plain prompt."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import RowError
from mmconvert.core.record import LETTERS
from mmconvert.core.text.options import (
    build_plain_prompt,
    gather_lettered_options,
    list_letters,
    read_answer_letter,
    read_option_texts,
)

TEXT = st.text(max_size=10)
GAPPED = st.lists(st.none() | TEXT, max_size=26).map(tuple)


def code_of(function, *arguments) -> str:
    with pytest.raises(RowError) as refused:
        function(*arguments)
    return refused.value.code


@given(st.lists(TEXT, min_size=2, max_size=26))
def test_a_list_of_texts_is_taken_as_it_is(texts: list[str]) -> None:
    assert read_option_texts(texts) == tuple(texts)
    assert read_option_texts(repr(texts)) == tuple(texts)


def test_numbers_are_written_as_json_writes_them() -> None:
    assert read_option_texts([1, 2.5, "3", 1e300, 0.1]) == ("1", "2.5", "3", "1e+300", "0.1")


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ([], "options.count"),
        (["a"], "options.count"),
        (["a"] * 27, "options.count"),
        ("['a']", "options.count"),
        (["a", None], "options.type"),
        (["a", True], "options.type"),
        (["a", ["b"]], "options.type"),
        (5, "options.type"),
        ({"A": "a"}, "options.type"),
        ("a, b", "list.syntax"),
        ('{"A": 1}', "list.type"),
    ],
)
def test_what_is_no_list_of_options_is_refused(value: object, code: str) -> None:
    assert code_of(read_option_texts, value) == code


@given(GAPPED)
def test_letters_name_their_place_and_gaps_stay(options: tuple[str | None, ...]) -> None:
    found = gather_lettered_options([*options, *[None] * (len(LETTERS) - len(options))])
    assert len(found) == 0 or found[-1] is not None
    assert found == options[: len(found)]
    assert all(option is None for option in options[len(found) :])
    assert list_letters(found) == "".join(
        letter for letter, text in zip(LETTERS, options, strict=False) if text is not None
    )


@pytest.mark.parametrize(("text", "letter"), [("A", "A"), (" c\n", "C"), ("C", "C")])
def test_an_answer_is_the_letter_of_an_option(text: str, letter: str) -> None:
    assert read_answer_letter(text, ("one", None, "")) == letter


@pytest.mark.parametrize("text", ["B", "D", "", " ", "AC", "one", "A.", "(A)", "1", "Ａ", "ß"])
def test_no_other_answer_is_guessed_at(text: str) -> None:
    assert code_of(read_answer_letter, text, ("one", None, "")) == "answer.not_an_option"


def test_an_empty_option_is_an_option_and_a_missing_one_is_not_shown() -> None:
    assert build_plain_prompt("Which?", "Look.", ("x", None, "")) == (
        "Look.\nWhich?\nA. x\nC. \nAnswer with the option's letter from the given choices directly."
    )


@given(TEXT)
def test_a_question_without_options_or_hint_stays_as_it_is(question: str) -> None:
    assert build_plain_prompt(question, None, ()) == question
    assert build_plain_prompt(question, "", ()) == question
