import json

import pytest

from mmconvert.core.errors import Error
from mmconvert.plugins.registry import load
from mmscore.core.recipe import Facts, Item
from mmscore.core.select_recipe import choose_recipe
from mmscore.core.table import SCORED
from mmscore.kits.mme.points import COGNITION, PERCEPTION
from mmscore.scoring.evaluate import score
from support.items import score_items
from support.predictions import write_predictions


def _recipe(name):
    return load("mmscore.recipes", f"vlmevalkit_{name}")


def _numbers(name, items, version=None):
    recipe = _recipe(name)
    version = version or next(iter(recipe.versions))
    scored = score_items(items, recipe, version).with_status(SCORED)
    return {metric: estimate.value for metric, estimate in recipe.reduce(scored, version).items()}


def _table(name, items, version=None):
    recipe = _recipe(name)
    version = version or next(iter(recipe.versions))
    return recipe.table(score_items(items, recipe, version).with_status(SCORED), version)


def _pair(category, *, first="Yes", second="No", image="1.jpg"):
    about = {"category": category, "group": f"{category}/{image}"}
    return [Item(answer="Yes", prediction=first, **about), Item(answer="No", prediction=second, **about)]


def test_mme_adds_a_bonus_for_images_with_both_right():
    full = [item for name in (*PERCEPTION, *COGNITION) for item in _pair(name)]
    assert (_numbers("mme", full)["perception"], _numbers("mme", full)["reasoning"]) == (2000.0, 800.0)
    half = _pair("OCR", second="Yes") + _pair("OCR", image="2.jpg")
    assert _numbers("mme", half) == {"perception": 125.0, "accuracy": 0.75, "accuracy_plus": 0.5}


def test_the_mme_table_needs_every_category_since_version_2_and_two_questions_an_image():
    with pytest.raises(Error, match="no question of OCR"):
        _table("mme", _pair("scene"))
    (line,) = _table("mme", _pair("scene"), "1")
    assert line == {"perception": 200.0, "reasoning": 0, "scene": 200.0}
    with pytest.raises(Error, match="single answered question"):
        _table("mme", [*_pair("OCR"), *_pair("OCR", image="2.jpg")[:1]], "1")


def test_mme_without_images_is_refused():
    with pytest.raises(Error, match="names its image"):
        score_items([Item(answer="Yes", prediction="Yes", category="OCR")], _recipe("mme"))


def test_pope_counts_a_question_once_a_tag_and_does_not_strip_tags():
    items = [
        Item(answer="Yes", prediction="Yes.", category="random,popular"),
        Item(answer="Yes", prediction="hm", category=" random"),
        Item(answer="No", prediction="no", category=None),
    ]
    lines = {line["split"]: line for line in _table("pope", items)}
    assert list(lines) == ["Overall", " random", "popular", "random"]
    assert lines["Overall"]["acc"] == 75.0
    assert lines["Overall"]["recall"] == pytest.approx(200 / 3)
    assert lines[" random"] == {"split": " random", "Overall": 0.0, "acc": 0.0, "precision": 0.0, "recall": 0.0}


def test_copies_of_a_pope_question_count_as_one_for_the_error():
    once = [Item(answer="Yes", prediction=reply, category="a") for reply in ("Yes", "Yes", "No", "No", "Yes")]
    thrice = [item._replace(category="a,b,c") for item in once]
    recipe = _recipe("pope")
    errors = [recipe.reduce(score_items(items, recipe), "1")["acc"].stderr for items in (once, thrice)]
    assert errors[0] == pytest.approx(errors[1])


def test_hallusion_bench_joins_figures_and_questions_within_a_parent_category():
    rows = [("VD_x_y_0_0_0", "Yes"), ("VD_x_y_0_0_1", "No"), ("VD_x_y_0_1_0", "Yes")]
    items = [Item(id=id, answer="Yes", prediction=reply, category="VD", l2_category="x") for id, reply in rows]
    numbers = _numbers("hallusionbench", items)
    assert numbers == pytest.approx({"aAcc": 200 / 3, "fAcc": 50.0, "qAcc": 50.0})
    assert [line["split"] for line in _table("hallusionbench", items)] == ["Overall", "VD", "x"]
    with pytest.raises(Error, match="set, figure and question"):
        score_items([Item(id="7", answer="Yes", prediction="Yes")], _recipe("hallusionbench"))
    with pytest.raises(Error, match="l2_category"):
        _table("hallusionbench", [item._replace(l2_category=None) for item in items])


