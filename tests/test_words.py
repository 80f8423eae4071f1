"""No text for users has a word that `scripts/words` knows a better one for, and it would find one."""

import pytest

from support.words import find_problems, hide_code, list_messages, list_texts, read_words

pytestmark = pytest.mark.static


def test_no_text_for_users_has_a_word_of_the_list() -> None:
    assert [str(problem) for problem in find_problems(list_texts(), read_words())] == []


def test_the_list_has_all_phrases_once() -> None:
    phrases = [word.phrase.pattern for word in read_words()]
    assert len(phrases) == len({*phrases}) >= 60


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Ask the kit.", ["kit"]),
        ("17 rows were refused.", ["rows were refused"]),
        ("The file `kits/a.py` and [kits](docs/kits.md) of --html-pictures.", ["kits"]),
        ("A number is a number.", []),
    ],
)
def test_a_phrase_is_found_in_prose_and_not_in_code(text: str, found: list[str]) -> None:
    assert [problem.found for problem in find_problems([("a.md", 1, hide_code(text))], read_words())] == found


def test_messages_are_the_texts_of_a_module_but_its_docstrings() -> None:
    source = '"""Doc string."""\nraise Error(f"{path}: no such file.")\nNAME = "single"\n'
    assert list(list_messages(source)) == [(2, ": no such file.")]
