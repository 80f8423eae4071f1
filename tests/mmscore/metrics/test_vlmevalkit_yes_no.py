import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.errors import RowError
from mmscore.metrics.vlmevalkit_yes_no import (
    PERCEPTION,
    REASONING,
    Reply,
    amber,
    by_category,
    f1_of_yes,
    hallusion_bench,
    mme,
    pope,
    vsr,
)


def _pair(category, *, first="Yes", second="No", image="1.jpg"):
    return [
        Reply("Yes", first, category, image=f"{category}/{image}"),
        Reply("No", second, category, image=f"{category}/{image}"),
    ]


def test_mme_adds_a_bonus_for_pictures_with_both_right():
    full = [reply for name in (*PERCEPTION, *REASONING) for reply in _pair(name)]
    assert (mme(full)["perception"], mme(full)["reasoning"]) == (2000.0, 800.0)
    half = mme(_pair("OCR", second="Yes") + _pair("OCR", image="2.jpg"), partial=True)
    assert half["OCR"] == 75.0 + 50.0


def test_mme_needs_two_questions_a_picture_and_every_category():
    with pytest.raises(RowError, match="single question"):
        mme(_pair("OCR")[:1], partial=True)
    with pytest.raises(RowError, match="no question of OCR"):
        mme(_pair("scene"))


def test_pope_counts_a_question_once_a_tag_and_does_not_strip_tags():
    report = pope([Reply("Yes", "Yes", "random,popular"), Reply("Yes", "Unknown", " random"), Reply("No", "No", None)])
    assert list(report) == ["Overall", " random", "popular", "random"]
    assert report["Overall"]["acc"] == 75.0
    assert report["Overall"]["recall"] == pytest.approx(200 / 3)
    assert report[" random"] == {"Overall": 0.0, "acc": 0.0, "precision": 0.0, "recall": 0.0}


def test_hallusion_bench_joins_figures_and_questions_within_a_parent_category():
    rows = [("VD_x_y_0_0_0", "Yes"), ("VD_x_y_0_0_1", "No"), ("VD_x_y_0_1_0", "Yes")]
    replies = [Reply("Yes", extracted, "VD", "illusion", index=index) for index, extracted in rows]
    overall = hallusion_bench(replies)["Overall"]
    assert overall == pytest.approx({"aAcc": 200 / 3, "fAcc": 50.0, "qAcc": 50.0})
    assert list(hallusion_bench(replies)) == ["Overall", "VD", "illusion"]
    with pytest.raises(RowError, match="set, figure and question"):
        hallusion_bench([Reply("Yes", "Yes", index="7")])


def test_amber_maps_categories_and_ignores_the_case_of_references():
    report = amber(
        [
            Reply("yes", "Yes", "discriminative-attribute-state"),
            Reply("NO", "Yes", "discriminative-attribute-number"),
            Reply("no", "No", "discriminative-hallucination"),
        ]
    )
    assert report == {"Attribute": 50.0, "Existence": 100.0, "Avg ACC": 75.0}


def test_vsr_leaves_f1_a_fraction():
    assert vsr([Reply("Yes", "Yes"), Reply("Yes", "No")]) == pytest.approx(
        {"precision": 100.0, "recall": 50.0, "acc": 50.0, "f1_score": 2 / 3}
    )


def test_other_benchmarks_skip_empty_categories():
    replies = [Reply("Yes", "Yes", None, "L"), Reply("No", "Unknown", "b", None)]
    assert by_category(replies) == {"Overall": 50.0, "b": 0.0, "L": 100.0}


words = st.sampled_from(["Yes", "No", "Unknown"])
replies = st.lists(
    st.builds(Reply, answer=words, extracted=words, category=st.sampled_from(["a", "b,c", None])), max_size=8
)


@given(replies)
def test_percentages_stay_in_range_whatever_the_order(rows):
    for report in (by_category(rows), *pope(rows).values()):
        assert all(0 <= value <= 100 for value in report.values())
    assert pope(rows) == pope(rows[::-1])
    assert all(0 <= value <= 1 for value in f1_of_yes(rows))
