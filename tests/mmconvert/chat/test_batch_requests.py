"""Files of requests to batch APIs, as their services take them, are read as rows of messages."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from mmconvert.chat.batch_requests import find_request, unwrap_request
from mmconvert.core.errors import Error
from mmconvert.core.record import Part, Record
from mmconvert.io.detect import guess
from mmconvert.pipeline.convert import read, write
from mmconvert.pipeline.inputs import Input
from mmconvert.pipeline.read import ReadOptions, Records
from mmconvert.plugins.format import Target
from support.records import image_bytes
from support.terminal import mmconvert, mmscore

DATA = base64.b64encode(image_bytes("PNG")).decode()
ADDRESS = f"data:image/png;base64,{DATA}"
TEXT = {"type": "text", "text": "Which colour?"}
SHOWN = {"type": "image_url", "image_url": {"url": ADDRESS, "detail": "low"}}
ASKED = [{"role": "user", "content": [TEXT, SHOWN]}]
SOURCE = {"type": "base64", "media_type": "image/png", "data": DATA}
OF_RESPONSES = [
    {
        "type": "message",
        "role": "user",
        "content": [
            {"type": "input_text", "text": "Which colour?"},
            {"type": "input_image", "image_url": ADDRESS, "detail": "low"},
        ],
    }
]
OPENAI = {"custom_id": "q1", "method": "POST", "url": "/v1/chat/completions"}
BLOCKS = [{"type": "text", "text": "Be", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": " brief."}]

REQUESTS: dict[str, tuple[dict[str, Any], list[str], dict[str, Any]]] = {
    "OpenAI": (
        {**OPENAI, "body": {"model": "m", "messages": [{"role": "system", "content": "Be brief."}, *ASKED]}},
        ["system", "user"],
        {"method": "POST", "url": "/v1/chat/completions", "body": {"model": "m"}},
    ),
    "OpenAI's responses": (
        {**OPENAI, "url": "/v1/responses", "body": {"instructions": "Be brief.", "input": OF_RESPONSES}},
        ["system", "user"],
        {"method": "POST", "url": "/v1/responses", "body": {}},
    ),
    "Mistral": ({"custom_id": "q1", "body": {"top_p": 1, "messages": ASKED}}, ["user"], {"body": {"top_p": 1}}),
    "Anthropic": (
        {
            "custom_id": "q1",
            "params": {
                "system": "Be brief.",
                "messages": [{"role": "user", "content": [TEXT, {"type": "image", "source": SOURCE}]}],
            },
        },
        ["system", "user"],
        {"params": {}},
    ),
    "Anthropic, system in blocks": (
        {"custom_id": "q1", "params": {"system": BLOCKS, "messages": ASKED}},
        ["system", "user"],
        {"params": {}},
    ),
}


def put(folder: Path, *rows: Any, name: str = "requests.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def list_texts(record: Record) -> list[str]:
    return ["".join(part.text for part in turn.content if part.type == "text") for turn in record.messages]


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_is_a_row_of_messages_whose_id_the_results_repeat(name: str, tmp_path: Path) -> None:
    row, roles, extra = REQUESTS[name]
    path = put(tmp_path, row, {**row, "custom_id": "q2"})
    assert guess(path)[0] == "openai_messages"
    records = read(path)
    first, second = records
    assert (records.rejects, first.id, second.id) == ([], "q1", "q2")
    assert [turn.role for turn in first.messages] == roles
    assert list_texts(first) == (["Be brief.", "Which colour?"] if len(roles) > 1 else ["Which colour?"])
    assert first.messages[-1].content == (Part("text", "Which colour?"), Part("image"))
    assert [image.bytes for image in first.images] == [image_bytes("PNG")]
    assert first.extra == extra


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_goes_out_as_a_row_and_comes_back(name: str, tmp_path: Path) -> None:
    first = list(read(put(tmp_path, REQUESTS[name][0])))
    assert list(write(first, Target(tmp_path / "rows.jsonl"), "openai_messages")) == []
    again = list(read(tmp_path / "rows.jsonl", "openai_messages"))
    assert [(one.id, one.messages, one.extra) for one in again] == [(one.id, one.messages, one.extra) for one in first]


def test_the_input_of_a_response_may_be_one_text(tmp_path: Path) -> None:
    (record,) = read(put(tmp_path, {**OPENAI, "url": "/v1/responses", "body": {"input": "Why?"}}))
    assert list_texts(record) == ["Why?"]


@pytest.mark.parametrize(
    ("row", "code", "field"),
    [
        ({**OPENAI, "body": {"messages": []}}, "messages.missing", "body.messages"),
        ({**OPENAI, "body": {"messages": [3]}}, "messages.type", "body.messages[0]"),
        ({**OPENAI, "body": {"messages": [{"role": "tool"}]}}, "media.unsupported", "body.messages[0]"),
        ({**OPENAI, "body": {"prompt": "Why?"}}, "messages.missing", "messages"),
        ({**OPENAI, "url": "/v1/embeddings", "body": {"input": "Why?"}}, "messages.missing", "messages"),
        ({**OPENAI, "url": "/v1/responses", "body": {"input": 3}}, "messages.missing", "body.input"),
        ({**OPENAI, "url": "/v1/responses", "body": {"input": [3]}}, "messages.type", "body.input[0]"),
        (
            {**OPENAI, "url": "/v1/responses", "body": {"input": [{"role": "user", "content": [3]}]}},
            "messages.part",
            "body.input[0].content[0]",
        ),
        (
            {
                **OPENAI,
                "url": "/v1/responses",
                "body": {"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}]},
            },
            "messages.part",
            "body.input[0].content[0]",
        ),
        ({"custom_id": ["q"], "body": {"messages": ASKED}}, "id.type", "id"),
        ({"custom_id": "q", "body": None}, "messages.missing", "messages"),
    ],
)
def test_what_cannot_be_read_is_named_where_it_stands(
    row: dict[str, Any], code: str, field: str, tmp_path: Path
) -> None:
    path = put(tmp_path, REQUESTS["OpenAI"][0], row)
    records = Records(Input(path), ReadOptions(format="openai_messages"))
    assert len(list(records)) == 1
    (reject,) = records.rejects
    assert (reject.code, reject.field) == (code, field)


def test_requests_without_messages_are_said_to_have_none(tmp_path: Path) -> None:
    path = put(tmp_path, {**OPENAI, "url": "/v1/embeddings", "body": {"input": "Why?"}})
    with pytest.raises(Error, match=r"openai_messages: its requests hold no messages\."):
        guess(path)


def test_a_row_of_messages_or_a_result_is_no_request() -> None:
    body = {"messages": ASKED}
    for name in ("messages", "response", "result"):
        row = {**OPENAI, "body": body, name: {}}
        assert find_request(row) is None
        assert unwrap_request(row) == (row, "messages")


def test_requests_are_converted_and_scored_with_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path, *({**REQUESTS["OpenAI"][0], "custom_id": key} for key in ("a", "b")))
    body = {"id": "c", "object": "chat.completion", "model": "m", "usage": {"total_tokens": 9}}
    said = [
        {
            "id": f"batch_req_{key}",
            "custom_id": key,
            "response": {
                "status_code": 200,
                "request_id": key,
                "body": {**body, "choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]},
            },
            "error": None,
        }
        for key, text in (("a", "red"), ("b", "blue"))
    ]
    put(tmp_path, *said, name="results.jsonl")
    done = mmconvert("convert", "requests.jsonl", "-o", "out")
    assert (done.code, "read as openai_messages" in done.out) == (0, True), done.err
    alone = mmscore("requests.jsonl")
    assert "requests.jsonl: no row has a prediction. Give the file of predictions" in alone.err
    without = mmscore("results.jsonl", "--answers", "requests.jsonl")
    assert "and requests.jsonl has none either" in without.err
    Path("key.csv").write_text("id,question,answer\na,?,red\nb,?,red\n")
    scored = mmscore("results.jsonl", "--answers", "key.csv")
    assert (scored.code, "50.0 %" in scored.out) == (0, True), scored.err
