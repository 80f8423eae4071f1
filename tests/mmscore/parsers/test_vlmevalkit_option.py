import pytest

from mmconvert.core.errors import RowError
from mmscore.parsers.vlmevalkit_option import infer_option, infer_option_text, vlmevalkit_option

OPTIONS = {"A": "cat", "B": "dog", "C": "mouse"}


@pytest.mark.parametrize(
    ("reply", "v1", "v2", "v3"),
    [
        ("B", "B", "B", "B"),
        ("(B) is what the animal in the image looks like", "B", None, None),
        ("B\n\nExplanation: the answer is B because of the ears I see", "B", None, "B"),
        ("answer is apple", None, None, "A"),
        ("Z", "Z", "Z", "Z"),
        ("A or B", None, None, None),
        ("选A", None, None, None),
        ("BX", None, None, None),
        ("答案是 B", "B", "B", "B"),
        ("\\boxed{C}", "C", "C", "C"),
        ("I'm sorry, but without the image provided I say B", "Z", "Z", "Z"),
        ("a dog", "B", "B", "B"),
        ("the animal in the image is obviously a dog", "B", None, None),
    ],
)
def test_three_dated_behaviours(reply, v1, v2, v3):
    assert [vlmevalkit_option(reply, OPTIONS, v).value for v in ("v1", "v2", "v3")] == [v1, v2, v3]


def test_a_failed_call_is_never_read_by_letter_but_may_hold_an_option_text():
    reply = "Failed to obtain answer via API. B"
    assert infer_option(reply, OPTIONS).value is None
    assert vlmevalkit_option(reply, {"A": "failed to obtain", "B": "x"}).how == "option text"


def test_the_phrase_must_name_an_option_that_exists():
    assert vlmevalkit_option("answer is D", OPTIONS).value is None


def test_two_contained_texts_decide_nothing():
    assert infer_option_text("cat dog", OPTIONS).value is None


def test_keys_that_are_no_capital_letters_are_refused():
    with pytest.raises(RowError, match="upper-case"):
        infer_option_text("word", {"a": "word"})


def test_the_options_are_left_as_they_are():
    options = {"A": "CAT", "B": "Dog"}
    vlmevalkit_option("cat", options)
    assert options == {"A": "CAT", "B": "Dog"}


def test_the_span_shows_the_word():
    parsed = vlmevalkit_option("Answer: **B**, I say", OPTIONS)
    assert (parsed.how, parsed.span) == ("option letter", (10, 11))
    parsed = vlmevalkit_option("answer is **apple", OPTIONS)
    assert (parsed.how, parsed.span) == ("answer phrase", (12, 13))


def test_a_response_that_was_read_before_is_read_by_the_letters_at_hand():
    assert infer_option("B", OPTIONS).value == "B"
    assert infer_option("B", {"A": "cat"}).value is None
    assert infer_option("B", OPTIONS).value == "B"
    assert [infer_option("B a b c d e", OPTIONS, version).value for version in ("v1", "v2", "v1")] == ["B", None, "B"]
