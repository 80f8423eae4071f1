import json

import pytest

from mmconvert.core.errors import Error
from mmconvert.plugins.registry import load
from mmscore.core.recipe import Facts, Item
from mmscore.core.select_recipe import choose_recipe
from mmscore.core.table import SCORED
from mmscore.scoring.evaluate import score
from support.items import score_items
from support.predictions import write_predictions

RECIPE = load("mmscore.recipes", "vlmevalkit_caption")


def _rows():
    said = [("a cat on a mat", "a cat on a mat"), ("two dogs", "two dogs run"), ("a bird", "the sky"), (None, "a cow")]
    return [
        {"id": str(n), "prediction": prediction, "label": json.dumps([reference]), "category": "ab"[n % 2]}
        for n, (prediction, reference) in enumerate(said)
    ]


def test_the_set_without_failed_rows_is_scored_times_100(tmp_path):
    (entry,) = score(write_predictions(tmp_path / "p.parquet", _rows()), "vlmevalkit_caption").entries
    assert list(entry.metrics) == ["bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l", "cider"]
    assert entry.metrics["rouge_l"].n == 3
    (line,) = entry.table
    assert [len(line["Bleu"]), line["CIDEr"]] == [4, pytest.approx(entry.metrics["cider"].value)]
    whole = score_items([Item(prediction=r["prediction"], label=r["label"]) for r in _rows()[:3]], RECIPE)
    for name, estimate in RECIPE.reduce(whole.with_status(SCORED), "1").items():
        assert entry.metrics[name].value == pytest.approx(estimate.value)


def test_groups_keep_the_rarity_of_words_and_have_their_own_bleu(tmp_path):
    (entry,) = score(write_predictions(tmp_path / "p.parquet", _rows()), "vlmevalkit_caption").entries
    groups = entry.groups["category"]
    assert groups["b"]["bleu_1"].value == pytest.approx(100 * 2.718281828459045 ** (1 - 3 / 2))
    total = sum(group["cider"].value * group["cider"].n for group in groups.values())
    assert entry.metrics["cider"].value == pytest.approx(total / 3)


@pytest.mark.parametrize("label", ['"a cat"', "\"['a', 1]\"", "[]", "[null]"])
def test_references_are_a_list_of_texts(label):
    with pytest.raises(Error, match="list"):
        score_items([Item(prediction="a cat", label=label)], RECIPE)


def test_a_list_in_a_text_cell_is_read():
    scored = score_items(
        [Item(prediction="a", label=json.dumps("['a', 'b']")), Item(prediction="b", answers=["c"])], RECIPE
    )
    assert scored.scores["rouge_l"].tolist() == [1.0, 0.0]


def test_captions_of_the_kit_get_this_recipe():
    facts = Facts(frozenset(["COCO_VAL"]), frozenset(["caption"]), frozenset(["lmudata"]))
    assert choose_recipe(facts).name == "vlmevalkit_caption"


@pytest.mark.parametrize("cell", ["('a cat', 'a dog')", "a cat", "[]"])
def test_a_cell_that_is_no_list_of_captions_is_refused(cell):
    rows = [{"id": "0", "prediction": "a cat", "label": json.dumps(cell)}]
    with pytest.raises(Error):
        RECIPE.table(score_items([Item(prediction=r["prediction"], label=r["label"]) for r in rows], RECIPE), "1")
