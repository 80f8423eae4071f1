import json

import pytest

from mmconvert.core.errors import Error
from mmconvert.plugins.registry import load
from mmscore.core.recipe import Facts, Item
from mmscore.core.select_recipe import RECIPES, choose_recipe
from support.items import score_items

MATHVISTA = load(RECIPES, "vlmevalkit_mathvista")


def question(prediction, answer="7", **cells):
    known = {"question_type": "free_form", "answer_type": "integer", "task": "geometry", "skills": "['logic']"}
    return Item(label=json.dumps(answer), prediction=prediction, extra=json.dumps({**known, **cells}))


@pytest.mark.parametrize("name", ["MMVet", "MathVista_MINI", "LLaVABench"])
def test_a_table_of_the_kit_finds_its_recipe(name):
    facts = Facts(frozenset([name]), frozenset(["vqa"]), frozenset(["vlmevalkit_predictions"]))
    assert load(RECIPES, choose_recipe(facts).name).parity.startswith("VLMEvalKit")


def test_mathvista_reads_options_and_right_numbers_directly():
    choice = {"question_type": "multi_choice", "choices": "['pear', 'plum']", "answer_option": "B"}
    scored = score_items([question("7"), question("about 7"), question("plum", **choice)], MATHVISTA)
    assert scored.column("value") == ["7", None, "B"]
    assert scored.scores["accuracy"].tolist() == [1, 0, 1]
    assert MATHVISTA.reduce(scored, "1")["accuracy"].value == pytest.approx(200 / 3)
    assert MATHVISTA.table(scored, "1")[0] == {
        "Task&Skill": "Overall",
        "tot": 3,
        "prefetch": 2,
        "hit": 2,
        "prefetch_rate": pytest.approx(200 / 3),
        "acc": pytest.approx(200 / 3),
    }


def test_mathvista_needs_the_columns_of_the_kit():
    with pytest.raises(Error, match=r"extra.question_type: is missing"):
        score_items([Item(label='"7"', prediction="7")], MATHVISTA)
    scored = score_items([question("7", skills=None)], MATHVISTA)
    with pytest.raises(Error, match="skills"):
        MATHVISTA.table(scored, "1")


@pytest.mark.parametrize(("name", "extra"), [("mmvet", "{}"), ("llavabench", '{"caption": "", "gpt4_ans": ""}')])
def test_without_a_judge_nothing_has_a_score(name, extra):
    scored = score_items([Item(answer="cat", prediction="a cat", extra=extra)], load(RECIPES, f"vlmevalkit_{name}"))
    assert scored.column("status") == ["excluded"]
    assert not scored.scores
