"""What every recipe owes: a parity note, versions, known columns, a page in the docs, and no crash on any text."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mmconvert.core.errors import Error
from mmconvert.plugins.registry import find_plugins, load
from mmscore.core.recipe import Item, Recipe
from support.items import rows_of, score_rows

ROOT = Path(__file__).resolve().parents[2]
RECIPES = list(find_plugins("mmscore.recipes"))


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
    lines = (ROOT / "docs/recipes.md").read_text(encoding="utf-8").splitlines()
    (line,) = [line for line in lines if line.startswith(f"| `{name}` |")]
    assert ", ".join(recipe.versions) in line
    assert f"### `{name}`" in lines


CHOICE = Item(
    id="validation_Art_1",
    sample="validation_Art_1",
    task="multiple_choice",
    question="q",
    options=("red", "green"),
    answer="A",
    answers=("A",),
    label='"A"',
    dataset="TextVQA_VAL",
)
YES_NO = Item(id="VD_x_y_0_0_0", group="1.jpg", task="yes_no", category="OCR", answer="Yes", label='"Yes"')
LISTED = Item(id="1", task="caption", answers=("a cat",), label='["a cat"]')
TYPED = Item(id="1", task="vqa", label='"7"', extra='{"question_type": "free_form", "answer_type": "integer"}')
EXTRACTED = TYPED._replace(extra='{"question_type": "free_form", "answer_type": "integer", "extraction": "7"}')
GRADED = Item(id="1", task="vqa", label='"1"', dataset="dt-text")
UNLABELLED = Item(id="1", task="vqa", dataset="stereo-agreement-text")
BELIEVED = Item(id="1", task="vqa", label='"7"', extra='{"ground_truth": "7", "expected_bias": "4"}')
CHARTED = Item(id="1", task="vqa", label="\"['7']\"", extra='{"year": "[\'NO\']"}')
BOXED = Item(id="1", task="vqa", label='"[0, 0, 1, 1]"', split="val")
SIZE = ({"width": 20, "height": 10},)
CLICKED = Item(
    id="1", task="vqa", category="mobile", dataset="ScreenSpot_Mobile", image_info=SIZE,
    extra='{"bbox": "[1, 1, 5, 5]", "data_type": "icon"}',
)  # fmt: skip
TABLED = CHOICE._replace(
    extra='{"qid": "question", "type": "multiple_choice", "task": "Touching Circles", '
    '"question_type": "object_counting", "target_instances": "[[0, 0, 9, 9]]"}'
)
EXAMPLES = (
    CHOICE, YES_NO, LISTED, TYPED, EXTRACTED, GRADED, UNLABELLED, BELIEVED, CHARTED, BOXED, CLICKED, TABLED,
)  # fmt: skip


@given(reply=st.text(max_size=60))
@pytest.mark.parametrize("name", RECIPES)
def test_any_reply_is_read_or_refused_by_name(name: str, reply: str) -> None:
    recipe: Recipe = load("mmscore.recipes", name)
    for version in recipe.versions:
        for example in EXAMPLES:
            item = example._replace(prediction=reply)
            try:
                scores = recipe.metrics(item, recipe.parse(item, version), version)
            except Error:
                continue
            assert all(isinstance(value, float | int) for value in scores.values())


REPLIES = st.sampled_from(
    [
        "A", "(B)", "The answer is C.", "answer is d", "A or B", "Z", "z", "", " ", "red", "It is GREEN.",
        "RED or green",
        "Failed to obtain answer via API", "Cannot determine the answer", "A dog, I am sure of it, and no cat at all",
        "the answer is **B** since the other one, of which there are so many, is far too long to be read", "\u0130 red",
    ]
)  # fmt: skip
CHOICES = st.lists(st.sampled_from(["red", "green", "", "a", "\u0130", None, "B"]), max_size=28) | st.none()
ROW = st.fixed_dictionaries(
    {
        "prediction": REPLIES | st.text(max_size=20) | st.none(),
        "options": CHOICES,
        "answer": st.sampled_from(["A", "B", "Z", "b", "red", "", None]),
        "label": st.sampled_from([None, None, '"A"', '"B"', '"red"', "2", '["A"]', "{bad", "null"]),
        "dataset": st.sampled_from([None, "MMBench", "MMMU_DEV_VAL"]),
    }
)
COLUMNAR = [name for name in RECIPES if load("mmscore.recipes", name).find_columnar()]


def _score_both_ways(rows: list[dict[str, Any]], recipe: Recipe, version: str) -> list[Any]:
    found: list[Any] = []
    for one in (recipe, replace(recipe, columnar=None)):
        try:
            scored, refusals = score_rows(rows_of(rows), one, version)
        except Error as error:
            found.append(str(error))
            continue
        scores = {name: values.tolist() for name, values in scored.scores.items()}
        found.append((scored.rows.to_pylist(), list(scores), repr(scores), refusals))
    return found


def test_multiple_choice_is_scored_by_columns() -> None:
    assert {"mmbench_circular", "vlmevalkit_mcq", "vlmevalkit_mmt", "vlmevalkit_mmvp"} <= {*COLUMNAR}


@given(rows=st.lists(ROW, min_size=1, max_size=12), lacking=st.sets(st.sampled_from(["label", "dataset", "answer"])))
@pytest.mark.parametrize("name", COLUMNAR)
def test_scoring_by_columns_gives_what_scoring_row_by_row_gives(
    name: str, rows: list[dict[str, Any]], lacking: set[str]
) -> None:
    recipe: Recipe = load("mmscore.recipes", name)
    named = [{"id": str(n), **{k: v for k, v in row.items() if k not in lacking}} for n, row in enumerate(rows)]
    for version in recipe.versions:
        by_columns, by_rows = _score_both_ways(named, recipe, version)
        assert by_columns == by_rows


LABELS = (
    None,
    '"A"',
    '""',
    "0",
    "2.5",
    "1e400",
    "true",
    "null",
    "[]",
    '["a"]',
    "[1]",
    "[null]",
    '[["a"]]',
    "{}",
    '[{"answer": 1}]',
)
EXTRAS = (
    *("{}", "[]", "1", "null", "x", '{"question_type": 1}', '{"choices": "[1"}', '{"index": {}, "type": 3}'),
    '{"question_type": "multi_choice", "answer_type": "integer"}',
    '{"question_type": "free_form", "answer_type": "float", "precision": "x"}',
)
OPTIONS = ((), ("x",), (None, "y"), ("", ""), tuple("x" * 30))
REFERENCES = (None, "", "A", "yes", "7", "[0,1]", "nan", "٣")


@given(data=st.data())
@pytest.mark.parametrize("name", RECIPES)
def test_any_reference_is_compared_with_or_refused_by_name(name: str, data: st.DataObject) -> None:
    recipe: Recipe = load("mmscore.recipes", name)
    answer = data.draw(st.sampled_from(REFERENCES))
    item = data.draw(st.sampled_from(EXAMPLES))._replace(
        answer=answer,
        answers=data.draw(st.sampled_from([(), (answer or "",), ("x", "y")])),
        label=data.draw(st.sampled_from(LABELS)),
        extra=data.draw(st.sampled_from(EXTRAS)),
        options=data.draw(st.sampled_from(OPTIONS)),
        prediction=data.draw(st.sampled_from(["A", "", "yes", "[0.1, 0.2, 0.3, 0.4]", "7", "½"])),
    )
    for version in recipe.versions:
        try:
            scores = recipe.metrics(item, recipe.parse(item, version), version)
        except Error:
            continue
        assert all(isinstance(value, float | int) for value in scores.values())


@pytest.mark.parametrize("name", RECIPES)
def test_some_plain_row_gets_its_scores(name: str) -> None:
    recipe: Recipe = load("mmscore.recipes", name)
    version = next(iter(recipe.versions))
    scored = 0
    for example in EXAMPLES:
        item = example._replace(prediction="A")
        try:
            scored += bool(recipe.metrics(item, recipe.parse(item, version), version))
        except Error:
            continue
    assert scored or recipe.needs_judge
