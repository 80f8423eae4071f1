import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import Error
from mmscore.kits.vlmevalkit.judge_responses import TRIES
from mmscore.kits.vlmevalkit.mmvet import CAPABILITIES, OVERALL, build_mmvet_tables, build_table_row, grade


def test_the_first_number_in_range_is_the_grade():
    found = grade(["about half", "1.2", " 0.7\n"])
    assert found.score == 0.7
    assert found.log.splitlines() == [
        "Try 0: output is about half, failed to parse.",
        "Try 1: output is 1.2, invalid score: 1.2.",
        "Succeed",
    ]


def test_nan_ends_the_tries_and_is_no_grade():
    found = grade(["nan"])
    assert (math.isnan(found.score), found.given) == (True, False)


def test_five_replies_without_a_number_are_no_grade_which_the_framework_counts_as_0():
    assert grade(["?"] * (TRIES - 1)) is None
    found = grade(["?"] * TRIES)
    assert (found.score, found.given) == (0, False)
    assert found.log.endswith("All 5 retries failed.\n")


@given(st.lists(st.text(), max_size=TRIES))
def test_a_grade_is_in_range_and_the_tries_come_to_an_end(replies):
    found = grade(replies)
    if found is None:
        assert len(replies) < TRIES
    elif found.given:
        assert 0 <= found.score <= 1


def test_parts_of_the_reference_stand_free():
    assert build_table_row("Who?", "Ann<AND>Bob<OR>Eve", "Ann") == "Who? | Ann <AND> Bob <OR> Eve | Ann | "


def test_a_category_of_one_capability_counts_twice_under_its_name():
    rows = [("ocr", 1.0), ("rec,know,gen,spat,math", 0.5)]
    capabilities, combinations = build_mmvet_tables(rows)
    assert [line["Category"] for line in capabilities] == [*CAPABILITIES, OVERALL]
    assert [line["Category"] for line in combinations] == ["ocr", "rec_know_gen_spat_math", OVERALL]
    assert combinations[0] == {"Category": "ocr", "tot": 2, "acc": 100.0}
    assert combinations[-1] == {"Category": OVERALL, "tot": 2, "acc": 75.0}


def test_a_capability_without_a_row_has_no_average():
    with pytest.raises(Error, match="know, gen, spat, math"):
        build_mmvet_tables([("rec,ocr", 1.0)])
