"""What every recipe owes: a parity note, versions, known columns, a page in the docs, and no crash on any text."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmconvert.errors import Error
from mmconvert.plugins import available, load
from mmscore.recipe import Item, Recipe

ROOT = Path(__file__).resolve().parents[2]
RECIPES = list(available("mmscore.recipes"))


@pytest.mark.parametrize("name", RECIPES)
def test_it_says_whose_number_it_is(name: str) -> None:
    recipe: Recipe = load("mmscore.recipes", name)
    assert recipe.summary
    assert recipe.versions
    assert recipe.parity
    assert set(recipe.columns) <= set(Item._fields)


@pytest.mark.parametrize("name", RECIPES)
def test_it_is_documented_with_its_versions(name: str) -> None:
    recipe: Recipe = load("mmscore.recipes", name)
    (line,) = [
        line for line in (ROOT / "docs/recipes.md").read_text(encoding="utf-8").splitlines() if f"`{name}`" in line
    ]
    assert ", ".join(recipe.versions) in line


@settings(deadline=None, max_examples=40)
@given(reply=st.text(max_size=60))
@pytest.mark.parametrize("name", RECIPES)
def test_any_reply_is_read_or_refused_by_name(name: str, reply: str) -> None:
    recipe: Recipe = load("mmscore.recipes", name)
    item = Item(
        id="validation_Art_1",
        sample="validation_Art_1",
        task="multiple_choice",
        question="q",
        options=("red", "green"),
        answer="A",
        answers=("A",),
        label='"A"',
        dataset="TextVQA_VAL",
        prediction=reply,
    )
    for version in recipe.versions:
        try:
            parsed = recipe.parse(item, version)
        except Error:
            continue
        scores = recipe.metrics(item, parsed, version)
        assert all(isinstance(value, float | int) for value in scores.values())