def test_a_figure_without_all_answers_takes_no_part(tmp_path):
    rows = [
        {"id": f"VD_x_y_0_{figure}_{question}", "answer": "Yes", "prediction": reply, "l2_category": "x"}
        for figure, question, reply in [(0, 0, "Yes"), (0, 1, None), (1, 0, "Yes"), (2, 0, "No"), (2, 1, None)]
    ]
    path = write_predictions(tmp_path / "p.parquet", rows)
    metrics = score(path, "vlmevalkit_hallusionbench").entries[0].metrics
    assert (metrics["fAcc"].value, metrics["fAcc"].n) == (50.0, 2)


def test_amber_maps_categories_and_ignores_the_case_of_references():
    items = [
        Item(answer="yes", prediction="Yes", category="discriminative-attribute-state"),
        Item(answer="NO", prediction="Yes", category="discriminative-attribute-number"),
        Item(answer="no", prediction="No", category="discriminative-hallucination"),
        Item(answer="no", prediction="No", category=None),
    ]
    assert _table("amber", items) == [{"Attribute": 50.0, "Existence": 100.0, "Avg ACC": 75.0}]
    assert _numbers("amber", items) == {"average": 75.0, "accuracy": 75.0}


def test_vsr_leaves_f1_a_fraction():
    items = [Item(answer="Yes", prediction=reply) for reply in ("Yes", "No")]
    assert _numbers("vsr", items) == pytest.approx({"precision": 100.0, "recall": 50.0, "acc": 50.0, "f1_score": 2 / 3})


def test_other_benchmarks_skip_empty_categories():
    items = [
        Item(answer="Yes", prediction="Yes", l2_category="L"),
        Item(answer="No", prediction="so", category="b"),
    ]
    assert _table("yorn", items) == [{"Overall": 50.0, "b": 0.0, "L": 100.0}]


@pytest.mark.parametrize(
    ("label", "reply", "category", "right"),
    [
        ('["exit 4", "exit"]', "It reads EXIT.", "Regular Text Recognition", 1),
        ("\"['exit 4']\"", "exit", "Regular Text Recognition", 0),
    ],
)
def test_ocrbench_reads_lists_of_references(label, reply, category, right):
    items = [Item(label=label, prediction=reply, category=category)]
    assert _numbers("ocrbench", items) == {"final_score": right, "final_score_norm": right / 10, "accuracy": right}
    (line,) = _table("ocrbench", items)
    assert line["Text Recognition"] == right


def test_ocrbench_refuses_an_answer_that_is_no_list():
    with pytest.raises(Error, match="list"):
        score_items([Item(label='"exit"', prediction="exit")], _recipe("ocrbench"))


@pytest.mark.parametrize(
    ("dataset", "task", "name"),
    [
        ("MME", "yes_no", "mme"),
        ("POPE", "yes_no", "pope"),
        ("HallusionBench", "yes_no", "hallusionbench"),
        ("AMBER", "yes_no", "amber"),
        ("VSR-zeroshot", "vqa", "vsr"),
        ("my_questions", "yes_no", "yorn"),
        ("OCRBench", "ocr", "ocrbench"),
        ("MMBench_DEV_EN", "multiple_choice", None),
    ],
)
def test_the_benchmark_names_the_recipe(dataset, task, name):
    facts = Facts(frozenset([dataset]), frozenset([task]), frozenset(["lmudata"]))
    expected = "mmbench_circular" if name is None else f"vlmevalkit_{name}"
    assert choose_recipe(facts).name == expected


@pytest.mark.parametrize("answers", [False, True])
@pytest.mark.parametrize("blank", [False, True])
def test_a_figure_with_a_row_that_was_not_read_or_not_asked_takes_no_part(tmp_path, answers, blank):
    ids = [f"VD_x_y_{s}_{f}_{q}" for s in (0, 1) for f in (0, 1) for q in (0, 1)]
    row = {"question": "?", "answer": "Yes", "category": "VD", "l2-category": "x"}
    rows = [{"index": id, **row, "prediction": "Yes" if id != ids[0] else None} for id in ids if blank or id != ids[0]]
    file = tmp_path / "m_HallusionBench.json"
    file.write_text(json.dumps(rows))
    asked = [{"id": id, "answer": "Yes", "category": "VD", "l2_category": "x"} for id in ids]
    questions = write_predictions(tmp_path / "q.parquet", asked, task="yes_no")
    (entry,) = score(file, answers=questions if answers else None).entries
    # Without a dataset nobody can know of a row that is not there.
    n = 3 if answers or blank else 4
    assert [(entry.metrics[name].value, entry.metrics[name].n) for name in ("fAcc", "qAcc")] == [(100.0, n)] * 2
    assert entry.counts.total == (8 if answers or blank else 7)
