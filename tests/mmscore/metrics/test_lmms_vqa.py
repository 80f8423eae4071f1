import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmscore.metrics.lmms_vqa import lmms_vqa, lmms_vqav2, normalize_evalai_answer, normalize_vqav2_answer


@pytest.mark.parametrize(
    ("references", "score"),
    [([], 0.0), (["cat"], 0.0), (["cat"] * 10, 1.0), (["cat", "cat", "dog"], (1 / 3 + 1 / 3 + 2 / 3) / 3)],
)
def test_each_annotator_is_held_against_the_others(references, score):
    assert lmms_vqa("The cat.", references) == pytest.approx(score)
    assert lmms_vqav2("The cat.", references) == pytest.approx(score)


def test_equal_objects_are_left_out_together():
    told_apart = [{"answer": "cat", "answer_id": n} for n in range(3)]
    assert lmms_vqav2("cat", told_apart) == pytest.approx(2 / 3)
    assert lmms_vqav2("cat", [{"answer": "cat"}] * 3) == 0.0


@pytest.mark.parametrize(
    ("text", "textvqa", "vqav2"),
    [("the dog's tail", "dog 's tail", "dog's tail"), ("1,000", "1000", "1000"), ("yes,no", "yesno", "yes no")],
)
def test_vqav2_rewrites_less_than_textvqa(text, textvqa, vqav2):
    assert (normalize_evalai_answer(text), normalize_vqav2_answer(text)) == (textvqa, vqav2)


def test_a_dot_after_a_digit_goes_and_one_before_a_digit_stays():
    assert normalize_vqav2_answer("3. or 0.5 kg.") == "3 or 0.5 kg"


@given(st.text(max_size=12), st.lists(st.text(max_size=6), max_size=5))
def test_scores_are_fractions_whatever_the_order(prediction, references):
    for score in (lmms_vqa, lmms_vqav2):
        value = score(prediction, references)
        assert 0 <= value <= 1
        assert score(prediction, references[::-1]) == pytest.approx(value)
