"""POPE's answer files and the question files they go with."""

import json
from pathlib import Path

import pytest

from mmconvert.formats.pope import FORMAT
from mmconvert.io.detect import guess, sample
from mmconvert.pipeline.convert import read, write
from mmconvert.plugins.format import Target
from mmscore.core.predictions.join import join
from mmscore.core.predictions.load import open_rows
from support.datasets_on_disk import make_image

ANSWERS = [
    {"question": "is there a bird in the image?", "answer": "Yes, a bird."},
    {"question": "Is there an umbrella in the image?", "answer": "no"},
]
QUESTIONS = [
    {"question_id": 1, "image": "a.png", "text": "Is there a bird in the image?", "label": "yes"},
    {"question_id": 2, "image": "a.png", "text": "Is there an umbrella in the image?", "label": "no"},
]


def lines(path: Path, rows: list[dict]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_answers_and_questions_go_together_by_their_order(tmp_path: Path) -> None:
    answers = lines(tmp_path / "m_coco_pope_random.json", ANSWERS)
    questions = lines(tmp_path / "coco_pope_random.json", QUESTIONS)
    assert [(r.prediction, r.answer, r.category, r.task, r.dataset) for r in read(answers)] == [
        ("Yes, a bird.", None, "random", "yes_no", "POPE"),
        ("no", None, "random", "yes_no", "POPE"),
    ]
    joined = join(open_rows(answers), open_rows(questions, required=("id",)))
    assert [row for batch in joined.read(["prediction", "answer", "group"]) for row in batch.to_pylist()] == [
        {"prediction": "Yes, a bird.", "answer": "yes", "group": "a.png"},
        {"prediction": "no", "answer": "no", "group": "a.png"},
    ]


def test_images_of_questions_are_shown_where_they_are_at_hand(tmp_path: Path) -> None:
    path = lines(tmp_path / "coco_pope_popular.json", QUESTIONS)
    records = read(path)
    assert [record.images for record in records] == [(), ()]
    assert sum(records.warnings.values()) == 2
    (tmp_path / "a.png").write_bytes(make_image(1))
    first, _ = records
    assert [image.bytes for image in first.images] == [make_image(1)]
    assert [part.type for part in first.messages[0].content] == ["image", "text"]
    outside = lines(tmp_path / "t.json", [{**QUESTIONS[0], "image": "../../etc/passwd"}, QUESTIONS[1]])
    records = read(outside)
    assert len(list(records)) == 1
    assert [reject.code for reject in records.rejects] == ["image.path"]


def test_labels_beside_the_answers_are_references(tmp_path: Path) -> None:
    (record,) = read(lines(tmp_path / "t.jsonl", [{**ANSWERS[0], "label": "yes", "question_id": 5}]))
    assert (record.answer, record.label, record.extra) == ("yes", '"yes"', {"question_id": 5})


def test_other_questions_are_not_taken_for_pope(tmp_path: Path) -> None:
    path = lines(tmp_path / "t.jsonl", [ANSWERS[0], {"question": "What is it?", "answer": "a cat"}])
    assert FORMAT.mismatch(sample(path)).startswith("no question 'Is there a")


def test_a_question_file_may_be_one_array(tmp_path: Path) -> None:
    path = tmp_path / "coco_pope_random.json"
    path.write_text(json.dumps(QUESTIONS))
    assert guess(path)[0] == "pope"
    assert [record.answer for record in read(path)] == ["yes", "no"]


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ({"question": "", "answer": "yes"}, "question.missing"),
        ({"question": "Is there a cat in the image?", "answer": None}, "answer.type"),
        ({"text": "Is there a cat in the image?", "label": "maybe"}, "label.type"),
    ],
)
def test_a_bad_row_is_refused_and_the_others_go_on(tmp_path: Path, row: dict, code: str) -> None:
    records = read(lines(tmp_path / "t.jsonl", [row, ANSWERS[1]]), "pope")
    assert [record.prediction for record in records] == ["no"]
    assert [reject.code for reject in records.rejects] == [code]


@pytest.mark.parametrize("rows", [ANSWERS, QUESTIONS])
def test_what_is_written_is_what_was_read(tmp_path: Path, rows: list[dict]) -> None:
    source = lines(tmp_path / "m_coco_pope_random.json", rows)
    target = tmp_path / "back/m_coco_pope_random.json"
    target.parent.mkdir()
    assert write(read(source), Target(target), "pope") == []
    assert [json.loads(line) for line in target.read_text().splitlines()] == rows
    (loss, _) = write(read(source), Target(tmp_path / "other.json"), "pope")
    assert loss.field == "category"


@pytest.mark.parametrize("name", ["response", "prediction", "pred"])
def test_responses_that_stand_in_the_question_file_are_scored(tmp_path: Path, name: str) -> None:
    path = tmp_path / "coco_pope_random.json"
    row = {
        "question_id": 1,
        "image": "i.jpg",
        "text": "Is there a cat in the image?",
        "label": "yes",
        name: "Yes, it is.",
    }
    path.write_text(json.dumps(row) + "\n")
    (record,) = read(path)
    assert (record.question, record.answer, record.prediction) == (row["text"], "yes", "Yes, it is.")
