"""What every judge owes: names that exist, an end of its questions, and no crash on any reply."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import Error
from mmconvert.plugins.registry import find_plugins, load
from mmscore.core.judge import JUDGES, RULE, Case, Judge, JudgeQuestion, Leave, NoVerdict, Verdict
from mmscore.core.parsed import UNPARSED, Parsed
from mmscore.core.recipe import Item, Recipe

NAMES = list(find_plugins(JUDGES))
ITEM = Item(
    id="1",
    task="multiple_choice",
    question="Which?",
    options=("red", "green"),
    answer="A",
    answers=("A",),
    label='"A"',
    prediction="hm",
    category="rec",
    extra='{"caption": "A shirt.", "gpt4_ans": "Red."}',
)


@pytest.mark.parametrize("name", NAMES)
def test_it_says_what_it_follows_and_names_what_exists(name: str) -> None:
    judge: Judge = load(JUDGES, name)
    assert judge.summary
    assert judge.parity
    assert judge.versions
    assert judge.strategies
    assert RULE not in judge.strategies
    assert judge.auto in (RULE, *judge.strategies)
    assert set(judge.columns) <= set(Item._fields)
    assert set(judge.required) <= set(judge.slots)
    assert judge.tries >= 1
    assert set(judge.questions) <= set(judge.strategies)
    assert {*judge.takes_labels, *judge.takes_pattern} <= set(judge.versions)


@pytest.mark.parametrize("name", list(find_plugins("mmscore.recipes")))
def test_a_recipe_names_judges_that_exist(name: str) -> None:
    recipe: Recipe = load("mmscore.recipes", name)
    assert set(recipe.judges) <= set(NAMES)
    assert recipe.judges or not recipe.needs_judge


@pytest.mark.parametrize("name", NAMES)
def test_some_recipe_takes_it(name: str) -> None:
    recipes: list[Recipe] = [load("mmscore.recipes", recipe) for recipe in find_plugins("mmscore.recipes")]
    assert any(name in recipe.judges for recipe in recipes)


@given(replies=st.lists(st.text(max_size=40), min_size=10, max_size=10), prediction=st.text(max_size=40))
@pytest.mark.parametrize("name", NAMES)
def test_it_comes_to_an_end_within_its_tries_and_says_the_same_twice(
    name: str, replies: list[str], prediction: str
) -> None:
    judge: Judge = load(JUDGES, name)
    for version in judge.versions:
        for strategy in judge.strategies:
            for parsed, scores in ((UNPARSED, {"accuracy": 0.0}), (Parsed("A", "letter"), {"accuracy": 1.0})):
                case = Case(ITEM._replace(prediction=prediction), parsed, scores, version, strategy)
                asked = 0
                try:
                    while isinstance(step := judge.step(case, replies[:asked]), JudgeQuestion):
                        assert step == judge.step(case, replies[:asked])
                        asked += 1
                        assert asked <= judge.most(strategy)
                except Error:
                    continue
                assert isinstance(step, Verdict | NoVerdict | Leave)
