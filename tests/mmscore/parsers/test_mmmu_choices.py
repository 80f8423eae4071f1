from random import Random

import pytest

from mmconvert.core.errors import RowError
from mmscore.parsers.lmms_choice import lmms_choice
from mmscore.parsers.lmms_mmmu_choice import lmms_mmmu_choice
from mmscore.parsers.mmmu_choice import draw_choice, mmmu_choice
from mmscore.parsers.mmmu_pro_choice import mmmu_pro_choice

TEXTS = {"A": "increase", "B": "decrease", "C": "no change", "D": ""}


@pytest.mark.parametrize(
    ("reply", "official", "pro", "lmms"),
    [
        ("B", "B", "B", "B"),
        ("'B'.", "B", "B", "B"),
        ("(A) or rather (C)", "C", "C", "C"),
        ("A\n\nBecause of that", None, None, None),
        ("A. increase", None, "A", "A"),
        ("made in the USA by hand", "D", "A", "A"),
        ("Answer: B", "B", "B", "B"),
        ("A is close but. Answer: **C**", "A", "C", "A"),
        ("so the thing will surely increase here", "D", "D", "D"),
    ],
)
def test_three_scripts_read_three_ways(reply, official, pro, lmms):
    given = [parse(reply, "ABCD", TEXTS).value for parse in (mmmu_choice, mmmu_pro_choice, lmms_mmmu_choice)]
    assert given == [official, pro, lmms]


def test_without_a_lone_letter_the_first_of_several_wins_in_pro():
    assert mmmu_pro_choice("NATO USA", "AO", {}).value == "A"
    assert mmmu_pro_choice("O NATO USA", "AO", {}).value == "O"


def test_several_letters_after_the_marker_leave_the_whole_reply_to_the_stages():
    assert mmmu_pro_choice("(A) is right. Answer: B or C", "ABC", {}).value == "A"


def test_the_fallback_is_one_seeded_draw_a_reply():
    rng = Random(42)
    expected = Random(42)
    assert [draw_choice("ABCD", rng) for _ in range(5)] == [expected.choice("ABCD") for _ in range(5)]
    with pytest.raises(RowError, match="no choice letter"):
        draw_choice("", rng)


@pytest.mark.parametrize(
    ("reply", "letter", "how"),
    [
        ("B, not C", "B", "letter at the start"),
        ("not B but C", "C", "letter at the end"),
        ("it seems the answer is B or so", "B", "answer phrase"),
        ("xBx", "B", "any occurrence"),
        ('"B"', "B", "letter at the start"),
        ("   ", None, "unparsed"),
    ],
)
def test_lmms_forms_have_their_rank(reply, letter, how):
    parsed = lmms_choice(reply, "ABCD")
    assert (parsed.value, parsed.how) in ((letter, how), (letter, "letter at the end"))
