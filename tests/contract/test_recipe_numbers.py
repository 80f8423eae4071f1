"""What every recipe owes over whole files: numbers in range, in any order of rows, and counts that add up."""

import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict

from mmconvert.core.errors import Error
from mmconvert.core.record import PREDICTION_SCHEMA
from mmconvert.plugins.registry import find_plugins, load
from mmscore.core.recipe import Item, Recipe
from mmscore.core.table import SCORED
from mmscore.scoring import bootstrap
from mmscore.scoring.evaluate import score
from mmscore.scoring.judging.request import JudgeRequest
from support.items import score_items

pytestmark = pytest.mark.slow

RECIPES = list(find_plugins("mmscore.recipes"))
BY_RULES = [name for name in RECIPES if not load("mmscore.recipes", name).needs_judge]

CHOICE = Item(
    task="multiple_choice", options=("red", "green"), answer="A", answers=("A",), label='"A"', dataset="TextVQA_VAL"
)
YES_NO = Item(task="yes_no", answer="Yes", answers=("yes",), label='"Yes"')
LISTED = Item(task="caption", answers=("a cat on a mat",), label='["a cat on a mat"]')
TYPED = Item(
    task="vqa",
    answer="7",
    label='"7"',
    extra='{"question_type": "free_form", "answer_type": "integer"}',
    answers=("7",),
)
EXTRACTED = TYPED._replace(extra='{"question_type": "free_form", "answer_type": "integer", "extraction": "7"}')
GRADED = Item(task="vqa", label='"1"', answer="1", dataset="dt-text")
UNLABELLED = Item(task="vqa", dataset="stereo-agreement-text")
COVERED = Item(task="ocr", answer="a cat", answers=("a cat",), label='["a cat"]', category="Regular Text Recognition")
NAMED = CHOICE._replace(id="validation_Art_{n}")
RATED = Item(task="yes_no", answer="1", label="1")
BELIEVED = TYPED._replace(extra='{"ground_truth": "7", "expected_bias": "1", "topic": "flags"}')
TABLED = CHOICE._replace(
    id="{n}",
    extra='{"qid": "question", "type": "multiple_choice", "task": "Touching Circles", '
    '"question_type": "object_counting", "target_instances": "[[0, 0, 9, 9]]"}',
)
CHARTED = TYPED._replace(label="\"['7', '1']\"", extra='{"year": "[\'NO\']"}')
BOXED = TYPED._replace(label='"[0, 0, 7, 9]"', split="RefCOCO_val")
CLICKED = TYPED._replace(
    dataset="ScreenSpot_Mobile", image_info=({"width": 20, "height": 10},),
    extra='{"bbox": "[1, 1, 5, 5]", "data_type": "icon"}',
)  # fmt: skip
KINDS = (
    CHOICE, NAMED, RATED, YES_NO, LISTED, TYPED, EXTRACTED, GRADED, UNLABELLED, COVERED, BELIEVED, TABLED, CHARTED,
    BOXED, CLICKED,
)  # fmt: skip

REPLIES = ("A", "(B) green", "red", "Yes", "no.", "a cat on a mat", "7", "1", "[Yes]", "strongly agree", "50", "hm", "")
ORDERED = {
    "mmmu_val": "letters are drawn in file order",
    "mme_official": "rows of an image are paired in file order",
}
"""Recipes whose kit's rule itself hangs on the order of rows, and why."""

SLOW = {"reform_generation": 2, "vlmevalkit_vcr": 12, "evalscope_general_vqa": 12}
"""Recipe -> examples, where each takes long (a JVM, spaCy, jieba); they wait for the release."""


def _count_examples(name: str) -> int:
    """Try few examples in every run, for they are the same in each; a release tries more."""
    most = SLOW.get(name, 5)
    return most if settings.get_current_profile_name() == "release" else min(most, 2)


def _defer(names: Sequence[str]) -> list[Any]:
    """Have slow recipes wait for the release."""
    return [pytest.param(name, marks=pytest.mark.release if name in SLOW else ()) for name in names]


TOLERANCE = 1e-9
SIGNED = {"corr", "slope", "caa"}


