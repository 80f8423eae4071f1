import json

import pytest

from mmconvert.core.errors import Error
from mmconvert.plugins.registry import load
from mmscore.core.recipe import Item
from mmscore.scoring.evaluate import score
from support.items import score_items

RECIPE = load("mmscore.recipes", "mme_official")


def test_the_real_folder_has_the_tools_numbers(shared):
    folder = shared / "real/mme/LaVIN"
    expected = json.loads((folder.parent / "expected.json").read_text())
    (entry,) = score(folder).entries
    assert entry.recipe == "mme_official"
    for total in ("perception", "cognition"):
        tasks = expected[total]
        assert entry.metrics[total].value == pytest.approx(tasks.pop("total"), abs=1e-9)
        for task, points in tasks.items():
            assert entry.groups["category"][task][total].value == pytest.approx(points)
    assert entry.table[0]["task"] == "perception"


def _items(*replies, **about):
    return [
        Item(prediction=reply, answer=answer, **{"category": "OCR", "group": "1.jpg", **about})
        for reply, answer in zip(replies, ("Yes", "No") * 9, strict=False)
    ]


def test_four_questions_about_an_image_are_two_pairs():
    scored = score_items(_items("yes", "no", "yes", "yes"), RECIPE)
    assert scored.scores["accuracy_plus"].tolist()[::2] == [1.0, 0.0]
    assert RECIPE.reduce(scored, "1")["perception"].value == 125.0


def test_rows_without_an_image_are_paired_in_file_order():
    scored = score_items(_items("yes", "no", "no", "no", group=None), RECIPE)
    assert scored.scores["accuracy_plus"].tolist()[::2] == [1.0, 0.0]


def test_other_categories_do_not_count_and_other_references_are_refused():
    (status,) = score_items(_items("yes", category="taste"), RECIPE).column("status")
    assert status == "excluded"
    with pytest.raises(Error, match="expected yes or no"):
        score_items([Item(prediction="yes", answer="maybe", category="OCR")], RECIPE)
