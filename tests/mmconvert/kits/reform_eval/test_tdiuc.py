"""TDIUC's two lists: put together by their ids, in both layouts, into multiple choice."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from mmconvert.core.errors import Error
from mmconvert.dataset.dataset import open_dataset
from mmconvert.pipeline.convert import read
from support.records import image_bytes
from support.terminal import mmconvert

IMAGE = b64encode(image_bytes("PNG")).decode()


def question(number: Any, **changes: Any) -> dict[str, Any]:
    return {"question_id": number, "image_id": IMAGE, "question": f"Question {number}?", **changes}


def annotation(number: Any, answer: str, kind: str = "color", **changes: Any) -> dict[str, Any]:
    said = {"question_type": kind, "answers": [{"answer": answer}], "ans_source": "vqa"}
    return {"question_id": number, **said, **changes}


def kit(folder: Path, questions: Any, annotations: Any) -> Path:
    """The kit's own folder, with its lists of choices."""
    (folder / "TDIUC/choice_list").mkdir(parents=True)
    (folder / "TDIUC/TDIUC_val_ques.json").write_text(json.dumps(questions))
    (folder / "TDIUC/TDIUC_val_anns.json").write_text(json.dumps(annotations))
    for kind, words in {"color": ["red", "green", "blue", "black"], "counting": ["1", "2", "3", "4", "5"]}.items():
        (folder / f"TDIUC/choice_list/{kind}.json").write_text(json.dumps({"choice": words}))
    return folder / "TDIUC"


def test_questions_get_their_answers_in_the_order_of_their_ids(tmp_path: Path) -> None:
    folder = kit(
        tmp_path, [question(12), question(3)], [annotation(3, "red"), annotation(12, "4", "counting", ans_source="x")]
    )
    records = read(folder)
    first, second = records
    assert (records.format, records.rejects, records.warnings) == ("reform_eval", [], {})
    assert [(r.id, r.question, r.answer, r.label, r.dataset, r.category, r.task) for r in (first, second)] == [
        ("3", "Question 3?", "red", '"red"', "TDIUC_color", "TDIUC", "vqa"),
        ("12", "Question 12?", "4", '"4"', "TDIUC_counting", "TDIUC", "vqa"),
    ]
    assert first.images[0].bytes == image_bytes("PNG")
    assert second.extra == {"question_type": "counting", "ans_source": "x", "sample_id": 12}
    assert (second.source.file, second.source.row) == ("TDIUC_val_ques.json", 0)


def test_the_folder_becomes_multiple_choice_in_one_command(tmp_path: Path) -> None:
    numbers = range(4)
    kinds = ["color", "counting", "color", "object_presence"]
    folder = kit(
        tmp_path,
        [question(number) for number in numbers],
        [annotation(n, a, k) for n, a, k in zip(numbers, ["red", "2", "blue", "yes"], kinds, strict=True)],
    )
    step = f"draw_distractors:choices={folder}/choice_list"
    ended = mmconvert("convert", folder, "-o", tmp_path / "ds", "--transform", step, "--json")
    assert ended.code == 0, ended.err
    made = list(open_dataset(tmp_path / "ds").records())
    assert [dict(zip("ABCD", r.options, strict=False))[r.answer or ""] for r in made] == ["red", "2", "blue", "yes"]
    assert [len(r.options) for r in made] == [4, 4, 4, 2]
    assert made[3].dataset == "TDIUC_detection"


def test_the_original_layout_names_cocos_images_by_their_number(tmp_path: Path) -> None:
    for name in ("Questions", "Annotations", "Images/val2014"):
        (tmp_path / name).mkdir(parents=True)
    questions = {"info": {}, "questions": [question(1, image_id=42)]}
    (tmp_path / "Questions/x_val2014_questions.json").write_text(json.dumps(questions))
    annotations = {"annotations": [annotation(1, "no", "absurd", answers=[{"answer": "no", "answer_id": 1}])]}
    (tmp_path / "Annotations/x_val2014_annotations.json").write_text(json.dumps(annotations))
    (tmp_path / "Images/val2014/COCO_val2014_000000000042.jpg").write_bytes(image_bytes("JPEG"))
    (record,) = read(tmp_path, image_roots=(tmp_path / "Images/val2014",))
    assert record.images[0].name == "COCO_val2014_000000000042.jpg"
    assert (record.answer, record.dataset) == ("no", "TDIUC")
    assert record.extra["answers"] == [{"answer": "no", "answer_id": 1}]


def test_a_question_without_an_annotation_is_refused_and_a_spare_annotation_is_remarked(tmp_path: Path) -> None:
    folder = kit(tmp_path, [question(1), question(2)], [annotation(2, "red"), annotation(5, "red"), 7])
    records = read(folder)
    assert [record.id for record in records] == ["2"]
    assert [(r.where.file, r.code, r.id) for r in records.rejects] == [
        ("TDIUC_val_anns.json", "json.type", None),
        ("TDIUC_val_ques.json", "answer.missing", "1"),
    ]
    assert list(records.warnings) == ["1 annotations have no question and are left out"]


@pytest.mark.parametrize("answers", [[], [{"answer": 3}], None, ["red"]])
def test_an_annotation_without_an_answer_refuses_its_question(answers: Any, tmp_path: Path) -> None:
    annotations = [annotation(1, "red", answers=answers), annotation(2, "red")]
    records = read(kit(tmp_path, [question(1), question(2)], annotations))
    assert [record.id for record in records] == ["2"]
    assert [reject.field for reject in records.rejects] == ["answers"]


def test_several_lists_of_questions_are_one_clear_error(tmp_path: Path) -> None:
    folder = kit(tmp_path, [question(1)], [annotation(1, "red")])
    (folder / "TDIUC_train_ques.json").write_text("[]")
    with pytest.raises(Error, match=r"expected one list of questions .*, found TDIUC_train_ques.json, TDIUC_val_ques"):
        list(read(folder))


def test_the_questions_alone_are_told_to_name_the_folder(tmp_path: Path) -> None:
    folder = kit(tmp_path, [question(1)], [annotation(1, "red")])
    with pytest.raises(Error, match="TDIUC's questions have their answers in another file; name the folder"):
        read(folder / "TDIUC_val_ques.json")
