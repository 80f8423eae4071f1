from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmscore.metrics.vlmevalkit_vcr import Found, read_assistant_text, refuses, vlmevalkit_vcr

words = st.lists(st.sampled_from(["he", "said", "sa", "id", ",", "HE"]), max_size=8)


@given(words, words.filter(bool))
def test_the_first_of_the_likest_runs_is_found(reply, covered):
    found = vlmevalkit_vcr(reply, " ".join(covered), covered)
    runs = [reply[n : n + len(covered)] for n in range(len(reply) - len(covered) + 1)]
    sharing = [" ".join(run) for run in runs if set(run) & set(covered)]
    ratios = [SequenceMatcher(None, run, " ".join(covered)).ratio() for run in sharing]
    if not any(ratios):
        assert found == Found()
    else:
        assert (found.text, found.likeness) == (sharing[ratios.index(max(ratios))], max(ratios))
        assert found.exact == (found.text == " ".join(covered))
        assert 0 < found.jaccard <= min(found.precision, found.recall) <= 1


@pytest.mark.parametrize(
    ("reply", "refused"),
    [("I cannot see", True), ("i cannot see", False), ("SoRRy", True), ("抱歉，我", True), ("it can't be", False)],
)
def test_excuses_are_known_by_their_words(reply, refused):
    assert refuses(reply) is refused


def test_only_the_last_speech_counts():
    assert read_assistant_text("Assistant: no. Assistant: yes") == "yes"
    assert read_assistant_text("plain") == "plain"
