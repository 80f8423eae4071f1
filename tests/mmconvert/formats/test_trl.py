"""TRL's vision data; the trainer itself runs in test_trl_training.py."""

import json
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import UsageError
from mmconvert.core.record import IMAGE_TYPE, Part, Record
from mmconvert.io.detect import guess
from mmconvert.pipeline.convert import read, write
from mmconvert.plugins.format import Target
from support.dialogs import content, dialogs, there_and_back
from support.records import image_bytes

TEXT, IMAGE = (lambda text: Part("text", text)), Part("image")
IMAGE_DATA: dict[str, Any] = {"type": "image"}
COLUMNS = st.sampled_from([None, "prompt-completion"])


def words(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def said(*contents: Any) -> list[dict[str, Any]]:
    return [{"role": ("user", "assistant")[n % 2], "content": content} for n, content in enumerate(contents)]


def rows(folder: Path, *data: dict[str, Any]) -> Any:
    for name in ("a.png", "b.png"):
        (folder / name).write_bytes(image_bytes("PNG", ord(name[0])))
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in data), encoding="utf-8")
    return read(folder / "t.jsonl", "trl")


@given(dialogs(), COLUMNS)
def test_dialogs_come_back_from_json_lines(record: Record, columns: str | None) -> None:
    back, losses = there_and_back(record, "trl", "t.jsonl", columns=columns)
    assert losses == []
    assert content(back) == content(record)


@given(dialogs(alternate=False, fields=False, message_fields=False), st.just(None))
def test_dialogs_come_back_from_parquet(record: Record, columns: str | None) -> None:
    back, losses = there_and_back(record, "trl", "t.parquet", columns=columns)
    assert losses == []
    assert content(back) == content(record)


@pytest.mark.parametrize(
    ("row", "parts"),
    [
        ({"messages": said([words("See "), IMAGE_DATA], "A"), "images": ["a.png"]}, (TEXT("See "), IMAGE)),
        ({"messages": said("Q", "A"), "images": ["a.png", "b.png"]}, (IMAGE, IMAGE, TEXT("Q"))),
        ({"messages": said("Q", "A"), "image": "a.png"}, (IMAGE, TEXT("Q"))),
        ({"messages": said("Q", "A"), "images": []}, (TEXT("Q"),)),
        ({"prompt": "Q", "completion": "A", "images": ["a.png"]}, (IMAGE, TEXT("Q"))),
        ({"prompt": said([IMAGE_DATA, words("Q")]), "completion": [said("", "A")[1]], "image": "a.png"},
         (IMAGE, TEXT("Q"))),
        ({"messages": said([{**IMAGE_DATA, "image": "a.png"}, words("Q")], "A")}, (IMAGE, TEXT("Q"))),
        ({"messages": said([{**IMAGE_DATA, "image": None, "text": None}, words("Q")], "A"), "images": ["a.png"]},
         (IMAGE, TEXT("Q"))),
        ({"messages": said([words(r"<\image>")], "A"), "images": []}, (TEXT("<image>"),)),
    ],
)  # fmt: skip
def test_every_way_to_say_it_is_read(row: dict, parts: tuple[Part, ...], tmp_path: Path) -> None:
    (record,) = rows(tmp_path, row)
    assert record.messages[0].content == parts
    assert record.messages[1].content == (TEXT("A"),)
    assert [image.name for image in record.images] == ["a.png", "b.png"][: parts.count(IMAGE)]
    assert guess(tmp_path / "t.jsonl")[0] == "trl"


