import pytest

from mmconvert.core.errors import RowError
from mmscore.metrics.lmms_ocrbench import lmms_ocrbench


@pytest.mark.parametrize(
    ("reply", "references", "formula", "right"),
    [
        ("It reads EXIT.", "exit", False, True),
        ("Ｅｘｉｔ　４", ["no", "exit 4"], False, True),
        ("anything", "", False, True),
        ("x+y", "X + Y", True, False),
        ("x + y", "x+y", True, True),
        ("ａ", "a", True, False),
    ],
)
def test_a_reference_must_be_contained(reply, references, formula, right):
    assert lmms_ocrbench(reply, references, formula=formula) is right


@pytest.mark.parametrize("references", [5, [5], None])
def test_references_are_texts(references):
    with pytest.raises(RowError, match="must be a text"):
        lmms_ocrbench("5", references)
