import json

import pytest

from mmconvert.core.errors import Error
from mmconvert.plugins.registry import load
from mmscore.core.recipe import Item
from mmscore.scoring.evaluate import score
from support.items import score_items

RECIPE = load("mmscore.recipes", "mmmu_pro")
OPTIONS = tuple(f"option {n}" for n in range(10))


def test_the_real_file_has_the_number_that_is_fixed(shared):
    expected = json.loads((shared / "real/mmmu_pro/expected.json").read_text())
    (entry,) = score(shared / "real/mmmu_pro/gpt-4o_vision_direct.jsonl").entries
    assert entry.recipe == "mmmu_pro"
    metrics = {name: estimate.value for name, estimate in entry.metrics.items()}
    assert metrics["accuracy_without_fallback"] == pytest.approx(expected["accuracy_fallback_counted_wrong"])
    assert metrics["fallback_share"] * expected["n"] == pytest.approx(expected["fallback_rows"])
    low, high = entry.metrics["accuracy_expected"].ci95
    assert low < expected["authors_own_run_accuracy"] < high


def _scores(reply, answer="B", options=OPTIONS):
    scored = score_items([Item(prediction=reply, options=options, answer=answer)], RECIPE)
    return {name: values[0] for name, values in scored.scores.items()}


def test_an_unread_choice_has_the_chance_of_the_draw():
    assert _scores("hm") == {"accuracy_without_fallback": 0, "accuracy_expected": 0.1, "fallback_share": 1}
    assert _scores("Answer: B") == {"accuracy_without_fallback": 1, "accuracy_expected": 1, "fallback_share": 0}
    assert _scores("hm", answer="Z")["accuracy_expected"] == 0


def test_a_row_without_a_reference_is_refused():
    with pytest.raises(Error, match="no row has a reference"):
        _scores("hm", answer=None)
