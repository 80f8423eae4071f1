"""Benchmarks' own question files, as keys of predictions and as questions to ask."""

import json
from pathlib import Path

import pytest

import mmscore
from mmconvert.core.errors import Error
from mmconvert.pipeline.convert import read
from mmconvert.testing.examples import list_example_files
from support.records import image_bytes

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


@pytest.mark.parametrize("file", ["questions.jsonl", ""])
def test_answers_to_llava_bench_ask_for_its_judge(tmp_path: Path, file: str) -> None:
    path = answers(tmp_path, (0, "What is painted here?", "A circle."))
    folder = list_example_files()["llava_bench"]
    with pytest.raises(Error, match=r"vlmevalkit_llavabench.*judge"):
        mmscore.score(path, answers=folder / file)
    with pytest.raises(Error, match=r"answers_gpt4.jsonl has none either, it holds responses \(llava_answers\)"):
        mmscore.score(path, answers=folder / "answers_gpt4.jsonl")


def test_what_the_judge_of_llava_bench_compares_with_comes_from_the_files_beside(tmp_path: Path) -> None:
    for file in list_example_files()["llava_bench"].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (row,) = read(tmp_path / "questions.jsonl")
    assert (len(row.images), row.category, row.extra) == (
        1, "conv", {"caption": "A square, painted red.", "gpt4_ans": "A red square.", "image": "001.jpg"},
    )  # fmt: skip
    (tmp_path / "answers_gpt4.jsonl").unlink()
    rows = read(tmp_path / "questions.jsonl")
    assert [dict(row.extra) for row in rows] == [{"caption": "A square, painted red.", "image": "001.jpg"}]
    assert any("answers_gpt4.jsonl beside questions.jsonl" in remark for remark in rows.warnings)
    (tmp_path / "context.jsonl").write_text("[1")
    with pytest.raises(Error, match=r"context.jsonl"):
        list(read(tmp_path / "questions.jsonl"))


def test_llavas_answers_may_be_one_array(tmp_path: Path) -> None:
    lines = answers(tmp_path, ("20131", "Is it red?", "Yes.")).read_text().splitlines()
    path = tmp_path / "answers.json"
    path.write_text(f"[{','.join(lines)}]")
    entry = mmscore.score(path, answers=list_example_files()["gqa"]).entries[0]
    assert (entry.recipe, entry.metrics["accuracy"].value) == ("llava_gqa", 1.0)


@pytest.mark.parametrize("name", ["textvqa", "gqa", "scienceqa", "seed_bench", "mm_vet"])
def test_an_image_that_is_there_is_shown(tmp_path: Path, name: str) -> None:
    path = tmp_path / list_example_files()[name].name
    text = list_example_files()[name].read_text()
    path.write_text(text.replace('"image": null', '"image": "i.png"'))
    for place in ("a1.jpg", "n7.jpg", "test/5/i.png", "1_2", "v1_0.png"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_bytes(image_bytes("PNG"))
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
