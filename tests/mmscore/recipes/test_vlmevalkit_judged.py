import json

import pytest

from mmconvert.core.errors import Error
from mmconvert.plugins.registry import load
from mmscore.core.judge import JUDGED
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Facts, Item
from mmscore.core.select_recipe import RECIPES, choose_recipe
from support.items import score_items

MATHVISTA = load(RECIPES, "vlmevalkit_mathvista")


def question(prediction, answer="7", **cells):
    known = {"question_type": "free_form", "answer_type": "integer", "task": "geometry", "skills": "['logic']"}
    return Item(label=json.dumps(answer), prediction=prediction, extra=json.dumps({**known, **cells}))


@pytest.mark.parametrize(
    "name",
    [
        "MMVet",
        "MathVista_MINI",
        "LLaVABench",
        "LogicVista",
        "SimpleVQA",
        "CharXiv_reasoning_val",
        "MMLongBench_DOC",
        "DynaMath",
    ],
)
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


LLAVABENCH = ("llavabench", '{"caption": "", "gpt4_ans": ""}')
OTHERS = [(name, "{}") for name in ("mmvet", "logicvista", "simplevqa", "charxiv", "mmlongbench")]


@pytest.mark.parametrize(("name", "extra"), [LLAVABENCH, *OTHERS])
def test_without_a_judge_nothing_has_a_score(name, extra):
    scored = score_items([Item(answer="cat", prediction="a cat", extra=extra)], load(RECIPES, f"vlmevalkit_{name}"))
    assert scored.column("status") == ["excluded"]
    assert not scored.scores


def judged(name, verdicts, columns=None):
    """Score rows of which a judge read these texts."""
    scored = score_items([Item(label='"x"', prediction="x")] * len(verdicts), load(RECIPES, name))
    for column, cells in (columns or {}).items():
        scored = scored.with_column(column, cells)
    return scored.with_scores(accuracy=verdicts, score=verdicts)


@pytest.mark.parametrize(
    ("name", "columns", "message"),
    [
        ("vlmevalkit_logicvista", {"extra.skill": [None]}, "extra.skill: a row has none"),
        ("vlmevalkit_charxiv", {"dataset": ["CharXiv_reasoning_val"], "extra.inst_category": ["5"]}, "from 1 to 4"),
        ("vlmevalkit_charxiv", {"dataset": ["CharXiv_descriptive_val"], "extra.qid": ["x"]}, "from 1 to 19"),
        ("vlmevalkit_mmlongbench", {"extra.evidence_sources": ["Chart"]}, "extra.evidence_sources: this is not a list"),
    ],
)
def test_a_table_needs_the_columns_of_the_kit(name, columns, message):
    with pytest.raises(Error, match=message):
        load(RECIPES, name).table(judged(name, [1.0], columns), "1")


def test_mmlongbench_joins_answerable_questions_and_answers_that_say_something():
    recipe = load(RECIPES, "vlmevalkit_mmlongbench")
    rows = [("a kite", "a kite"), ("Not answerable", "a kite"), ("a kite", "Not answerable")]
    extra = '{"answer_format": "Str"}'
    found = [recipe.metrics(Item(answer=answer, extra=extra), Parsed(read, JUDGED), "1") for answer, read in rows]
    assert found == [
        {"accuracy": 1, "recall": 1, "precision": 1},
        {"accuracy": 0, "precision": 0},
        {"accuracy": 0, "recall": 0},
    ]
    scores = {name: [one.get(name, float("nan")) for one in found] for name in found[0]}
    numbers = recipe.reduce(judged("vlmevalkit_mmlongbench", [0.0] * 3).with_scores(**scores), "1")
    assert {name: number.value for name, number in numbers.items()} == {"f1": 0.5, "accuracy": pytest.approx(1 / 3)}


def test_dynamath_counts_a_question_by_its_worst_variant():
    recipe = load(RECIPES, "vlmevalkit_dynamath")
    rows = [("3", 1, 0), ("4", 2, 0), ("3.0005", 1, 2), ("3", 2, 9)]
    cells = [{"answer_type": "float", "subject": "s", "knowledge_level": "l", "varid": v, "qid": q} for _, v, q in rows]
    texts = [{name: str(value) for name, value in one.items()} for one in cells]
    items = [
        Item(label='"3"', prediction=row[0], extra=json.dumps(cell)) for row, cell in zip(rows, texts, strict=True)
    ]
    scored = score_items(items, recipe)
    numbers = recipe.reduce(scored, "1")
    assert {name: number.value for name, number in numbers.items()} == {"accuracy": 0.75, "worst_case": 0.5}
    assert [line["Subject-s"] for line in recipe.table(scored, "1")] == [0.75, 0.5]
    with pytest.raises(Error, match=r"extra.qid: a row has none"):
        recipe.table(scored.with_column("extra.qid", [None] * 4), "1")
    with pytest.raises(Error, match="expected a number"):
        score_items([items[0]._replace(label='"x"')], recipe)