def _file(kind: Item, replies: Sequence[str]) -> list[Item]:
    """Make rows of one kind: pairs of rows share a sample and a group, and are two rounds of it."""
    return [
        kind._replace(
            id=(kind.id or "VD_x_y_{pair}_0_{n}").format(n=n, pair=n // 2),
            sample=f"s{n // 2}",
            group=f"{n // 2}.jpg",
            variant=n % 2,
            round=n % 2 + 1,
            category=kind.category or ("rec", "OCR")[n % 4 > 1],
            l2_category="VD",
            split="dev",
            subset="x",
            question=f"q{n // 2}",
            prediction=reply,
        )
        for n, reply in enumerate(replies)
    ]


def _numbers(recipe: Recipe, items: Sequence[Item]) -> Mapping[str, Any]:
    version = next(iter(recipe.versions))
    scored = score_items(items, recipe, version)
    return recipe.reduce(scored.with_status(SCORED), version) if scored.scores else {}


def _kinds(name: str) -> list[Item]:
    """Find the kinds of rows that a recipe gives numbers for."""
    recipe: Recipe = load("mmscore.recipes", name)
    found = []
    for kind in KINDS:
        try:
            if _numbers(recipe, _file(kind, ["A"] * 8)):
                found.append(kind)
        except Error:
            continue
    return found


@pytest.mark.parametrize("name", _defer(BY_RULES))
def test_numbers_are_in_range_and_do_not_hang_on_the_order_of_rows(name: str) -> None:
    recipe: Recipe = load("mmscore.recipes", name)
    kinds = _kinds(name)
    assert kinds, "no kind of row has a number: add one to KINDS"

    @settings(deadline=None, max_examples=_count_examples(name), suppress_health_check=[HealthCheck.too_slow])
    @given(
        replies=st.lists(st.sampled_from(REPLIES) | st.text(max_size=12), min_size=8, max_size=8), seed=st.integers(0)
    )
    def holds(replies: list[str], seed: int) -> None:
        for kind in kinds:
            items = _file(kind, replies)
            try:
                numbers = _numbers(recipe, items)
            except Error:
                continue
            for metric, number in numbers.items():
                _check_range(metric, number)
            if name not in ORDERED:
                shuffled = random.Random(seed).sample(items, len(items))
                assert _plain(_numbers(recipe, shuffled)) == _plain(numbers)

    holds()


def _check_range(metric: str, number: Any) -> None:
    if math.isnan(number.value):
        return
    high = {"fraction": 1.0, "percent": 100.0}.get(number.unit, math.inf)
    low = -math.inf if metric in SIGNED else 0.0
    assert low - TOLERANCE <= number.value <= high + TOLERANCE, (metric, number)
    assert number.n >= 0
    assert number.stderr is None or number.stderr >= 0
    if number.ci95 is not None:
        assert number.ci95[0] - TOLERANCE <= number.value <= number.ci95[1] + TOLERANCE, (metric, number)


def _plain(numbers: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Write numbers so that NaN equals NaN, and errors to as many digits as sums in another order keep."""
    return {
        name: (repr(n.value), n.n, None if n.stderr is None else f"{n.stderr:.9g}")
        for name, n in sorted(numbers.items())
    }


NESTED = {"messages", "image_info"}
"""Columns of structures, which no recipe needs."""

FATES = st.sampled_from(["ok", "failed", "skipped", "null", "no id", "text"])

JUDGE = """
from mmscore.core.judge import LEAVE, Judge, NoVerdict, Verdict
SCORES = {scores!r}
def step(case, responses):
    fate = len(case.item.prediction) % 3
    return (LEAVE, NoVerdict("none"), Verdict(scores=dict.fromkeys(SCORES, 1.0)))[fate]
JUDGE = Judge("test", "own", {{"1": "test"}}, {{"all": "every row"}}, "all", ("answer",), step)
"""
JUDGED = {
    "vlmevalkit_mmvet": ["score"],
    "vlmevalkit_llavabench": ["vlm_score", "gpt4_score"],
    "vlmevalkit_charxiv": ["score"],
    "vlmevalkit_logicvista": ["accuracy"],
    "vlmevalkit_mmlongbench": ["accuracy", "recall", "precision"],
    "vlmevalkit_simplevqa": ["is_correct", "is_incorrect", "is_not_attempted"],
    "mmtrust_judged": [],
}
"""Recipe without rules of its own -> the scores that its judge gives."""


def test_every_recipe_that_needs_a_judge_has_one_here() -> None:
    assert {*BY_RULES, *JUDGED} == set(RECIPES)


def _write(path: Path, items: Sequence[Item], fates: Sequence[str]) -> Path:
    """Write rows of which some have no answer, no id, or were never asked about."""
    fields = {name: PREDICTION_SCHEMA.field(name).type for name in Item._fields if name not in NESTED}
    columns: dict[str, list[Any]] = {name: [getattr(item, name) for item in items] for name in fields}
    statuses = [fate if fate in ("failed", "skipped") else None for fate in fates]
    for number, fate in enumerate(fates):
        if fate in ("failed", "skipped", "null"):
            columns["prediction"][number] = None
        if fate == "no id":
            columns["id"][number] = ""
    table = pa.table({name: pa.array(columns[name], kind) for name, kind in fields.items()})
    pq.write_table(table.append_column("prediction_status", pa.array(statuses, pa.string())), path)
    return path


@pytest.mark.parametrize("name", _defer(RECIPES))
def test_the_counts_of_a_report_add_up(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "_MOST_ROWS", 0)  # errors are no counts
    judge = None
    if name in JUDGED:
        (tmp_path / "judge.py").write_text(JUDGE.format(scores=JUDGED[name]), encoding="utf-8")
        # Nobody listens there, and nobody is asked.
        judge = JudgeRequest(f"{tmp_path / 'judge.py'}@JUDGE", model="none", base_url="http://127.0.0.1:9/v1")
    kinds = _kinds(name) or [CHOICE]

    @settings(deadline=None, max_examples=_count_examples(name), suppress_health_check=[HealthCheck.too_slow])
    @given(
        replies=st.lists(st.sampled_from(REPLIES), min_size=8, max_size=8),
        fates=st.lists(FATES, min_size=8, max_size=8),
        kind=st.sampled_from(kinds),
    )
    def holds(replies: list[str], fates: list[str], kind: Item) -> None:
        file = _write(tmp_path / "p.parquet", _file(kind, replies), fates)
        try:
            (entry,) = score(file, name, judge=judge).entries
        except Error:
            return
        counts = asdict(entry.counts)
        total, unparsed = counts.pop("total"), counts.pop("unparsed")
        assert max(counts.pop("blank"), counts.pop("failures")) <= total
        assert total == sum(counts.values()) == len(fates)
        assert 0 <= unparsed <= counts["scored"] + counts["excluded"]
        assert counts["rejected"] >= fates.count("no id")
        assert counts["missing"] == fates.count("skipped")
        assert counts["failed"] == sum(fate in ("failed", "null") for fate in fates)

    holds()
