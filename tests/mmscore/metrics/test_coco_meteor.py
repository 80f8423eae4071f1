import numpy as np
import pytest

from mmconvert.core.errors import Error
from mmscore.metrics.coco_meteor import coco_meteor, compute_meteor, count_meteor
from mmscore.nlp import meteor
from support.packages import require_package

pytestmark = pytest.mark.slow

CAPTIONS = ["a cat on the mat", "two dogs are running", "eine Katze 猫", "", "a mat"]
REFERENCES = [["the cat is on a mat", "a cat sat on the mat"], ["two dogs run"], ["ein Hund"], ["a plate"], ["a mat"]]

with_java = pytest.mark.skipif(meteor.describe_missing() is not None, reason=str(meteor.describe_missing()))


@with_java
@pytest.mark.release
def test_the_number_is_that_of_the_package():
    meteor = require_package("pycocoevalcap.meteor.meteor").Meteor()
    references = dict(enumerate(REFERENCES))
    total, each = meteor.compute_score(references, {number: [caption] for number, caption in enumerate(CAPTIONS)})
    assert coco_meteor(CAPTIONS, REFERENCES) == pytest.approx(total, abs=1e-12)
    alone = [compute_meteor(counts[None]) for counts in count_meteor(CAPTIONS, REFERENCES)]
    assert alone == pytest.approx(each, abs=1e-12)


@with_java
@pytest.mark.release
def test_a_line_break_is_a_blank():
    broken = ["a red\ncat", "a red\r\ncat", "a red\n\ncat", "a red\rcat"]
    whole, *references = count_meteor(["a cat"] * 5, [["a red cat"], *([text] for text in broken)])
    assert [counts.tolist() for counts in references] == [whole.tolist()] * 4
    assert coco_meteor(broken, [["a red cat"]] * 4) == 1


def test_without_java_the_reason_is_told(monkeypatch):
    monkeypatch.setattr(meteor.shutil, "which", lambda name: None)
    with pytest.raises(Error, match="Install a Java runtime"):
        coco_meteor(["a cat"], [["a cat"]])


def test_without_the_program_the_reason_is_told(monkeypatch):
    monkeypatch.setattr(meteor.shutil, "which", lambda name: "/usr/bin/java")
    monkeypatch.setattr(meteor.importlib.util, "find_spec", lambda name: None)
    assert "captions" in meteor.describe_missing()


def test_no_rows_and_no_matches_are_worth_nothing():
    assert compute_meteor(np.zeros((0, meteor.NUMBERS))) == 0
    assert compute_meteor(np.array([[3, 3, 1, 1, *[0] * 19]])) == 0
    assert count_meteor([], []).shape == (0, meteor.NUMBERS)
