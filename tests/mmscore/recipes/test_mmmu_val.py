import json
from random import Random

import pytest

from mmconvert.plugins.registry import load
from mmscore.core.recipe import Item
from support.items import score_items

RECIPE = load("mmscore.recipes", "mmmu_val")
OPTIONS = ("red", "green", "blue", "black")


def _item(id, reply, label="A", options=OPTIONS):
    return Item(id=id, prediction=reply, options=options, label=json.dumps(label))


def test_unread_choices_are_drawn_subject_after_subject_in_the_scripts_order():
    items = [_item("validation_Math_1", "hm"), _item("validation_Art_1", "hm"), _item("validation_Art_2", "(B)")]
    rng = Random(42)
    art, math = (rng.choice("ABCD") for _ in range(2))
    scored = score_items(items, RECIPE)
    assert scored.column("value") == [math, art, "B"]
    assert scored.column("how") == ["random fallback", "random fallback", "bracketed letter"]
    assert scored.scores["accuracy"].tolist() == [float(math == "A"), float(art == "A"), 0.0]
    assert scored.scores["accuracy_without_fallback"].tolist() == [0, 0, 0]
    assert RECIPE.reduce(scored, "1")["fallback_share"].value == pytest.approx(2 / 3)


def test_a_draw_comes_from_the_rows_own_letters():
    items = [_item(f"validation_Art_{n}", "hm", options=("x", None, "z")) for n in range(20)]
    assert set(score_items(items, RECIPE).column("value")) == {"A", "C"}


@pytest.mark.parametrize(
    ("label", "reply", "right"),
    [("42", "so the answer is 42", 1), (["24/7", "3.429"], "it is 3.43", 1), ("42", "41", 0)],
)
def test_open_answers_are_matched(label, reply, right):
    answers = label if isinstance(label, list) else [label]
    item = Item(id="validation_Math_1", prediction=reply, label=json.dumps(label), answers=answers)
    scored = score_items([item], RECIPE)
    assert scored.scores["accuracy"].tolist() == [right]
    assert scored.column("how") == ["key phrases"]


def test_rows_of_no_mmmu_subject_are_left_out_and_draw_nothing():
    items = [_item("validation_Alchemy_1", "hm"), _item("validation_Art_1", "hm")]
    scored = score_items(items, RECIPE)
    assert scored.column("status") == ["excluded", "scored"]
    assert scored.column("value")[1] == Random(42).choice("ABCD")


def test_the_table_is_the_scripts():
    items = [_item("validation_Art_1", "(A)"), _item("validation_Art_2", "(B)"), _item("validation_Music_1", "(A)")]
    lines = RECIPE.table(score_items(items, RECIPE), "1")
    assert lines[0] == {"name": "Overall-Art and Design", "num": 3, "acc": 0.667}
    assert [line["name"] for line in lines][1:4] == ["Art", "Music", "Overall-Business"]
    assert lines[-1] == {"name": "Overall", "num": 3, "acc": 0.667}
