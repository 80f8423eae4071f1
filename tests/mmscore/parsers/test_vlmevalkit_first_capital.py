import pytest

from mmscore.parsers.vlmevalkit_first_capital import vlmevalkit_first_capital


@pytest.mark.parametrize(
    "phrase",
    [
        "The best answer is", "The correct answer is", "The answer is", "The answer", "The best option is",
        "The correct option is", "Best answer:", "Best option:",
    ],
)  # fmt: skip
def test_capitals_of_a_fixed_phrase_are_no_letters(phrase):
    assert vlmevalkit_first_capital(f"{phrase} E").value == "E"
    assert vlmevalkit_first_capital(f"{phrase.lower()} E").value == "E"
    assert vlmevalkit_first_capital(f"Besides, {phrase} E").value == "B"


@pytest.mark.parametrize(
    ("response", "value", "how"),
    [
        ("<answer>d</answer> E", "D", "first capital"),
        ("(b)", "B", "part of an option's label"),
        ("(", "A", "part of an option's label"),
        ("f", None, "unparsed"),
        ("F or E", "E", "first capital"),
    ],
)
def test_a_capital_else_a_part_of_a_label(response, value, how):
    parsed = vlmevalkit_first_capital(response)
    assert (parsed.value, parsed.how) == (value, how)
