import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import RowError
from mmscore.core.parsed import UNPARSED
from mmscore.kits.vlmevalkit.judge_responses import DRAWN, OPTION_TRIES, TRIES, infer_judged_option, read_judged_yes_no

FRUITS = {"A": "pear", "B": "plum"}
NOTHING = "I cannot say"


def test_an_answer_that_names_an_option_needs_no_judge():
    judged = infer_judged_option("plum", FRUITS, [])
    assert (judged.parsed.value, judged.log) == ("B", "plum")


def test_the_judge_is_asked_until_a_reply_names_an_option():
    assert infer_judged_option(NOTHING, FRUITS, []) is None
    assert infer_judged_option(NOTHING, FRUITS, ["hm"]) is None
    assert infer_judged_option(NOTHING, FRUITS, ["hm", "Z"]).parsed.value == "Z"


def test_after_three_replies_that_name_no_option_the_kit_would_draw_one():
    judged = infer_judged_option(NOTHING, FRUITS, ["hm", "Failed to obtain answer via API.", "The answer is C"])
    assert (judged.parsed, judged.log) == (UNPARSED, DRAWN)


def test_the_version_reads_the_judges_reply_as_well():
    said = ["I would say the answer is a plain and simple pear or plum"]
    assert infer_judged_option(NOTHING, FRUITS, said, "v3").parsed.value == "A"
    assert infer_judged_option(NOTHING, FRUITS, said, "v2") is None


def test_nothing_can_be_drawn_where_z_is_an_option():
    with pytest.raises(RowError, match="Rename it"):
        infer_judged_option(NOTHING, {"Y": "pear", "Z": "plum"}, ["hm"] * OPTION_TRIES)


def test_yes_and_no_are_asked_for_five_times():
    assert read_judged_yes_no([]) is None
    assert read_judged_yes_no(["Unknown"] * (TRIES - 1)) is None
    assert read_judged_yes_no(["Unknown"] * TRIES) == UNPARSED
    assert read_judged_yes_no(["yes or no", "No!"]).value == "No"


@given(st.text(), st.lists(st.text(), max_size=TRIES))
def test_any_text_is_read_and_the_tries_come_to_an_end(prediction, replies):
    judged = infer_judged_option(prediction, FRUITS, replies)
    assert judged is not None or len(replies) < OPTION_TRIES
    assert read_judged_yes_no(replies) is not None or len(replies) < TRIES


def test_nothing_is_read_in_the_text_of_a_failed_call():
    options = {"A": "the answer via API", "B": "something quite different"}
    assert infer_judged_option("?", options, ["Failed to obtain answer via API."]) is None
