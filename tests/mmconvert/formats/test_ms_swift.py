"""ms-swift training data."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from mmconvert.core.errors import UsageError
from mmconvert.core.record import Part, Record, Turn
from mmconvert.io.detect import UnknownFormatError, guess
from mmconvert.pipeline.convert import read, write
from mmconvert.plugins.format import Target
from support.dialogs import content, dialogs, there_and_back
from support.records import image_bytes

TEXT, IMAGE = (lambda text: Part("text", text)), Part("image")


def said(*texts: str) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]


def rows(folder: Path, *data: dict[str, Any]) -> Any:
    (folder / "a.png").write_bytes(image_bytes("PNG"))
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


def test_images_without_a_marker_stand_in_front_as_ms_swift_puts_them(tmp_path: Path) -> None:
    system = {"role": "system", "content": "Be short."}
    records = rows(tmp_path, {"messages": [system, *said("Q", "A")], "image": "a.png"})
    (record,) = records
    assert record.messages[1].content == (IMAGE, TEXT("Q"))
    assert list(records.warnings.values()) == [1]


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ({"messages": said("<image><image>Q", "A"), "images": ["a.png"]}, "placeholder.count"),
        ({"messages": said("<image>Q", "A"), "images": []}, "placeholder.count"),
        ({"messages": said("<audio>Q", "A"), "audios": ["a.wav"]}, "media.unsupported"),
        ({"messages": [{"role": "tool_call", "content": "{}"}]}, "media.unsupported"),
        ({"messages": [{"role": "assistant", "content": None}]}, "messages.content"),
        ({"messages": []}, "messages.missing"),
        ({"images": []}, "messages.missing"),
        ({"conversation": [{"human": "Q"}]}, "messages.content"),
        ({"conversation": [{"from": "function_response", "value": "{}"}]}, "media.unsupported"),
        ({"query": "<image>Q", "response": "A"}, "placeholder.count"),
        ({"query": "<img>none.png</img>Q", "response": "A"}, "image.missing"),
        ({"query": "Q", "response": 5}, "messages.content"),
        ({"query": "Q", "response": "A", "history": [["q", "a", "b"]]}, "history.type"),
    ],
)
def test_a_bad_row_is_refused(row: dict, code: str, tmp_path: Path) -> None:
    records = rows(tmp_path, row, {"messages": said("Q", "A")})
    assert len(list(records)) == 1
    assert records.rejects[0].code == code


def test_images_beyond_the_markers_stand_in_front(tmp_path: Path) -> None:
    records = rows(tmp_path, {"messages": said("Q<image>", "A"), "images": ["a.png", "a.png"]})
    (record,) = records
    assert record.messages[0].content == (IMAGE, TEXT("Q"), IMAGE)
    assert list(records.warnings.values()) == [1]


def turns(*texts: str, system: str = "") -> tuple[Turn, ...]:
    first = (Turn("system", (TEXT(system),)),) if system else ()
    return (*first, *(Turn(("user", "assistant")[n % 2], (TEXT(text),)) for n, text in enumerate(texts)))


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"query": "Q", "response": "A", "history": [["q", "a"]]}, turns("q", "a", "Q", "A")),
        ({"query": "Q", "response": "A", "history": "[['q', 'a']]"}, turns("q", "a", "Q", "A")),
        ({"query": "Q", "response": "A", "history": [], "system": "S"}, turns("Q", "A", system="S")),
        ({"query": "Q", "response": "A", "system_prompt": "S"}, turns("Q", "A", system="S")),
        ({"query": "Q", "response": ["A", "B"]}, turns("Q", "A")),
        ({"query": "Q", "response": ["A"]}, turns("Q", "A")),
        ({"query": "Q"}, turns("Q")),
        ({"conversation": [{"human": "Q", "assistant": "A"}], "system": "S"}, turns("Q", "A", system="S")),
        ({"conversations": [{"user": "Q", "bot": "A"}, {"user": "R", "bot": "B"}]}, turns("Q", "A", "R", "B")),
        ({"conversation": [{"role": "user", "content": "Q"}, {"role": "bot", "content": "A"}]}, turns("Q", "A")),
        ({"conversations": [{"from": "human", "value": "Q"}, {"from": "gpt", "value": "A"}]}, turns("Q", "A")),
        ({"conversation": '[{"human": "Q", "assistant": "A"}]'}, turns("Q", "A")),
        ({"messages": None, "query": "Q", "response": "A"}, turns("Q", "A")),
    ],
)
def test_every_form_is_a_dialog(row: dict, expected: tuple[Turn, ...], tmp_path: Path) -> None:
    (record,) = rows(tmp_path, row)
    assert record.messages == expected


def test_fields_of_a_pair_stay_with_its_question(tmp_path: Path) -> None:
    (record,) = rows(tmp_path, {"conversation": [{"human": "Q", "assistant": "A", "loss": False}]})
    assert record.extra == {"messages_extra": [{"loss": False}, {}]}


def test_an_image_may_stand_in_a_query(tmp_path: Path) -> None:
    row = {
        "query": "<img>a.png</img>and <image> or <img>",
        "response": "A",
        "history": [["x <img>a.png</img>", "y"]],
        "images": ["a.png"],
        "system": "<img>none.png</img>",
    }
    records = rows(tmp_path, row)
    (record,) = records
    assert [turn.content for turn in record.messages] == [
        (TEXT("<img>none.png</img>"),),
        (TEXT("x "), IMAGE),
        (TEXT("y"),),
        (IMAGE, TEXT("and "), IMAGE, TEXT(" or <img>")),
        (TEXT("A"),),
    ]
    assert [image.slot for image in record.images] == [1, 2, 3]
    assert not records.warnings


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"query": "Q", "response": "A", "history": []}, "ms_swift"),
        ({"query": "Q", "response": "A", "system": "S"}, "ms_swift"),
        ({"query": "Q", "response": "A", "images": ["a.png"]}, "ms_swift"),
        ({"query": "<img>a.png</img>Q", "response": "A"}, "ms_swift"),
        ({"query": "Q", "response": "A", "system": "S", "answer": "B"}, "table"),
        ({"conversation": [{"human": "Q", "assistant": "A"}]}, "ms_swift"),
        ({"conversations": [{"human": "Q", "assistant": "A"}]}, "ms_swift"),
        ({"conversations": said("<image>Q", "A"), "image": "a.png"}, "ms_swift"),
        ({"conversations": [{"from": "human", "value": "Q"}, {"from": "gpt", "value": "A"}]}, "sharegpt"),
        ({"messages": said("<image>Q", "A"), "images": ["a.png"]}, "sharegpt"),
    ],
)
def test_a_json_array_is_taken_where_its_fields_are_certain(row: dict, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "f.json"
    file.write_text(json.dumps([row]))
    assert guess(file)[0] == expected


def test_query_and_response_alone_are_asked_about(tmp_path: Path) -> None:
    file = tmp_path / "f.csv"
    file.write_text("query,response\nQ,A\n")
    with pytest.raises(
        UnknownFormatError, match=r"--map response=response.*--format ms_swift reads them as training data"
    ):
        guess(file)
    (record,) = read(file, "ms_swift")
    assert record.messages == turns("Q", "A")


def test_only_json_lines_are_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is written to \.jsonl"):
        write([], Target(tmp_path / "t.json"), "ms_swift")


@pytest.mark.parametrize("name", ["multi_modal_1.jsonl", "multi_modal_2.jsonl", "swift_multi.jsonl", "sharegpt.jsonl"])
def test_ms_swifts_own_files_convert_whole(name: str, shared: Path) -> None:
    file = shared / "real/field/ms_swift" / name
    assert guess(file)[0] == "ms_swift"
    records = read(file, keep_urls=True)
    assert len(list(records)) == 3
    assert records.rejects == []


def test_images_are_inline_files_or_addresses(tmp_path: Path) -> None:
    address = "https://example.org/a.png"
    rows(tmp_path, {"messages": said("<image><image>Q", "A"), "images": ["a.png", address]})
    source = read(tmp_path / "t.jsonl", "ms_swift", keep_urls=True)
    for images, folder, beginning in (("inline", None, "data:image/png;base64,"), ("files", tmp_path / "pics", "")):
        assert write(source, Target(tmp_path / "o.jsonl", images, folder), "ms_swift") == []
        first, second = json.loads((tmp_path / "o.jsonl").read_text())["images"]
        assert first.startswith(beginning)
        assert second == address
    assert (tmp_path / "pics" / first).read_bytes() == image_bytes("PNG")
