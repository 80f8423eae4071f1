"""BLEU, ROUGE-L and CIDEr of captions, beside the package that the kits call."""

import contextlib
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import Error
from mmscore.metrics.coco_bleu import coco_bleu
from mmscore.metrics.coco_cider import coco_cider
from mmscore.metrics.coco_rouge_l import coco_rouge_l
from support.packages import require_package

captions = st.lists(st.sampled_from(["a", "cat", "on", "the", "mat.", "", "猫"]), max_size=9).map(" ".join)
rows = st.lists(st.tuples(captions, st.lists(captions, min_size=1, max_size=4)), min_size=1, max_size=6)


def _theirs(module, name, *arguments, data):
    """Score with pycocoevalcap, which is not installed everywhere and talks on stdout."""
    scorer = getattr(require_package(f"pycocoevalcap.{module}.{module}"), name)(*arguments)
    references = {number: references for number, (_, references) in enumerate(data)}
    predictions = {number: [prediction] for number, (prediction, _) in enumerate(data)}
    with contextlib.redirect_stdout(io.StringIO()):
        return scorer.compute_score(references, predictions)


@given(rows)
def test_bleu_is_that_of_the_package(data):
    assert coco_bleu(*zip(*data, strict=True)) == pytest.approx(_theirs("bleu", "Bleu", 4, data=data)[0], rel=1e-9)


@given(rows)
def test_rouge_l_is_that_of_the_package(data):
    ours = [coco_rouge_l(*row) for row in data]
    assert ours == pytest.approx(_theirs("rouge", "Rouge", data=data)[1].tolist())


@given(rows)
def test_cider_is_that_of_the_package(data):
    if not any(text.split() for _, references in data for text in references):
        with pytest.raises(Error, match="no reference has a word"):
            coco_cider(*zip(*data, strict=True))
        return
    ours = coco_cider(*zip(*data, strict=True)).tolist()
    assert ours == pytest.approx(_theirs("cider", "Cider", data=data)[1].tolist(), abs=1e-12)


def test_bleu_is_of_the_whole_set_and_takes_the_closest_length():
    data = [("a b c d", ["a b c d e f", "a b c"]), ("x", ["y"])]
    values = coco_bleu(*zip(*data, strict=True))
    assert values[0] == pytest.approx(4 / 5)
    assert values[1] == pytest.approx(np.sqrt(4 / 5 * 3 / 3))


def test_precision_and_recall_may_come_from_different_references():
    assert coco_rouge_l("a b", ["a b c d", "b"]) == pytest.approx(1.0)
    assert coco_rouge_l("x", ["y"]) == 0.0


def test_a_set_of_one_row_has_no_rare_words():
    assert coco_cider(["a cat"], [["a cat"]]).tolist() == [0.0]


def test_clipping_and_length_lower_cider():
    references = [["a cat"], ["the dog"], ["two birds"]]
    exact, twice, longer = (
        coco_cider([said, "x", "y"], references)[0] for said in ("a cat", "a cat a cat", "a cat x y z x y z")
    )
    assert exact > twice > longer > 0
