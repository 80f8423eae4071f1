import pytest

from mmconvert.core.errors import RowError
from mmscore.metrics.reform_word_match import compare_kie


@pytest.mark.parametrize(
    ("prediction", "reference", "field"),
    [(None, "a", "prediction"), ("a", 7, "answer"), ("a", ["b", None], "answer")],
)
def test_what_is_no_text_is_named_by_its_field(prediction, reference, field):
    with pytest.raises(RowError) as refused:
        compare_kie(prediction, reference)
    assert (refused.value.code, refused.value.field) == (f"{field}.type", field)


def test_alternatives_behind_the_one_that_is_found_stay_as_they_are():
    match = compare_kie("Two cats", ["a dog", "two cats", None])
    assert (match.right, match.references) == (True, ("dog", "2 cats", None))
