"""ms-swift training data."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from mmconvert.core.record import Part, Record
from mmconvert.pipeline.convert import read, write
from mmconvert.plugins.format import Target
from support.dialogs import content, dialogs, there_and_back
from support.records import picture_bytes

TEXT, IMAGE = (lambda text: Part("text", text)), Part("image")


def said(*texts: str) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]


def rows(folder: Path, *data: dict[str, Any]) -> Any:
    (folder / "a.png").write_bytes(picture_bytes("PNG"))
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in data), encoding="utf-8")
    return read(folder / "t.jsonl", "ms_swift")


@given(dialogs(alternate=False))
def test_dialogs_come_back(record: Record) -> None:
    back, losses = there_and_back(record, "ms_swift", "t.jsonl")
    assert losses == []
    assert content(back) == content(record)


def test_fields_that_ms_swift_knows_are_kept(tmp_path: Path) -> None:
    row = {
        "messages": [*said("<image>Find <ref-object>."), {"role": "assistant", "content": "<bbox>", "loss": False}],
        "images": ["a.png"],
        "objects": {"ref": ["dog"], "bbox": [[1, 2, 3, 4]]},
        "rejected_response": "no",
        "label": True,
    }
    source = rows(tmp_path, row)
    assert write(source, Target(tmp_path / "back.jsonl", "original", tmp_path), "ms_swift") == []
    assert json.loads((tmp_path / "back.jsonl").read_text()) == row


def test_pictures_without_a_marker_stand_in_front_as_ms_swift_puts_them(tmp_path: Path) -> None:
    system = {"role": "system", "content": "Be short."}
    records = rows(tmp_path, {"messages": [system, *said("Q", "A")], "image": "a.png"})
    (record,) = records
    assert record.messages[1].content == (IMAGE, TEXT("Q"))
    assert list(records.warnings.values()) == [1]


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ({"messages": said("<image><image>Q", "A"), "images": ["a.png"]}, "placeholder.count"),
        ({"messages": said("<image>Q", "A"), "images": ["a.png", "a.png"]}, "placeholder.count"),
        ({"messages": said("<image>Q", "A"), "images": []}, "placeholder.count"),
        ({"messages": said("<audio>Q", "A"), "audios": ["a.wav"]}, "media.unsupported"),
        ({"messages": [{"role": "tool_call", "content": "{}"}]}, "media.unsupported"),
        ({"messages": [{"role": "assistant", "content": None}]}, "messages.content"),
    ],
)
def test_a_bad_row_is_refused(row: dict, code: str, tmp_path: Path) -> None:
    records = rows(tmp_path, row, {"messages": said("Q", "A")})
    assert len(list(records)) == 1
    assert records.rejects[0].code == code


def test_pictures_are_inline_files_or_addresses(tmp_path: Path) -> None:
    address = "https://example.org/a.png"
    rows(tmp_path, {"messages": said("<image><image>Q", "A"), "images": ["a.png", address]})
    source = read(tmp_path / "t.jsonl", "ms_swift", keep_urls=True)
    for images, folder, beginning in (("inline", None, "data:image/png;base64,"), ("files", tmp_path / "pics", "")):
        assert write(source, Target(tmp_path / "o.jsonl", images, folder), "ms_swift") == []
        first, second = json.loads((tmp_path / "o.jsonl").read_text())["images"]
        assert first.startswith(beginning)
        assert second == address
    assert (tmp_path / "pics" / first).read_bytes() == picture_bytes("PNG")