def test_own_images_and_those_of_the_row_keep_their_order(tmp_path: Path) -> None:
    row = {"messages": said([{**IMAGE_DATA, "image": "b.png"}, IMAGE_DATA], "A"), "images": ["a.png"]}
    (record,) = rows(tmp_path, row)
    assert [(image.name, image.slot) for image in record.images] == [("b.png", 1), ("a.png", 2)]


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ({"messages": said([IMAGE_DATA, IMAGE_DATA], "A"), "images": ["a.png"]}, "placeholder.count"),
        ({"messages": said([words("Q")], "A"), "images": ["a.png"]}, "placeholder.count"),
        ({"messages": said([IMAGE_DATA], "A"), "images": []}, "placeholder.count"),
        ({"messages": [{"role": "assistant", "content": "A"}], "images": ["a.png"]}, "placeholder.count"),
        ({"messages": said([{"type": "video"}], "A")}, "media.unsupported"),
        ({"messages": [{"role": "tool", "content": "4"}]}, "media.unsupported"),
        ({"messages": [{"role": "assistant", "content": "", "tool_calls": [1]}]}, "media.unsupported"),
        ({"messages": said([{"type": "image", "text": "a cat"}], "A"), "images": ["a.png"]}, "messages.part"),
        ({"messages": said([3], "A")}, "messages.part"),
        ({"messages": said(None, "A")}, "messages.content"),
        ({"images": ["a.png"]}, "messages.missing"),
    ],
)
def test_a_bad_row_is_refused(row: dict, code: str, tmp_path: Path) -> None:
    records = rows(tmp_path, row, {"messages": said("Q", "A")})
    assert len(list(records)) == 1
    assert records.rejects[0].code == code


def test_a_schema_of_all_parts_filled_with_nulls_is_read(tmp_path: Path) -> None:
    part = pa.struct([("type", pa.string()), ("text", pa.string()), ("image", IMAGE_TYPE)])
    turn = pa.struct([("role", pa.string()), ("content", pa.list_(part))])
    schema = pa.schema(
        [("image", IMAGE_TYPE), ("messages", pa.list_(turn)), ("thumbnail", pa.binary()), ("digest", pa.binary())]
    )
    row = {
        "image": {"bytes": image_bytes("PNG"), "path": "x.png"},
        "messages": said([IMAGE_DATA, words("Q")], [words("A")]),
        "thumbnail": image_bytes("JPEG"),
        "digest": b"x",
    }
    pq.write_table(pa.Table.from_pylist([row], schema=schema), tmp_path / "t.parquet")
    assert guess(tmp_path / "t.parquet")[0] == "trl"
    records = read(tmp_path / "t.parquet")
    (record,) = records
    assert record.messages[0].content == (IMAGE, TEXT("Q"))
    assert record.extra == {"digest": "eA=="}
    assert any("thumbnail" in warning for warning in records.warnings)


@pytest.mark.parametrize("columns", [None, "prompt-completion"])
def test_written_parts_have_two_keys_and_images_open(columns: str | None, tmp_path: Path) -> None:
    source = rows(tmp_path, {"id": 7, "messages": said("Q", "A"), "images": ["a.png"]}, {"messages": said("2?", "4")})
    assert write(source, Target(tmp_path / "o.parquet", columns=columns), "trl") == []
    loaded = datasets.load_dataset("parquet", data_files=str(tmp_path / "o.parquet"), split="train")
    assert loaded["id"][:] == ["7", None]
    assert loaded[0]["images"][0].size == (3, 2)
    assert loaded[1]["images"] == []
    assert loaded[0]["prompt" if columns else "messages"][0]["content"] == [{"type": "image", "text": ""}, words("Q")]
    assert ("messages" in loaded.column_names) == (columns is None)
    assert [record.messages for record in read(tmp_path / "o.parquet")] == [record.messages for record in source]


def test_json_lines_hold_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = rows(tmp_path, {"messages": said("Q", "A"), "images": ["a.png"]})
    write(source, Target(tmp_path / "o.jsonl"), "trl")
    monkeypatch.chdir(tmp_path)
    loaded = datasets.load_dataset("json", data_files="o.jsonl", split="train")
    loaded = loaded.cast_column("images", datasets.List(datasets.Image()))
    assert loaded[0]["images"][0].size == (3, 2)


def test_fields_without_a_column_are_told(tmp_path: Path) -> None:
    messages = said("Q", "A")
    messages[0]["name"] = "Ann"
    source = list(rows(tmp_path, {"messages": messages, "images": [], "score": 3}))
    losses = write(source, Target(tmp_path / "o.parquet"), "trl")
    assert {loss.field for loss in losses} == {"score", "messages_extra"}
    assert write(source, Target(tmp_path / "o.jsonl"), "trl") == []


def test_unknown_columns_are_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="prompt-completion"):
        write([], Target(tmp_path / "t.parquet", columns="grpo"), "trl")
