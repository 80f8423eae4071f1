import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmscore.kits.vlmevalkit.llavabench import HIGHEST, LOWEST, Pair, build_llavabench_table, parse_pair


@pytest.mark.parametrize("reply", ["8 6", "8,6", "8 6\nThe second forgets the dog. 10 10"])
def test_the_first_line_holds_both_scores(reply):
    assert parse_pair(reply) == Pair(8, 6)


@pytest.mark.parametrize("reply", ["", "8", "8  6", "8, 6", "Scores: 8 6", "8 6 ", "0 6", "8 11", "8 nan", "\n8 6"])
def test_any_other_line_and_scores_out_of_range_are_no_verdict(reply):
    assert parse_pair(reply) is None


@given(st.text())
def test_a_pair_is_on_the_scale(reply):
    assert all(LOWEST <= score <= HIGHEST for score in parse_pair(reply) or ())


def test_the_model_stands_as_a_percentage_of_gpt4():
    table = build_llavabench_table([("conv", Pair(8, 4)), ("detail", Pair(9, 9)), ("conv", Pair(8, 8))])
    assert [line["split"] for line in table] == ["overall", "conv", "detail"]
    assert table[1] == {"split": "conv", "Relative Score (main)": 75.0, "VLM Score": 60.0, "GPT4 Score": 80.0}
    assert table[0]["Relative Score (main)"] == 84.0


def test_no_rows_make_no_lines():
    assert build_llavabench_table([]) == []
