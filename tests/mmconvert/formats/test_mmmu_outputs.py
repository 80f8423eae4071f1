import json

import pytest

from mmconvert.core.errors import Error
from mmconvert.pipeline.convert import read

ROW = {
    "id": "validation_Art_1", "question_type": "multiple-choice", "answer": "C", "response": "C",
    "all_choices": ["A", "C"], "index2ans": {"A": "Aurelia", "C": "Hermione"},
}  # fmt: skip
OPEN = {"id": "validation_Math_15", "question_type": "short-answer", "answer": ["24/7", "3.429"], "response": "x"}


def _folder(tmp_path, **subjects):
    for subject, content in subjects.items():
        (tmp_path / subject).mkdir()
        text = content if isinstance(content, str) else json.dumps(content)
        (tmp_path / subject / "output.json").write_text(text)
    (tmp_path / "total_val_output.json").write_text('{"validation_Art_1": "C"}')
    return tmp_path


def test_one_record_a_row_subject_after_subject(tmp_path):
    records = read(_folder(tmp_path, Math=[OPEN], Art=[ROW]))
    first, second = records
    assert records.format == "mmmu_outputs"
    assert (first.id, first.options, first.answer, first.prediction) == (
        "validation_Art_1",
        ("Aurelia", None, "Hermione"),
        "C",
        "C",
    )
    assert (first.category, first.split, first.task, first.source.file) == (
        "Art",
        "validation",
        "multiple_choice",
        "Art/output.json",
    )
    assert (second.answers, second.label, second.options) == (("24/7", "3.429"), '["24/7","3.429"]', ())


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"id": None}, "id.missing"),
        ({"response": 3}, "response.type"),
        ({"answer": 3}, "answer.type"),
        ({"all_choices": None}, "options.type"),
        ({"all_choices": ["AB"], "index2ans": {"AB": "x"}}, "options.type"),
        ({"index2ans": {"A": "x"}}, "options.type"),
    ],
)
def test_a_bad_row_is_rejected_and_the_others_go_on(tmp_path, change, code):
    records = read(_folder(tmp_path, Art=[{**ROW, **change}, {**ROW, "id": "validation_Art_2"}, 3]))
    assert [record.id for record in records] == ["validation_Art_2"]
    assert [reject.code for reject in records.rejects] == [code, "json.type"]


@pytest.mark.parametrize("content", ["{", '{"id": "1"}', '[{"id": NaN}]'])
def test_a_bad_file_is_refused_by_name(tmp_path, content):
    with pytest.raises(Error, match=r"output\.json"):
        list(read(_folder(tmp_path, Art=content)))


def test_a_response_that_is_null_is_no_prediction(tmp_path):
    (record,) = read(_folder(tmp_path, Art=[{**ROW, "response": None}]))
    assert record.prediction is None
