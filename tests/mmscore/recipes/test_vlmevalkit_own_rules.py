"""What the golden files of VLMEvalKit's short answers and boxes do not show: tables of questions, and refusals."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mmconvert.core.errors import Error, RowError
from mmconvert.plugins.registry import load
from mmscore.core.recipe import Item
from mmscore.scoring.evaluate import score


def score_item(name: str, prediction: str, label: Any, **extra: str) -> Mapping[str, float]:
    recipe = load("mmscore.recipes", name)
    item = Item(prediction=prediction, label=json.dumps(label), extra=json.dumps(extra))
    return recipe.metrics(item, recipe.parse(item, "1"), "1")


def write_boxes(path: Path, *answers: list[float]) -> Path:
    lines = ["index\tquestion\tanswer\twidth\theight\tcategory\tprediction"]
    lines += [
        f"{number}\tcat\t{answer}\t200\t100\tRefCOCO test A\t[0, 0, 1000, 1000]"
        for number, answer in enumerate(answers)
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_boxes_of_a_table_are_fractions_where_none_of_its_numbers_is_larger(tmp_path: Path) -> None:
    path = write_boxes(tmp_path / "model_RefCOCO.tsv", [0, 0, 1, 1], [0, 0, 1, 0.25])
    (entry,) = score(path).entries
    line = {"Precision@1": 50.0, "Average IoU": 0.625, "Samples": 2}
    assert list(entry.table) == [{"Split": "RefCOCO_testA", **line}, {"Split": "Average", **line}]


def test_boxes_of_a_table_are_pixels_where_one_of_its_numbers_is_larger(tmp_path: Path) -> None:
    path = write_boxes(tmp_path / "model_RefCOCO.tsv", [0, 0, 1, 1], [0, 0, 200, 50])
    (entry,) = score(path).entries
    assert entry.metrics["precision"].value == 50.0
    assert entry.metrics["iou"].value == pytest.approx((1 / 20_000 + 0.5) / 2)


def test_a_row_without_a_box_has_no_score() -> None:
    with pytest.raises(RowError) as refusal:
        score_item("vlmevalkit_refcoco", "[0, 0, 1, 1]", "the cat", bbox_x1="1", bbox_y1="none")
    assert refusal.value.field == "extra.bbox_x1"


def test_a_row_without_its_truth_has_no_score() -> None:
    with pytest.raises(RowError) as refusal:
        score_item("vlmevalkit_vlms_are_biased", "4", "4", expected_bias="4")
    assert refusal.value.field == "extra.ground_truth"


@pytest.mark.parametrize(
    ("label", "extra", "field"),
    [
        ("yes", {"year": "['NO']"}, "answer"),
        ("[4]", {"year": "['NO']"}, "answer"),
        ("['4']", {"year": "NO"}, "extra.year"),
        ("['4']", {"year": "[]"}, "extra.year"),
        ("['4']", {}, "extra.year"),
    ],
)
def test_a_chart_needs_a_list_of_answers_and_of_years(label: str, extra: dict[str, str], field: str) -> None:
    with pytest.raises(RowError) as refusal:
        score_item("vlmevalkit_chartqapro", "4", label, **extra)
    assert refusal.value.field == field


def test_a_count_needs_a_number() -> None:
    with pytest.raises(RowError, match="whole number"):
        score_item("vlmevalkit_tallyqa", "4", "many")


def test_clicks_without_the_sizes_of_images_have_no_scores(tmp_path: Path) -> None:
    path = tmp_path / "model_ScreenSpot_Web.tsv"
    path.write_text("index\tquestion\tbbox\tdata_type\tprediction\n1\tok\t[1, 2, 3, 4]\ticon\tx=1, y=2\n")
    with pytest.raises(Error, match=r"image_info.*--answers"):
        score(path)


@pytest.mark.parametrize("box", ["none", "[1, 2, 3]", "[1, 2, 3, 'x']", "[0, 0, 30, 3]"])
def test_a_click_needs_a_box_inside_its_image(box: str) -> None:
    recipe = load("mmscore.recipes", "vlmevalkit_screenspot")
    item = Item(prediction="x=1, y=2", dataset="ScreenSpot_Web", image_info=[{"width": 20, "height": 20}])
    item = item._replace(extra=json.dumps({"bbox": box}))
    with pytest.raises(RowError) as refusal:
        recipe.metrics(item, recipe.parse(item, "1"), "1")
    assert refusal.value.field == "extra.bbox"


def test_a_question_of_an_unknown_kind_has_no_score_and_the_kinds_are_named() -> None:
    with pytest.raises(RowError, match=r"object_counting.*'route_planning'"):
        score_item("vlmevalkit_spbench", "A", "A", question_type="route_planning")


def test_a_number_is_within_the_margins_that_it_reaches() -> None:
    found = [
        score_item("vlmevalkit_spbench", text, "4", question_type="object_counting")["relative_accuracy"]
        for text in ("<answer>4</answer>", "three", "none", "9")
    ]
    assert found == [1.0, 0.6, 0.0, 0.0]


def test_letters_in_any_order_are_a_list_and_a_reference_must_be_one() -> None:
    found = [
        score_item("vlmevalkit_a4bench", text, "['A', 'B']")["accuracy"] for text in ("['B', 'A']", "A, B", "['A']")
    ]
    assert found == [1.0, 0.0, 0.0]
    with pytest.raises(RowError, match="expected a list of letters"):
        score_item("vlmevalkit_a4bench", "['A']", "A or B")
