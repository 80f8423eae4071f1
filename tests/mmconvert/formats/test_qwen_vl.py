"""Qwen-VL training data in both forms."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import UsageError
from mmconvert.core.record import Part, Record
from mmconvert.io.detect import guess
from mmconvert.pipeline.convert import read, write
from mmconvert.plugins.format import Target
from support.dialogs import content, dialogs, there_and_back
from support.records import image_bytes

TEXT, IMAGE = (lambda text: Part("text", text)), Part("image")


def said(*texts: str, names: tuple[str, str] = ("human", "gpt")) -> list[dict[str, str]]:
    return [{"from": names[n % 2], "value": text} for n, text in enumerate(texts)]


def inline(*texts: str) -> list[dict[str, str]]:
    return said(*texts, names=("user", "assistant"))


def rows(folder: Path, *data: dict[str, Any], file: str = "train.json") -> Any:
    for name in ("a.png", "b.png"):
        (folder / name).write_bytes(image_bytes("PNG", ord(name[0])))
    text = json.dumps(data) if file.endswith(".json") else "".join(json.dumps(row) + "\n" for row in data)
    (folder / file).write_text(text, encoding="utf-8")
    return read(folder / file, "qwen_vl")


@given(dialogs(shown_by=("user",), system=False), st.sampled_from(["t.json", "t.jsonl"]))
def test_dialogs_come_back(record: Record, file: str) -> None:
    back, losses = there_and_back(record, "qwen_vl", file)
    assert losses == []
    assert content(back) == content(record)


@given(dialogs(system=False))
def test_dialogs_come_back_from_the_first_form(record: Record) -> None:
    back, losses = there_and_back(record, "qwen_vl", "t.json", columns="v1")
    assert losses == []
    assert content(back) == content(record)


@pytest.mark.parametrize("image", ["a.png", ["a.png"]])
def test_one_image_may_stand_alone_or_in_a_list(image: Any, tmp_path: Path) -> None:
    (record,) = rows(tmp_path, {"image": image, "conversations": said("<image>\nQ", "A")}, file="t.jsonl")
    assert record.messages[0].content == (IMAGE, TEXT("Q"))


def test_what_the_assistant_writes_is_text(tmp_path: Path) -> None:
    row = {"image": ["a.png", "b.png"], "conversations": said("<image><image>Q", r"An <image> and <\image>.")}
    (record,) = rows(tmp_path, row)
    assert record.messages[1].content == (TEXT(r"An <image> and <\image>."),)
    write([record], Target(tmp_path / "back.json", "original"), "qwen_vl")
    assert json.loads((tmp_path / "back.json").read_text())[0] == {
        **row,
        "conversations": said("<image>\n<image>\nQ", r"An <image> and <\image>."),
    }


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ({"image": ["a.png"], "conversations": said("<image><image>Q", "A")}, "placeholder.count"),
        ({"image": ["a.png", "b.png"], "conversations": said("<image>Q", "<image>")}, "placeholder.count"),
        ({"video": "a.mp4", "conversations": said("<video>Q", "A")}, "media.unsupported"),
        ({"conversations": said("<video>Q", "A")}, "media.unsupported"),
        ({"conversations": inline("Picture 1: <img>c.png</img>\nQ", "A")}, "image.missing"),
        ({"conversations": inline("<img>../a.png</img>", "A")}, "image.path"),
        ({"conversations": [{"from": "user", "value": None}]}, "messages.content"),
    ],
)
def test_a_bad_row_is_refused(row: dict, code: str, tmp_path: Path) -> None:
    records = rows(tmp_path, row, {"conversations": said("Q", "A")})
    assert len(list(records)) == 1
    assert records.rejects[0].code == code


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Picture 1: <img>a.png</img>\nQ", (IMAGE, TEXT("Q"))),
        ("Picture 1: <img>a.png</img>Q", (IMAGE, TEXT("Q"))),
        ("<img>a.png</img>\nQ", (IMAGE, TEXT("\nQ"))),
        ("Picture 7: <img>a.png</img>\n", (TEXT("Picture 7: "), IMAGE, TEXT("\n"))),
        ("See <ref>it</ref><img>a.png</img>", (TEXT("See <ref>it</ref>"), IMAGE)),
        (r"The tag <\img> and <img>", (TEXT("The tag <img> and <img>"),)),
    ],
)
def test_images_stand_in_the_text_of_the_first_form(text: str, parts: tuple[Part, ...], tmp_path: Path) -> None:
    (record,) = rows(tmp_path, {"id": "identity_0", "conversations": inline(text, "A")})
    assert record.messages[0].content == parts
    assert [image.name for image in record.images] == ["a.png"] * parts.count(IMAGE)


def test_the_first_form_counts_through_the_dialog(tmp_path: Path) -> None:
    first = "Picture 1: <img>a.png</img>\nQ"
    row = {"id": "x", "conversations": inline(first, "A", "Picture 2: <img>b.png</img>\nAnd this?", "B")}
    source = rows(tmp_path, row)
    assert guess(tmp_path / "train.json")[0] == "qwen_vl"
    assert write(source, Target(tmp_path / "back.json", "original", columns="v1"), "qwen_vl") == []
    assert json.loads((tmp_path / "back.json").read_text()) == [row]


def test_lines_with_one_image_are_qwens(tmp_path: Path) -> None:
    rows(tmp_path, {"image": "a.png", "conversations": said("<image>", "A")}, file="t.jsonl")
    assert guess(tmp_path / "t.jsonl")[0] == "qwen_vl"


def test_an_image_in_an_assistants_turn_is_left_out_and_named(tmp_path: Path) -> None:
    (record,) = rows(tmp_path, {"conversations": inline("Q", "<img>a.png</img>")})
    (loss,) = write([record], Target(tmp_path / "t.json"), "qwen_vl")
    assert "assistant's turn" in loss.message
    assert write([record], Target(tmp_path / "t.json", columns="v1"), "qwen_vl") == []


def test_unknown_columns_are_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="v1"):
        write([], Target(tmp_path / "t.json", columns="v2"), "qwen_vl")


def test_packed_rows_are_conversations_each(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(image_bytes("PNG"))
    turns = [{"from": "human", "value": "<image>Q<image>"}, {"from": "gpt", "value": "A"}]
    row = {"image": ["a.png", "a.png"], "conversations": turns}
    file = tmp_path / "packed.json"
    file.write_text(json.dumps([[row, row], [row]]))
    assert guess(file)[0] == "qwen_vl"
    records = read(file)
    assert [record.id for record in records] == ["000000000", "000000001", "000000002"]
    assert ["packed into one sequence" in warning for warning in records.warnings] == [True]
