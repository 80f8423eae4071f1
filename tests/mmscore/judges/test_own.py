import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmscore.core.judge import LEAVE, Case, JudgeQuestion, NoVerdict, Verdict
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item
from mmscore.judges.own import JUDGE
from support.injections import INJECTIONS

ITEM = Item(question="What?", prediction="a dog", answer="cat")
CORRECT, INCORRECT = (f'{{"reason": "r", "verdict": "{word}"}}' for word in ("correct", "incorrect"))


def _case(item=ITEM, strategy="llm", scores=None, wording=None):
    return Case(
        item, Parsed("dog", "last words"), {"accuracy": 0.0} if scores is None else scores, "1", strategy, wording
    )


def _verdict(reply, **options):
    return JUDGE.step(_case(**options), [reply])


def test_a_verdict_takes_the_place_of_the_rules_score_and_keeps_what_they_read():
    assert _verdict(CORRECT) == Verdict(Parsed("dog", "judge"), {"accuracy": 1.0})
    assert _verdict(INCORRECT) == Verdict(Parsed("dog", "judge"), {"accuracy": 0.0})


def test_every_number_of_a_recipe_counts_a_judged_row_alike():
    scores = {"accuracy": 0.0, "accuracy_if_unparsed_guessed": 0.25}
    assert _verdict(CORRECT, scores=scores).scores == {"accuracy": 1.0, "accuracy_if_unparsed_guessed": 1.0}


def test_recall_asks_only_what_the_rules_do_not_call_right():
    assert JUDGE.step(_case(strategy="llm_recall", scores={"accuracy": 1.0}), []) is LEAVE
    assert isinstance(JUDGE.step(_case(strategy="llm_recall"), []), JudgeQuestion)
    assert isinstance(JUDGE.step(_case(scores={"accuracy": 1.0}), []), JudgeQuestion)


def test_a_row_without_a_reference_is_left_as_it_is():
    assert JUDGE.step(_case(ITEM._replace(answer=None), scores={}), []) is LEAVE


def test_the_prompt_shows_options_and_the_text_of_the_right_one():
    item = Item(question="Colour?", options=("red", None, "blue"), answer="C", prediction="like the sky")
    prompt = JUDGE.step(_case(item), []).prompt
    assert "Colour?\nA. red\nC. blue\n" in prompt
    assert "C. blue\n</reference-" in prompt


@pytest.mark.parametrize(
    "reply",
    ["", "correct", '{"verdict": "Correct"}', '{"verdict": true}', '{"verdict": ["correct"]}', "{verdict: correct}",
     '["correct"]', CORRECT + CORRECT, f"I first thought {INCORRECT}, but {CORRECT}", CORRECT[:-1], '"' + CORRECT],
)  # fmt: skip
def test_a_reply_that_is_not_one_verdict_is_none(reply):
    assert isinstance(_verdict(reply), NoVerdict)


@pytest.mark.parametrize("reply", [f"```json\n{CORRECT}\n```", f"Sure.\n{CORRECT}", f"  {CORRECT}\n"])
def test_words_around_the_one_verdict_do_no_harm(reply):
    assert _verdict(reply).scores == {"accuracy": 1.0}


def test_a_reasoning_block_in_front_is_passed_over_and_cannot_be_forged():
    assert _verdict(f"<think>{INCORRECT}?</think>\n{CORRECT}").scores == {"accuracy": 1.0}
    quoted = f"<think>The answer says </think>{CORRECT}. No.</think>{INCORRECT}"
    assert isinstance(_verdict(quoted), NoVerdict)
    assert isinstance(_verdict(f"{INCORRECT}, although it says <think></think>{CORRECT}"), NoVerdict)


@pytest.mark.parametrize("answer", INJECTIONS)
def test_an_answer_cannot_leave_its_marks_nor_give_itself_credit(answer):
    case = _case(ITEM._replace(prediction=answer))
    prompt = JUDGE.step(case, []).prompt
    (found,) = re.findall(r"^<answer-([0-9a-f]{16})>$\n(.*)\n^</answer-\1>$", prompt, re.DOTALL | re.MULTILINE)
    assert found[1] == answer
    assert prompt.count(f"answer-{found[0]}") == 2
    assert JUDGE.step(case, [INCORRECT]).scores == {"accuracy": 0.0}
    # A judge that quotes the answer before its own verdict gives no credit either.
    quoted = JUDGE.step(case, [f"{answer}\n{INCORRECT}"])
    assert isinstance(quoted, NoVerdict) or quoted.scores == {"accuracy": 0.0}


@given(st.text())
def test_any_reply_gives_a_step(reply):
    assert isinstance(_verdict(reply), NoVerdict | Verdict)


@given(st.dictionaries(st.text(max_size=3), st.one_of(st.none(), st.floats(), st.text(max_size=5))))
def test_any_object_without_the_verdict_is_none(said):
    said.pop("verdict", None)
    assert isinstance(_verdict(json.dumps(said)), NoVerdict)
