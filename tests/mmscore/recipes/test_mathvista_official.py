"""MathVista by its own script: extractions to choices and numbers."""

import json
from pathlib import Path

import pytest

import mmscore
from mmconvert.core.errors import RowError
from mmscore.core.recipe import Item
from mmscore.recipes.mathvista_official import RECIPE

OPTIONS = ("a red kite", "a spoon", "twelve")


def item(kind: str = "text", response: str = "", **extra: object) -> Item:
    fields = {"question_type": "multi_choice" if kind == "text" else "free_form", "answer_type": kind, **extra}
    return Item(options=OPTIONS if kind == "text" else (), extra=json.dumps(fields), prediction=response)


@pytest.mark.parametrize(
    ("row", "value"),
    [
        (item(extraction="(b)"), "a spoon"),
        (item(extraction="B"), "a spoon"),
        (item(extraction="b"), "twelve"),  # a small letter alone is no letter: the nearest spelling counts
        (item(extraction="spoon"), "a spoon"),
        (item(extraction=""), "twelve"),
        (item(response="a red kite"), "a red kite"),
        (item("integer", extraction="7.9"), "7"),
        (item("integer", extraction="about 7"), None),
        (item("integer", extraction="inf"), None),
        (item("integer", response="12"), "12"),
        (item("float", extraction="2.345", precision=2), "2.35"),
        (item("float", extraction="2", precision=1.0), "2.0"),
        (item("float", extraction="2"), None),
        (item("list", extraction="[1, 2]"), "[1, 2]"),
    ],
)
def test_an_extraction_is_normalized(row: Item, value: str | None) -> None:
    assert RECIPE.parse(row, "1").value == value


@pytest.mark.parametrize(
    "row", [item(response="It is B."), item("integer", "seven"), item("list", "[1]"), item("date", extraction="1")]
)
def test_what_the_script_cannot_score_is_refused(row: Item) -> None:
    with pytest.raises(RowError):
        RECIPE.parse(row, "1")


def test_the_table_counts_every_skill(shared: Path) -> None:
    entry = mmscore.score(shared / "real/field/mathvista/output_bard.json").entries[0]
    assert entry.recipe == "mathvista_official"
    assert entry.metrics["accuracy"].value == 0.32
    lines = {(line["group"], line["value"]): line for line in entry.table}
    assert lines["average", ""]["total"] == 250
    assert sum(line["total"] for (group, _), line in lines.items() if group == "question_type") == 250
    assert sum(line["total"] for (group, _), line in lines.items() if group == "skills") > 250
