"""Benchmarks' own question files, as keys of predictions and as questions to ask."""

import json
from pathlib import Path

import pytest

import mmscore
from mmconvert.core.errors import Error
from mmconvert.pipeline.convert import read
from mmconvert.testing.examples import list_example_files
from support.records import picture_bytes

FORM = "Answer the question using a single word or phrase."


def answers(tmp_path: Path, *said: tuple[object, str, str]) -> Path:
    rows = [
        {
            "question_id": key,
            "prompt": f"{question}\n{FORM}",
            "text": text,
            "answer_id": "x",
            "model_id": "m",
            "metadata": {},
        }
        for key, question, text in said
    ]
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("name", "said", "recipe", "metric"),
    [
        ("textvqa", ("a1", "What does it say?", "Stop"), "llava_textvqa", 1.0),
        ("gqa", ("20131", "Is it red?", "Yes."), "llava_gqa", 1.0),
        ("scienceqa", ("5", "Which is red?", "B. a rose"), "llava_scienceqa", 1.0),
        ("seed_bench", (101, "How many are there?", "B"), "llava_seed", 1.0),
    ],
)
def test_llavas_answers_find_the_rule_of_a_key(
    tmp_path: Path, name: str, said: tuple, recipe: str, metric: float
) -> None:
    entry = mmscore.score(answers(tmp_path, said), answers=list_example_files()[name]).entries[0]
    assert (entry.recipe, entry.metrics["accuracy"].value) == (recipe, metric)


def test_answers_to_mm_vet_ask_for_its_judge(tmp_path: Path) -> None:
    path = answers(tmp_path, (0, "What is x?", "It is -1"))
    with pytest.raises(Error, match=r"vlmevalkit_mmvet.*judge"):
        mmscore.score(path, answers=list_example_files()["mm_vet"])


@pytest.mark.parametrize("name", ["textvqa", "gqa", "scienceqa", "seed_bench", "mm_vet"])
def test_a_picture_that_is_there_is_shown(tmp_path: Path, name: str) -> None:
    path = tmp_path / list_example_files()[name].name
    text = list_example_files()[name].read_text()
    path.write_text(text.replace('"image": null', '"image": "i.png"'))
    for place in ("a1.jpg", "n7.jpg", "test/5/i.png", "1_2", "v1_0.png"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_bytes(picture_bytes("PNG"))
    (row,) = read(path, name)
    assert len(row.images) == 1


def test_questions_of_splits_without_an_answer_are_not_missing(tmp_path: Path) -> None:
    row = {"question": "Which?", "choices": ["a", "b"], "answer": 0, "subject": "x", "lecture": "", "hint": ""}
    problems = {str(number): {**row, "split": split} for number, split in enumerate(("test", "test", "train", "val"))}
    (tmp_path / "problems.json").write_text(json.dumps(problems))
    said = [(str(number), "Which?", "A") for number in (0,)]
    counts = mmscore.score(answers(tmp_path, *said), answers=tmp_path / "problems.json").entries[0].counts
    assert (counts.scored, counts.missing) == (1, 1)


def test_a_question_type_that_is_no_number_names_no_category(tmp_path: Path) -> None:
    path = tmp_path / "SEED-Bench.json"
    key = json.loads(list_example_files()["seed_bench"].read_text())
    path.write_text(json.dumps({**key, "question_type": {"Instance Counting": [5], "Other": {}}}))
    (row,) = read(path, "seed_bench")
    assert row.category is None
