"""ms-swift's infer_result.jsonl: predictions with the references that the data had."""

import json
from pathlib import Path
from typing import Any

import pytest

from mmconvert.core.record import Record
from mmconvert.io.detect import guess
from mmconvert.pipeline.inputs import Input
from mmconvert.pipeline.read import ReadOptions, Records
from support.records import image_bytes
from support.terminal import mmscore

USER = {"role": "user", "content": "<image>Which colour?"}
SAID = {"role": "assistant", "content": "It is red."}
ROW: dict[str, Any] = {"response": "It is red.", "labels": "red", "logprobs": None, "messages": [USER, SAID]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.png").write_bytes(image_bytes("PNG"))
    return tmp_path


def read(folder: Path, *rows: dict[str, Any]) -> tuple[list[Record], Records]:
    path = folder / "infer_result.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert guess(path)[0] == "ms_swift_results"
    records = Records(Input(path), ReadOptions())
    return list(records), records


def text(record: Record) -> list[tuple[str, str]]:
    return [(turn.role, "".join(part.text or f"<{part.type}>" for part in turn.content)) for turn in record.messages]


@pytest.mark.parametrize("image", ["a.png", {"bytes": None, "path": "a.png"}])
def test_a_row_is_a_prediction_with_its_reference(folder: Path, image: Any) -> None:
    ((record,), _) = read(folder, {**ROW, "images": [image]})
    assert (record.prediction, record.answer, record.answers) == ("It is red.", "red", ("red",))
    assert text(record) == [("user", "<image>Which colour?")]
    assert (len(record.images), record.question, record.task) == (1, "<image 1>Which colour?", "vqa")


def test_system_and_earlier_turns_stay_and_what_was_not_labelled_has_no_answer(folder: Path) -> None:
    turns = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Hi"}, SAID, {**USER}, SAID]
    ((record,), _) = read(folder, {**ROW, "labels": None, "messages": turns, "images": ["a.png"], "channel": "x"})
    assert [role for role, _ in text(record)] == ["system", "user", "assistant", "user"]
    assert (record.answer, record.label, record.extra) == (None, None, {"channel": "x"})


def test_old_files_end_with_the_user_and_interactive_ones_have_no_labels(folder: Path) -> None:
    ((old,), _) = read(folder, {**ROW, "messages": [USER], "images": ["a.png"]})
    ((typed,), _) = read(
        folder, {"response": "It is red.", "messages": [USER, SAID], "images": ["a.png"], "audios": []}
    )
    assert text(old) == text(typed) == [("user", "<image>Which colour?")]
    assert (old.answer, typed.answer, typed.prediction) == ("red", None, "It is red.")


def test_files_of_version_2_have_a_query(folder: Path) -> None:
    row = {"system": "Be short.", "query": "<image>Which?", "response": "red", "label": "blue", "images": ["a.png"]}
    ((record,), _) = read(folder, {**row, "history": [["Hi", "Hello"]]})
    assert text(record) == [
        ("system", "Be short."),
        ("user", "Hi"),
        ("assistant", "Hello"),
        ("user", "<image>Which?"),
    ]
    assert (record.prediction, record.answer, record.extra) == ("red", "blue", {})


def test_an_image_of_another_machine_is_left_out_with_a_remark(folder: Path) -> None:
    gone = [{"bytes": None, "path": "/data/coco/1.jpg"}]
    ((record,), records) = read(folder, {**ROW, "images": gone})
    assert (record.images, text(record)) == ((), [("user", "Which colour?")])
    assert record.extra["images"] == gone
    assert [*records.warnings] == ["an image is not available; its row is kept without images"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"response": ["x"]}, "prediction.type"),
        ({"response": None}, "prediction.type"),
        ({"labels": {"a": 1}}, "answer.type"),
        ({"labels": True}, "answer.type"),
        ({"images": []}, "placeholder.count"),
        ({"messages": [SAID]}, "messages.no_user"),
        ({"messages": "x"}, "messages.missing"),
        ({"messages": [{"role": "user", "content": "<video>Which?"}, SAID]}, "media.unsupported"),
    ],
)
def test_a_row_that_cannot_be_read_is_refused(folder: Path, change: dict[str, Any], code: str) -> None:
    good = {**ROW, "images": ["a.png"]}
    records, seen = read(folder, *[good] * 8, {**good, **change})
    assert (len(records), [reject.code for reject in seen.rejects]) == (8, [code])


def test_a_response_to_a_video_is_kept_without_it(folder: Path) -> None:
    ((record,), _) = read(folder, {**ROW, "images": ["a.png"], "videos": ["a.mp4"]})
    assert (record.prediction, record.extra["videos"]) == (ROW["response"], ["a.mp4"])


def test_the_file_is_scored_as_it_is(folder: Path) -> None:
    path = folder / "infer_result.jsonl"
    rows = [{**ROW, "response": said, "messages": [USER], "images": ["/x.jpg"]} for said in ("red", "blue")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = mmscore(str(path))
    assert done.code == 0, done.err
    assert "50.0 %" in done.out
