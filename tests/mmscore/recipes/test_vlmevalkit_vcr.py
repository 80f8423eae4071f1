import json
import sys

import pytest

from mmconvert.core.errors import Error, UsageError
from mmconvert.plugins.registry import load
from mmscore.core.recipe import Facts, Item
from mmscore.core.select_recipe import choose_recipe
from mmscore.nlp import spacy_tokens
from support.items import score_items

RECIPE = load("mmscore.recipes", "vlmevalkit_vcr")


def _item(reply, *covered, dataset="VCR_EN_EASY_ALL"):
    return Item(prediction=reply, label=json.dumps(covered), dataset=dataset)


def _table(*items):
    (line,) = RECIPE.table(score_items(items, RECIPE), "1")
    return line


@pytest.mark.slow
def test_every_covered_text_has_a_vote():
    items = [_item("don't stop", "do n't"), _item("U.S. troops", "U.S.", "left at", "5 p.m.")]
    assert _table(*items) == {"Exact_Match": 0.5, "Jaccard": 0.5}
    estimate = RECIPE.reduce(score_items(items, RECIPE), "1")["exact_match"]
    assert estimate.n == 4


def test_chinese_is_cut_into_characters():
    assert _table(_item("他说你好", "说你", dataset="VCR_ZH_HARD_500"))["Exact_Match"] == 1.0


def test_an_excuse_scores_nothing_and_needs_no_words():
    scored = score_items([_item("Sorry, U.S. troops", "U.S. troops")], RECIPE)
    assert scored.scores["exact_match"].tolist() == [0.0]
    assert scored.column("how") == ["unparsed"]


def test_answers_are_a_list():
    with pytest.raises(Error, match="list"):
        score_items([Item(prediction="x", label='"x"', dataset="VCR_EN_EASY_ALL")], RECIPE)


def test_without_spacy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    spacy_tokens._load_pipeline.cache_clear()
    with pytest.raises(UsageError, match=r"mmconvert\[vcr\]"):
        score_items([_item("x", "x")], RECIPE)


def test_rows_of_the_benchmark_get_this_recipe():
    facts = Facts(frozenset(["VCR_EN_EASY_500"]), frozenset(["vqa"]), frozenset(["lmudata"]))
    assert choose_recipe(facts).name == "vlmevalkit_vcr"
