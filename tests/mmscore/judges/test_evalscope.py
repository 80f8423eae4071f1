import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mmconvert.core.errors import UsageError
from mmscore.core.judge import LEAVE, Case, JudgeQuestion, NoVerdict, Verdict
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item
from mmscore.judges.evalscope import JUDGE
from mmscore.judges.evalscope_numeric import JUDGE as NUMERIC
from mmscore.kits.evalscope.judging import merge
from support.injections import INJECTIONS

ITEM = Item(question="What?", prediction="a dog", label='["cat", "kitten"]')
RULE = {"bleu-1": 0.25, "Rouge-L-R": 0.5}
RIGHT = {"1.3": "A", "1.10": "A", "1.14": '{"reasoning": "r", "verdict": "A"}'}
WRONG = {"1.3": "B", "1.10": "B", "1.14": '{"reasoning": "r", "verdict": "B"}'}
VERSIONS = list(RIGHT)


def _case(version, strategy="llm", item=ITEM, scores=RULE, wording=None):
    return Case(item, Parsed("a dog", "whole reply"), scores, version, strategy, wording)


@pytest.mark.parametrize("version", VERSIONS)
def test_llm_gives_the_verdict_alone(version):
    assert JUDGE.step(_case(version), [RIGHT[version]]) == Verdict(Parsed("a dog", "judge"), {"acc": 1.0})
    assert JUDGE.step(_case(version), [WRONG[version]]).scores == {"acc": 0.0}


@pytest.mark.parametrize(("version", "merged"), [("1.3", 0.0), ("1.10", 0.0), ("1.14", 0.5)])
def test_recall_merges_into_the_main_score(version, merged):
    case = _case(version, "llm_recall")
    assert JUDGE.step(case, [WRONG[version]]).scores == {"bleu-1": 0.25, "Rouge-L-R": merged}
    assert JUDGE.step(case, [RIGHT[version]]).scores == {"bleu-1": 0.25, "Rouge-L-R": 1.0}
    assert JUDGE.step(_case(version, "llm_recall", scores={"acc": 0.995}), []) is LEAVE
    assert isinstance(JUDGE.step(_case(version, "llm_recall", scores={"acc": 0.99}), []), JudgeQuestion)
    assert JUDGE.step(_case(version, "llm_recall", scores={}), []) is LEAVE


def test_a_full_score_of_the_rules_stays_as_it_is():
    assert [merge({"acc": score}, 0.0, "1.10.0")["acc"] for score in (1.0, 0.995, 0.99)] == [1.0, 0.995, 0.0]


def test_the_judge_sees_all_turns_without_images_and_the_reply_without_its_reasoning():
    parts = [{"type": "image", "text": ""}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    messages = [{"role": "system", "content": [{"type": "text", "text": "sys"}]}, {"role": "user", "content": parts}]
    item = ITEM._replace(messages=messages, prediction="<think>x</think> a dog ")
    wording = "{question}|{pred}|{gold}"
    assert (
        JUDGE.step(_case("1.10", item=item, wording=wording), []).prompt
        == "**System**: sys\n\n**User**: a\nb|a dog|catkitten"
    )
    new = JUDGE.step(_case("1.14", item=item, wording=wording), []).prompt
    assert new.startswith("**System**: sys\n\n**User**: a\nb|a dog|cat\nkitten\n\nReply with one JSON object")


def test_a_rating_shows_no_reference():
    prompt = NUMERIC.step(_case("1.14"), []).prompt
    assert "cat" not in prompt
    assert "a dog" in prompt


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("reply", ["", "I cannot tell", "?", "{}", '{"verdict": "b"}'])
def test_a_reply_without_a_verdict_is_a_failure_and_no_score(version, reply):
    assert isinstance(JUDGE.step(_case(version), [reply]), NoVerdict)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("number", ["7", "1.01"])
def test_a_number_out_of_range_is_a_failure_and_is_not_cut(version, number):
    reply = f'{{"score": {number}}}' if version == "1.14" else f"[[{number}]]"
    assert isinstance(NUMERIC.step(_case(version), [reply]), NoVerdict)
    reply = '{"score": 0.7}' if version == "1.14" else "Rating: [[0.7]]"
    assert NUMERIC.step(_case(version), [reply]).scores == {"acc": 0.7}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("judge", [JUDGE, NUMERIC])
def test_an_answer_cannot_leave_its_marks_nor_give_itself_credit(judge, version):
    wrong = WRONG[version] if judge is JUDGE else '{"score": 0}' if version == "1.14" else "[[0]]"
    for answer in INJECTIONS:
        case = _case(version, item=ITEM._replace(prediction=answer))
        prompt = judge.step(case, []).prompt
        mark = prompt.rpartition("</answer-")[2][:16]
        assert prompt.count(mark) == 2
        assert judge.step(case, [wrong]).scores == {"acc": 0.0}


@given(st.text(), st.sampled_from(VERSIONS), st.sampled_from([JUDGE, NUMERIC]))
def test_any_reply_gives_a_step_and_a_score_within_range(reply, version, judge):
    step = judge.step(_case(version), [reply])
    assert isinstance(step, NoVerdict) or 0 <= step.scores["acc"] <= 1


GRADES = {"GOOD": 1.0, "FAIR": 0.5, "BAD": 0.0}


def test_labels_of_the_users_own_are_worth_what_they_say():
    case = replace(_case("1.14", wording="{pred}"), labels=GRADES)
    assert 'the verdict is one of "GOOD", "FAIR", "BAD".' in JUDGE.step(case, []).prompt
    assert JUDGE.step(case, ['{"verdict": "FAIR"}']).scores == {"acc": 0.5}
    assert isinstance(JUDGE.step(case, [RIGHT["1.14"]]), NoVerdict)


def test_until_1_10_a_pattern_of_the_users_own_finds_them():
    case = replace(_case("1.10", wording="{pred}"), labels=GRADES, pattern="Grade: (\\w+)")
    assert JUDGE.step(case, ["All in all. Grade: FAIR"]).scores == {"acc": 0.5}
    assert isinstance(JUDGE.step(case, ["A"]), NoVerdict)
    with pytest.raises(UsageError, match="--judge-score-pattern"):
        JUDGE.step(replace(case, pattern=None), [])
    assert isinstance(JUDGE.step(replace(case, pattern=None, labels={"A": 0.5}), []), JudgeQuestion)
    rating = replace(_case("1.10"), pattern="([0-9.]+) of 1")
    assert NUMERIC.step(rating, ["0.25 of 1"]).scores == {"acc": 0.25}
