from hypothesis import given
from hypothesis import strategies as st

from mmscore.metrics.vlmevalkit_yes_no import vlmevalkit_yes_no


@given(st.sampled_from(["Yes", "No", "Unknown", "nan"]), st.sampled_from(["Yes", "No", None]))
def test_only_the_same_word_is_right(reference, extracted):
    right = vlmevalkit_yes_no(reference, extracted)
    assert right == (reference == (extracted or "Unknown"))
    assert vlmevalkit_yes_no(reference.upper(), extracted, any_case=True) == right
