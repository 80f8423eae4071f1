"""LLaVA and ShareGPT4V training data."""

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given

from mmconvert.core.record import Part, Record, Source, Turn
from mmconvert.io.detect import guess
from mmconvert.pipeline.convert import read, write
from mmconvert.plugins.format import Target
from support.dialogs import content, dialogs, there_and_back
from support.records import checked, image_bytes


def rows(folder: Path, *data: dict[str, Any]) -> Any:
    (folder / "a.png").write_bytes(image_bytes("PNG"))
    path = folder / "train.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return read(path, "llava")


def said(*texts: str) -> list[dict[str, str]]:
    return [{"from": ("human", "gpt")[n % 2], "value": text} for n, text in enumerate(texts)]


@given(dialogs(most=1, system=False))
def test_dialogs_come_back(record: Record) -> None:
    back, losses = there_and_back(record, "llava", "t.json")
    assert losses == []
    assert content(back) == content(record)


def test_rows_are_numbered_because_ids_repeat(tmp_path: Path) -> None:
    row = {"id": "coco-1", "image": "a.png", "conversations": said("<image>\nWhat?", "A cat.")}
    records = list(rows(tmp_path, row, row))
    assert [(r.id, r.sample) for r in records] == [("000000000", "coco-1"), ("000000001", "coco-1")]
    assert records[0].messages[0].content == (Part("image"), Part("text", "What?"))
    assert records[0].images[0].name == "a.png"


@pytest.mark.parametrize(
    ("row", "code", "words"),
    [
        ({"image": "a.png", "conversations": said("What?", "A")}, "placeholder.count", "show 0 .* has 1"),
        ({"conversations": said("<image> <image>", "A")}, "placeholder.count", "show 2 .* has 0"),
        ({"image": ["a.png"], "conversations": said("<image>", "A")}, "image.type", "qwen_vl"),
        ({"image": "b.png", "conversations": said("<image>", "A")}, "image.missing", "no such file"),
        ({"image": "../a.png", "conversations": said("<image>", "A")}, "image.path", "leaves"),
        ({"image": "http://127.0.0.1:9/a.png", "conversations": said("<image>", "A")}, "image.remote", "network"),
        ({"video": "a.mp4", "conversations": said("<image>", "A")}, "media.unsupported", "video"),
        ({"conversations": [{"from": "function_call", "value": "f()"}]}, "media.unsupported", "tool"),
        ({"conversations": [{"from": ["human"], "value": "f()"}]}, "messages.role", "expected"),
        ({"conversations": [{"from": "human", "value": 3}]}, "messages.content", "expected a text"),
        ({"conversations": []}, "messages.missing", "expected a list"),
        ({"conversations": ["human"]}, "messages.type", "expected an object"),
        ({"id": [1], "conversations": said("Q", "A")}, "id.type", "expected a text"),
    ],
)
def test_a_bad_row_is_refused_and_the_others_go_on(row: dict, code: str, words: str, tmp_path: Path) -> None:
    records = rows(tmp_path, {"conversations": said("Q", "A")}, row, {"conversations": said("Q", "B")})
    assert [record.source.row for record in records] == [0, 2]
    assert records.rejects[0].code == code
    assert re.search(words, str(records.rejects[0]))


def record(*turns: Turn, images: int = 0, **fields: Any) -> Record:
    shown_images = tuple(checked("PNG", 0, slot) for slot in range(1, images + 1))
    return Record("x", "x", turns, fields.pop("task", "chat"), Source("f", "f", 0), images=shown_images, **fields)


USER, IMAGE = Turn("user", (Part("text", "Q"),)), Part("image")
REPLY = Turn("assistant", (Part("text", "A"),))


@pytest.mark.parametrize(
    ("lost", "field", "words"),
    [
        (record(Turn("user", (IMAGE, IMAGE)), REPLY, images=2), "images", "one image per row, this one has 2"),
        (record(REPLY, USER, REPLY), "messages", "alternate"),
        (record(USER), "answer", "nor an answer"),
        (record(), "messages", "no prompt"),
    ],
)
def test_what_llava_cannot_hold_is_left_out_and_named(lost: Record, field: str, words: str, tmp_path: Path) -> None:
    losses = write([lost, record(USER, REPLY)], Target(tmp_path / "t.json"), "llava")
    assert len(json.loads((tmp_path / "t.json").read_text())) == 1
    ((id_, named, message),) = [(loss.id, loss.field, loss.message) for loss in losses]
    assert (id_, named) == ("x", field)
    assert "left out" in message
    assert words in message


def test_an_evaluation_row_gets_its_answer_and_tells_its_other_columns(tmp_path: Path) -> None:
    asked = record(
        Turn("system", (Part("text", "Be short."),)),
        Turn("user", (IMAGE, Part("text", "Which?"))),
        images=1,
        task="multiple_choice",
        options=("red", "green"),
        answer="B",
        answers=("B",),
        category="colour",
    )
    losses = write([asked], Target(tmp_path / "t.json"), "llava")
    (row,) = json.loads((tmp_path / "t.json").read_text())
    assert row["conversations"] == said("<image>\nWhich?", "B. green")
    assert (tmp_path / row["image"]).read_bytes() == asked.images[0].bytes
    assert row["image"].startswith("images/")
    assert {loss.field for loss in losses} == {"messages", "options", "category", "answer"}
    assert {loss.field for loss in losses if not loss.remark} == {"messages", "options"}


@pytest.mark.parametrize("images", [None, "files", "original"])
def test_images_are_files(images: str | None, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    source = rows(tmp_path / "in", {"image": "a.png", "conversations": said("<image>\nQ", "A")})
    (tmp_path / "pics").mkdir()
    write(source, Target(tmp_path / "out.json", images, tmp_path / "pics"), "llava")
    (row,) = json.loads((tmp_path / "out.json").read_text())
    assert (tmp_path / "pics" / row["image"]).is_file()
    assert (row["image"] == "a.png") == (images == "original")


def test_lists_of_images_are_qwens(tmp_path: Path) -> None:
    rows(tmp_path, {"image": "a.png", "conversations": said("<image>", "A")})
    assert guess(tmp_path / "train.json")[0] == "llava"
    rows(tmp_path, {"image": ["a.png"], "conversations": said("<image>", "A")})
    assert guess(tmp_path / "train.json")[0] == "qwen_vl"


def test_parquet_and_other_role_words_are_read(tmp_path: Path) -> None:
    turns = [{"from": "user", "value": "<image>\nWho?"}, {"from": "assistant", "value": "Me."}]
    cell = {"bytes": image_bytes("PNG"), "path": None}
    pq.write_table(pa.Table.from_pylist([{"id": "1", "image": cell, "conversations": turns}]), tmp_path / "t.parquet")
    (tmp_path / "i.png").write_bytes(image_bytes("PNG"))
    (tmp_path / "t.json").write_text(json.dumps([{"id": "1", "image": "i.png", "conversations": turns}]))
    for name in ("t.parquet", "t.json"):
        records = read(tmp_path / name)
        assert [(len(row.images), len(row.messages)) for row in records] == [(1, 2)]
        assert records.format == "llava"
