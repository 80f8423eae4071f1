import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import RowError
from mmconvert.kits.evalscope.shuffle import Choices, build_label, shuffle_choices
from support.releases import RELEASES


@given(st.lists(st.text(max_size=3), min_size=1, max_size=30), st.integers(), st.sampled_from(RELEASES))
def test_labels_follow_their_options(options, seed, release):
    labels = [build_label(place) for place in range(len(options))]
    (shuffled,) = shuffle_choices([Choices("q", tuple(options), labels)], seed, release)
    assert sorted(shuffled.options) == sorted(options)
    assert [shuffled.options[labels.index(label)] for label in shuffled.target] == options


def test_one_generator_serves_the_data_set_until_each_question_had_its_own():
    one, other = Choices("q", tuple("abcdef"), "A"), Choices("q", (), "A")
    until = [sample.options for sample in shuffle_choices([one, other, one], 3, "1.10.0")]
    since = [sample.options for sample in shuffle_choices([one, other, one], 3, "1.14.1")]
    assert until[0] != until[2]
    assert since[0] == since[2]
    assert until[1] == since[1] == ()


def test_a_label_of_no_option_is_refused():
    with pytest.raises(RowError, match="expected one of A, B"):
        list(shuffle_choices([Choices("q", ("x", "y"), "C")], 1))
