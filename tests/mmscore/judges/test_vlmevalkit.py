import json
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import RowError
from mmconvert.plugins.registry import load
from mmscore.core.judge import JUDGED, JUDGES, LEAVE, Case, JudgeQuestion, NoVerdict, Verdict
from mmscore.core.parsed import UNPARSED, Parsed
from mmscore.core.recipe import Item

ROWS = {
    "vlmevalkit_option": Item(question="Which fruit?", options=["pear", "plum"], answer="B", prediction="hard to say"),
    "vlmevalkit_yes_no": Item(question="Is it a cat?", answer="Yes", prediction="so it seems"),
    "vlmevalkit_mmvet": Item(question="What is it?", answer="cat<OR>kitten", prediction="a cat"),
    "vlmevalkit_mathvista": Item(question="How many?", answer="7", prediction="seven of them"),
    "vlmevalkit_llavabench": Item(
        question="What is it?", extra=json.dumps({"caption": "A cat.", "gpt4_ans": "A cat."}), prediction="a cat"
    ),
    "vlmevalkit_logicvista": Item(question="Which come next?", answer="A, C", prediction="the first and the third"),
    "vlmevalkit_simplevqa": Item(question="Who is it?", answer="Robinson", prediction="鲁滨逊"),
    "vlmevalkit_charxiv": Item(
        question="How many lines?", answer="3", extra='{"grading_query": "How many? {PREDICTION}"}', prediction="three"
    ),
    "vlmevalkit_mmlongbench": Item(question="Which page?", answer="3", prediction="on the third"),
    "vlmevalkit_dynamath": Item(
        question="How long is it?", answer="3", extra='{"answer_type": "float"}', prediction="as long as three"
    ),
}
FITTING = {
    "vlmevalkit_option": "B",
    "vlmevalkit_yes_no": "No",
    "vlmevalkit_mmvet": "0.5",
    "vlmevalkit_mathvista": "7",
    "vlmevalkit_llavabench": "8 6\nBecause.",
    "vlmevalkit_logicvista": "AC",
    "vlmevalkit_dynamath": "3.000",
    "vlmevalkit_simplevqa": '{"预测答案0": "正确"}',
    "vlmevalkit_charxiv": '{"extracted_answer": "3", "score": 1}',
    "vlmevalkit_mmlongbench": "Extracted answer: 3\nAnswer format: Integer",
}
NAMES = pytest.mark.parametrize("name", ROWS)


def stepped(name, replies=(), *, parsed=UNPARSED, wording=None, strategy=None, **changes):
    judge = load(JUDGES, name)
    version = next(iter(judge.versions))
    case = Case(ROWS[name]._replace(**changes), parsed, {}, version, strategy or judge.auto, wording)
    return judge.step(case, replies)


@NAMES
def test_a_fitting_reply_settles_the_row(name):
    assert isinstance(stepped(name), JudgeQuestion)
    assert isinstance(stepped(name, [FITTING[name]]), Verdict)


@NAMES
def test_a_judge_asks_no_more_often_than_it_says(name):
    replies = []
    while isinstance(stepped(name, replies), JudgeQuestion):
        replies.append("I would rather not.")
    assert len(replies) == load(JUDGES, name).tries


@NAMES
@given(replies=st.lists(st.text(), max_size=5), prediction=st.text())
def test_any_text_is_judged(name, replies, prediction):
    judge = load(JUDGES, name)
    assert stepped(name, replies[: judge.tries], prediction=prediction) is not None


@NAMES
def test_a_wording_is_filled(name):
    judge = load(JUDGES, name)
    wording = " ~ ".join(f"{{{slot}}}" for slot in judge.slots)
    asked = stepped(name, wording=wording).prompt
    assert ROWS[name].prediction in asked
    assert ROWS[name].question in asked
    assert asked.count(" ~ ") == len(judge.slots) - 1


@pytest.mark.parametrize(
    "name", ["vlmevalkit_option", "vlmevalkit_yes_no", "vlmevalkit_mathvista", "vlmevalkit_dynamath"]
)
def test_what_the_rules_could_read_is_not_asked_about(name):
    assert stepped(name, parsed=Parsed("A", "option letter")) is LEAVE


