"""EvalScope's prediction and review files."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from mmconvert.core.record import Record
from mmconvert.kits.evalscope.outputs import find_options
from mmconvert.pipeline.convert import read
from mmconvert.prompts.evalscope import TEMPLATES, build_choice_text
from mmscore.core.predictions.join import join
from mmscore.core.predictions.load import open_rows
from mmscore.core.select_recipe import choose_recipe, gather_facts
from support.datasets_on_disk import make_image


def user(*parts: Any) -> list[dict]:
    return [{"role": "user", "content": parts[0] if len(parts) == 1 else list(parts)}]


def image(reference: str) -> dict:
    return {"type": "image", "image": reference, "detail": "auto"}


def words(text: str) -> dict:
    return {"type": "text", "text": text}


def reply(content: Any, **more: Any) -> dict:
    return {"model": "m", "choices": [{"message": {"role": "assistant", "content": content}}], **more}


def prediction(index: int, content: Any = "A cat.", messages: Any = None) -> dict:
    return {"index": index, "model": "m", "model_output": reply(content), "messages": messages or user("What?")}


def review(index: int, target: Any = "cat", text: str | None = "A cat.", group: int | None = None, **more: Any) -> dict:
    score = {"value": {"acc": 1.0}, "extracted_prediction": "x", "prediction": text, "main_score_name": "acc"}
    return {"index": index, "target": target, "messages": user("What?"),
            "sample_score": {"score": score, "sample_id": index, "group_id": group}, **more}  # fmt: skip


def lines(path: Path, *rows: dict) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def texts(record: Record) -> list[str]:
    return ["".join(part.text if part.type == "text" else "<image>" for part in t.content) for t in record.messages]


def test_the_reply_is_the_text_without_the_reasoning(tmp_path: Path) -> None:
    parts = [{"type": "reasoning", "reasoning": "Hm."}, words("A "), words("cat.")]
    records = read(lines(tmp_path / "t.jsonl", prediction(0, parts), {**prediction(1), "model_output": None}))
    assert records.format == "evalscope_predictions"
    assert [record.prediction for record in records] == ["A cat.", None]


def test_messages_end_before_the_reply(tmp_path: Path) -> None:
    told = [*user("What?"), {"role": "assistant", "content": "A cat."}]
    shot = [*user("This?"), {"role": "assistant", "content": "A dog."}, *user("What?")]
    first, second = read(lines(tmp_path / "t.jsonl", prediction(0, messages=told), prediction(1, messages=shot)))
    assert (texts(first), texts(second)) == (["What?"], ["This?", "A dog.", "What?"])


def test_images_sent_as_data_are_kept_and_others_are_named(tmp_path: Path) -> None:
    data = "data:image/png;base64," + base64.b64encode(make_image(1)).decode()
    (tmp_path / "b.png").write_bytes(make_image(2))
    parts = [words("See "), image(data), image("b.png"), image("gone.png"), image("http://127.0.0.1:9/a.png"),
             {"type": "audio", "audio": "a.wav", "format": "wav"}]  # fmt: skip
    records = read(lines(tmp_path / "t.jsonl", prediction(0, messages=user(*parts))))
    (record,) = records
    assert [shown.bytes for shown in record.images] == [make_image(1), make_image(2)]
    assert (texts(record), record.question) == (["See <image><image>"], "See <image 1><image 2>")
    assert record.extra["unseen"] == ["image: gone.png", "image: http://127.0.0.1:9/a.png", "audio: a.wav"]
    assert sum(records.warnings.values()) == 2


def test_of_rows_with_one_index_the_last_counts(tmp_path: Path) -> None:
    path = lines(tmp_path / "t.jsonl", prediction(1, "old"), prediction(0, "only"), prediction(1, "new"))
    assert [(r.id, r.sample, r.prediction) for r in read(path)] == [
        ("0", "000000000", "only"),
        ("1", "000000001", "new"),
    ]


def test_several_choices_are_several_replies(tmp_path: Path) -> None:
    choices = [{"message": {"content": text}} for text in ("a", "b")]
    path = lines(tmp_path / "t.jsonl", {**prediction(3), "model_output": {"choices": choices}})
    assert [(r.id, r.sample, r.variant, r.prediction) for r in read(path)] == [
        ("3#0", "000000003", 0, "a"),
        ("3#1", "000000003", 1, "b"),
    ]


@pytest.mark.parametrize(
    ("name", "dataset", "subset"),
    [
        ("general_vqa_example", "general_vqa", "example"),
        ("mmmu_pro_vision_direct", "mmmu_pro", "vision_direct"),
        ("mm_bench", "mm_bench", None),
        ("popex_1", None, None),
    ],
)
def test_folder_and_name_say_model_benchmark_and_subset(
    tmp_path: Path, name: str, dataset: str | None, subset: str | None
) -> None:
    row = review(0)
    (record,) = read(lines(tmp_path / f"reviews/my-7b/{name}.jsonl", row))
    assert (record.extra["model"], record.dataset, record.subset) == ("my-7b", dataset, subset)
    (record,) = read(lines(tmp_path / f"elsewhere/my-7b/{name}.jsonl", row))
    assert "model" not in record.extra


def test_a_review_has_reference_and_reply_and_the_kits_score_beside(tmp_path: Path) -> None:
    rows = [review(0, ["cat", "a cat"]), review(1, "cat", None), review(2, None, group=1)]
    records = read(lines(tmp_path / "t.jsonl", *rows))
    first, second, third = records
    assert records.format == "evalscope_reviews"
    assert (first.label, first.answers, first.prediction) == ('["cat","a cat"]', ("cat", "a cat"), "A cat.")
    assert first.extra["sample_score"]["score"]["value"] == {"acc": 1.0}
    assert (second.answer, second.prediction) == ("cat", None)
    assert (third.answers, third.label, third.sample, third.group) == ((), None, "000000001", "000000001")


def test_older_reviews_hold_the_input_as_one_text(tmp_path: Path) -> None:
    row = review(0, input="**User**: What?")
    del row["messages"]
    (record,) = read(lines(tmp_path / "t.jsonl", row))
    assert (record.question, texts(record)) == ("**User**: What?", ["**User**: What?"])


@pytest.mark.parametrize("template", TEMPLATES)
def test_options_are_read_out_of_every_template_of_the_kit(template: str) -> None:
    options = ("a cat", "two\nlines", "C) no label", "")
    assert find_options(build_choice_text("Which\n\nA) or so?", options, template)) == options


@pytest.mark.parametrize(
    ("target", "answer", "label"),
    [
        ("b", "B", '"b"'),
        ("B\nA", "AB", '"B\\nA"'),
        (["A", "B"], "AB", '["A","B"]'),
        ("", None, '""'),
        ("E", None, '"E"'),
    ],
)
def test_the_reference_of_a_choice_is_its_letters(tmp_path: Path, target: Any, answer: str | None, label: str) -> None:
    asked = "One of the letters; [LETTER] is one of A,B. Think.\n\nWhich?\n\nA) red\nB) blue"
    (record,) = read(lines(tmp_path / "general_vmcq_t.jsonl", review(0, target, messages=user(asked))))
    assert (record.options, record.task) == (("red", "blue"), "multiple_choice")
    assert (record.answer, record.label) == (answer, label)


def test_recipes_follow_from_the_file_and_predictions_join_their_dataset(tmp_path: Path) -> None:
    vqa = open_rows(lines(tmp_path / "general_vqa_t.jsonl", review(0)))
    assert choose_recipe(gather_facts(vqa)).name == "evalscope_general_vqa"
    replies = open_rows(lines(tmp_path / "p/general_vqa_t.jsonl", prediction(1), prediction(0)))
    source = tmp_path / "t.jsonl"
    lines(source, *({"messages": user("What?"), "answer": text} for text in ("cat", "dog")))
    joined = join(replies, open_rows(source, required=("id",)))
    assert [row for batch in joined.read(["id", "answer"]) for row in batch.to_pylist()] == [
        {"id": "1", "answer": "dog"},
        {"id": "0", "answer": "cat"},
    ]


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ({**prediction(0), "index": "0"}, "id.missing"),
        ({**prediction(0), "index": [0]}, "id.missing"),
        ({**prediction(0), "model_output": "A cat."}, "prediction.type"),
        ({**prediction(0), "model_output": {"choices": [{}]}}, "prediction.type"),
        (prediction(0, 3), "messages.content"),
        (prediction(0, messages=[{"role": "robot", "content": "x"}]), "messages.role"),
        (prediction(0, messages=3), "messages.type"),
        (prediction(0, messages=user([{"type": "text"}])), "messages.content"),
    ],
)
def test_a_bad_prediction_is_refused_and_the_others_go_on(tmp_path: Path, row: dict, code: str) -> None:
    records = read(lines(tmp_path / "t.jsonl", row, prediction(9)), "evalscope_predictions")
    assert [record.id for record in records] == ["9"]
    assert [reject.code for reject in records.rejects] == [code]


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ({**review(0), "sample_score": {}}, "prediction.type"),
        (review(0, text=3), "prediction.type"),  # type: ignore[arg-type]
        (review(0, {"a": 1}), "answer.type"),
        (review(-1), "id.missing"),
    ],
)
def test_a_bad_review_is_refused_and_the_others_go_on(tmp_path: Path, row: dict, code: str) -> None:
    records = read(lines(tmp_path / "t.jsonl", row, review(9)), "evalscope_reviews")
    assert [record.id for record in records] == ["9"]
    assert [reject.code for reject in records.rejects] == [code]
