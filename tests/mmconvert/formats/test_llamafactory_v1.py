"""LLaMA-Factory's v1 data: parts of a type and a value."""

import json
from pathlib import Path
from typing import Any

import pytest

from mmconvert.core.record import Part
from mmconvert.io.detect import guess
from mmconvert.pipeline.convert import read
from support.records import image_bytes

TEXT, IMAGE = (lambda text: Part("text", text)), Part("image")


def said(role: str, *parts: tuple[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": role, "content": [{"type": kind, "value": value} for kind, value in parts], **more}


def rows(folder: Path, *messages: list[dict[str, Any]], **more: Any) -> Any:
    (folder / "a.png").write_bytes(image_bytes("PNG"))
    path = folder / "t.jsonl"
    path.write_text("".join(json.dumps({"messages": one, **more}) + "\n" for one in messages), encoding="utf-8")
    return read(path, "llamafactory_v1")


def test_parts_are_texts_and_images(tmp_path: Path) -> None:
    data = [
        said("system", ("text", "S")),
        said("user", ("text", "see <image> "), ("image_url", "a.png"), ("text", "!")),
        said("assistant", ("reasoning", "R"), ("text", "A")),
    ]
    records = rows(tmp_path, data, tools="[]")
    (record,) = records
    assert [turn.content for turn in record.messages] == [
        (TEXT("S"),),
        (TEXT("see <image> "), IMAGE, TEXT("!")),
        (TEXT("<think>\nR\n</think>\n\n"), TEXT("A")),
    ]
    assert record.images[0].bytes == image_bytes("PNG")
    assert (record.task, record.extra) == ("chat", {"tools": "[]"})
    assert not records.warnings


@pytest.mark.parametrize(
    ("weights", "warned"), [((0.0, 1.0), 0), ((0, 1), 0), ((None, 1), 0), ((1.0, 1.0), 1), ((0.0, 0.5), 1), ((0, 0), 1)]
)
def test_weights_are_kept_and_unusual_ones_named(weights: tuple[Any, ...], warned: int, tmp_path: Path) -> None:
    data = [
        said("user", ("text", "Q"), loss_weight=weights[0]),
        said("assistant", ("text", "A"), loss_weight=weights[1]),
    ]
    records = rows(tmp_path, data)
    (record,) = records
    kept = [{} if weight is None else {"loss_weight": weight} for weight in weights]
    assert record.extra == {"messages_extra": kept}
    assert sum(records.warnings.values()) == warned


@pytest.mark.parametrize(
    ("message", "code", "field"),
    [
        (said("user", ("video_url", "a.mp4")), "media.unsupported", "messages[0].content[0]"),
        (said("user", ("text", "Q"), ("audio_url", "a.wav")), "media.unsupported", "messages[0].content[1]"),
        (said("assistant", ("tool_call", "{}")), "media.unsupported", "messages[0].content[0]"),
        (said("tool", ("text", "x")), "media.unsupported", "messages[0].role"),
        (said("user", ("reasoning", "R")), "messages.part", "messages[0].content[0]"),
        (said("user", ("image", "a.png")), "messages.part", "messages[0].content[0]"),
        (said("user", ("text", 3)), "messages.content", "messages[0].content[0].value"),
        (said("user", ("image_url", 3)), "image.type", "messages[0].content[0].value"),
        (said("user", ("image_url", "../x.png")), "image.path", "messages[0].content[0].value"),
        (said("user"), "messages.content", "messages[0].content"),
        ({"role": "user", "content": "Q"}, "messages.content", "messages[0].content"),
        ({"role": "user", "content": ["Q"]}, "messages.part", "messages[0].content[0]"),
        ({"role": "judge", "content": []}, "messages.role", "messages[0].role"),
    ],
)
def test_a_bad_row_is_refused(message: dict, code: str, field: str, tmp_path: Path) -> None:
    records = rows(tmp_path, [message], [said("user", ("text", "Q")), said("assistant", ("text", "A"))])
    assert len(list(records)) == 1
    assert (records.rejects[0].code, records.rejects[0].field) == (code, field)


@pytest.mark.parametrize(("name", "count"), [("v1_sft_demo.jsonl", 300), ("v1_multimodal_demo.jsonl", 24)])
def test_llama_factorys_own_files_convert_whole(name: str, count: int, shared: Path) -> None:
    file = shared / "real/field/llamafactory/data" / name
    assert guess(file)[0] == "llamafactory_v1"
    records = read(file, image_roots=(file.parent.parent,))
    assert len(list(records)) == count
    assert records.rejects == []