@pytest.mark.parametrize("name", ["vlmevalkit_yes_no", "vlmevalkit_mmvet", "vlmevalkit_logicvista"])
def test_each_try_is_half_a_degree_warmer(name):
    asked = [stepped(name, ["?"] * tries).generation["temperature"] for tries in range(5)]
    assert asked == [0, 0.5, 1, 1.5, 2]


def test_an_option_is_read_off_the_judges_reply():
    assert stepped("vlmevalkit_option", ["hm", "The answer is B"]) == Verdict(Parsed("B", JUDGED))
    assert stepped("vlmevalkit_option", ["Z"]) == Verdict(Parsed("Z", JUDGED))


def test_no_option_is_drawn():
    assert isinstance(stepped("vlmevalkit_option", ["hm"] * 3), NoVerdict)
    assert isinstance(stepped("vlmevalkit_option", ["hm"] * 3, options=[*"abcdefghijklmnopqrstuvwxyz"]), NoVerdict)


def test_a_judge_that_cannot_tell_yes_from_no_leaves_the_answer_as_neither():
    assert stepped("vlmevalkit_yes_no", ["Unknown."] * 5) == Verdict()
    assert isinstance(stepped("vlmevalkit_yes_no", ["maybe"] * 5), NoVerdict)


@pytest.mark.parametrize("reply", ["nan", "1.1", "score: 1", ""])
def test_a_reply_that_is_no_grade_gives_none(reply):
    assert isinstance(stepped("vlmevalkit_mmvet", [reply] * 5), NoVerdict)


def test_scores_out_of_range_give_none():
    assert isinstance(stepped("vlmevalkit_llavabench", ["11 6"]), NoVerdict)
    assert stepped("vlmevalkit_llavabench", ["8 6"]).scores == {"vlm_score": 6, "gpt4_score": 8}


def test_swapped_positions_are_both_asked_for_and_averaged():
    step = partial(stepped, "vlmevalkit_llavabench", strategy="position_swap", wording="1 {reference} 2 {prediction}")
    assert [step(replies).prompt for replies in ([], ["8 6"])] == ["1 A cat. 2 a cat", "1 a cat 2 A cat."]
    assert step(["8 6", "9 7"]).scores == {"vlm_score": 7.5, "gpt4_score": 7.5}
    assert isinstance(step(["8 6", "none"]), NoVerdict)


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("vlmevalkit_simplevqa", '{"预测答案0": "A"}'),
        ("vlmevalkit_simplevqa", '{"预测答案0": 1}'),
        ("vlmevalkit_simplevqa", '{"预测答案0": {"conclusion": 1}}'),
        ("vlmevalkit_simplevqa", "[]"),
        ("vlmevalkit_simplevqa", "{}"),
        ("vlmevalkit_charxiv", '["score", 1]'),
        ("vlmevalkit_charxiv", '{"score": 1}'),
        ("vlmevalkit_charxiv", '{"extracted_answer": "3", "score": "1"}'),
        ("vlmevalkit_charxiv", '{"extracted_answer": "3", "score": 2}'),
        ("vlmevalkit_mmlongbench", "The answer is 3."),
    ],
)
def test_a_reply_that_says_nothing_is_no_verdict(name, reply):
    assert isinstance(stepped(name, [reply]), NoVerdict)


def test_dynamath_is_read_as_the_response_or_left_as_it_is():
    assert stepped("vlmevalkit_dynamath", ["3 cm"]) == Verdict(Parsed("3.0", JUDGED))
    assert stepped("vlmevalkit_dynamath", ["three"]) == Verdict()
    assert "three decimals" in stepped("vlmevalkit_dynamath").prompt


def test_charxiv_asks_what_the_table_says():
    assert stepped("vlmevalkit_charxiv").prompt == "How many? three"
    with pytest.raises(RowError, match="is missing"):
        stepped("vlmevalkit_charxiv", extra="{}")
