import math

import pytest

from mmconvert.core.errors import RowError, UsageError
from mmconvert.core.record import Image, Record, Source
from mmconvert.prompts.lmms_mmbench import build_lmms_mmbench_text, lmms_mmbench
from mmconvert.prompts.mmbench import build_mmbench_text, mmbench, read_question

ROW = {"index": 7, "image": "x", "question": "Which?", "category": "c", "l2-category": None, "A": "cat", "C": 5.0}


def _record(**more):
    values = {"question": "Which?", "options": ("cat", None, "dog"), **more}
    return Record("1", "1", (), "multiple_choice", Source("test", "f", 0), (Image(b"", 1),), **values)


def test_the_loader_keeps_gaps_and_types():
    question = read_question(ROW)
    assert question.options == {"A": "cat", "C": 5.0}
    assert (question.answer, question.context) == (None, None)
    assert math.isnan(question.l2_category)
    assert build_mmbench_text("Which?", question.options).endswith("A. cat\nC. 5.0\n")


def test_a_missing_column_is_named_with_its_nearest_spelling():
    row = {name: value for name, value in ROW.items() if name != "l2-category"} | {"L2-category": "x"}
    with pytest.raises(RowError, match=r"no such column\. Did you mean L2-category"):
        read_question(row)


@pytest.mark.parametrize(("question", "hint"), [(3, None), (math.nan, None), ("q", 3)])
def test_numbers_are_no_text(question, hint):
    with pytest.raises(RowError, match="expected a text"):
        build_mmbench_text(question, {}, hint)


def test_records_are_worded_with_the_image_first():
    wording = mmbench(_record(hint="Look."))
    assert wording.slots == (1,)
    assert [part.text for part in wording.parts] == [
        "",
        "Look. Which? There are several options:\nA. cat\nC. dog\n",
    ]


def test_lmms_eval_closes_in_the_language_of_the_data():
    assert (
        lmms_mmbench(_record())
        .parts[-1]
        .text.endswith("C. dog\n\nAnswer with the option's letter from the given choices directly.")
    )
    assert lmms_mmbench(_record(), "cn").parts[-1].text.endswith("\n\n请直接使用所提供的选项字母作为答案回答。")
    with pytest.raises(UsageError, match="Known: en, cn"):
        lmms_mmbench(_record(), "de")


def test_lmms_eval_prints_the_word_nan_in_chinese_only():
    row = {"question": "q", "hint": "nan", "A": "nan", "B": "", "C": "x"}
    assert build_lmms_mmbench_text(row) == "q There are several options:\nC. x"
    assert build_lmms_mmbench_text(row, "cn") == "nan q There are several options:\nC. x"
