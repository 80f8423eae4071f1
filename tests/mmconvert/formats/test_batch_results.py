"""What batch APIs answer, as predictions."""

import json
from pathlib import Path
from typing import Any

import pytest

from mmconvert.io.detect import guess
from mmconvert.pipeline.inputs import Input
from mmconvert.pipeline.read import ReadOptions, Records
from support.terminal import mmscore


def put(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "batch_output.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def openai(content: Any, key: str = "q1") -> dict[str, Any]:
    body = {"model": "m", "choices": [{"index": 0, "message": {"role": "assistant", "content": content}}]}
    return {"id": "b", "custom_id": key, "response": {"status_code": 200, "body": body}, "error": None}


def anthropic(*blocks: dict[str, Any]) -> dict[str, Any]:
    message = {"model": "m", "role": "assistant", "content": [*blocks]}
    return {"custom_id": "q1", "result": {"type": "succeeded", "message": message}}


SAID = {"type": "output_text", "text": "red"}
OUTPUT = {"model": "m", "output": [{"type": "reasoning"}, {"type": "message", "content": [SAID]}]}
FAILED = {"custom_id": "q2", "response": None, "error": {"code": "batch_expired"}}
REFUSED = {"custom_id": "q2", "response": {"status_code": 400, "body": {"error": {"message": "no"}}}}
ERRORED = {"custom_id": "q2", "result": {"type": "errored", "error": {"type": "invalid_request"}}}


@pytest.mark.parametrize(
    "row",
    [
        openai("red"),
        openai([{"type": "text", "text": "r"}, {"type": "text", "text": "ed"}]),
        {"custom_id": "q1", "response": {"status_code": 200, "body": OUTPUT}},
        anthropic({"type": "thinking", "thinking": "?"}, {"type": "text", "text": "red"}),
    ],
)
def test_the_text_is_the_prediction(row: dict[str, Any], tmp_path: Path) -> None:
    path = put(tmp_path, row)
    assert guess(path)[0] == "batch_results"
    (record,) = Records(Input(path), ReadOptions())
    assert (record.id, record.prediction, record.extra["model"]) == ("q1", "red", "m")


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (FAILED, "prediction.missing"),
        (REFUSED, "prediction.missing"),
        (ERRORED, "prediction.missing"),
        (openai(None, "q2"), "prediction.missing"),
        (openai("x", " "), "id.missing"),
        ({"custom_id": "q2", "response": {"body": {"choices": []}}}, "prediction.missing"),
        ({"custom_id": "q2", "response": {"body": {"choices": [3]}}}, "prediction.missing"),
        ({"custom_id": "q2", "response": {"body": {"output": [3]}}}, "prediction.missing"),
    ],
)
def test_a_failure_is_no_prediction(row: dict[str, Any], code: str, tmp_path: Path) -> None:
    records = Records(Input(put(tmp_path, openai("red"), row)), ReadOptions())
    assert len(list(records)) == 1
    assert [reject.code for reject in records.rejects] == [code]


ERROR = {"message": "Invalid image.", "type": "invalid_request_error", "param": None, "code": None}
EXPIRED = {"code": "batch_expired", "message": "This request could not be executed in time."}
NO_CREDIT = {"type": "error", "error": {"type": "invalid_request_error", "message": "No credit."}}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"response": {"status_code": 400, "body": {"error": ERROR}}, "error": None}, "'Invalid image.'"),
        ({"response": None, "error": EXPIRED}, "'This request could not be executed in time.'"),
        ({"result": {"type": "errored", "error": NO_CREDIT}}, "'No credit.'"),
        ({"result": {"type": "expired"}}, "{'type': 'expired'}"),
        ({"response": {"status_code": 500, "body": {"error": "Down."}}}, "'Down.'"),
        ({"response": None, "error": {"code": "batch_expired"}}, "{'code': 'batch_expired'}"),
    ],
)
def test_a_file_of_errors_says_what_the_service_said(row: dict[str, Any], words: str, tmp_path: Path) -> None:
    path = put(tmp_path, {"id": "batch_req_1", "custom_id": "q1", **row})
    assert guess(path)[0] == "batch_results"
    records = Records(Input(path), ReadOptions())
    assert list(records) == []
    (reject,) = records.rejects
    assert f"the request has no response with a text (got {words}). " in str(reject)
    assert str(reject).endswith("Send it again, or leave the row out.")


def test_an_empty_response_is_one(tmp_path: Path) -> None:
    (record,) = Records(Input(put(tmp_path, openai(""))), ReadOptions())
    assert record.prediction == ""


def test_it_is_scored_with_the_answers_of_the_questions(tmp_path: Path) -> None:
    path = put(tmp_path, openai("red", "a"), openai("blue", "b"))
    key = tmp_path / "key.csv"
    key.write_text("id,question,answer\na,?,red\nb,?,red\n")
    done = mmscore(path, "--answers", key)
    assert (done.code, "50.0 %" in done.out) == (0, True), done.err
