"""Alpaca data: instruction, input and output, with history, system and images."""

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
from mmconvert.core.record import IMAGE_TYPE, Part, Record, Turn
from mmconvert.formats.alpaca import FORMAT
from mmconvert.io.detect import UnknownFormatError, guess, sample
from mmconvert.pipeline.convert import ReadOptions, WriteOptions, convert, read, write
from mmconvert.pipeline.inputs import Input
from mmconvert.plugins.format import Target
from support.dialogs import content, dialogs, there_and_back
from support.records import image_bytes

TEXT, IMAGE = (lambda text: Part("text", text)), Part("image")


def said(*texts: str) -> tuple[Turn, ...]:
    return tuple(Turn(("user", "assistant")[n % 2], (TEXT(text),)) for n, text in enumerate(texts))


def rows(folder: Path, *data: dict[str, Any]) -> Any:
    (folder / "a.png").write_bytes(image_bytes("PNG"))
    path = folder / "train.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return read(path, "alpaca")


@given(dialogs(message_fields=False).filter(lambda one: has_texts(one)), st.sampled_from(["t.json", "t.jsonl"]))
def test_dialogs_come_back(record: Record, file: str) -> None:
    back, losses = there_and_back(record, "alpaca", file)
    assert losses == []
    assert content(back) == content(record)


def has_texts(record: Record) -> bool:
    """Tell a dialog whose last reply says something, and whose system turn, where it has one, is a text."""
    first, last = record.messages[0], record.messages[-1]
    system = first.role == "system"
    return (not system or (first.content != (TEXT(""),) and IMAGE not in first.content)) and last.content != (TEXT(""),)


@pytest.mark.parametrize(
    ("row", "turns"),
    [
        ({"instruction": "I", "input": "more", "output": "O"}, said("I\nmore", "O")),
        ({"instruction": "I", "input": "", "output": "O"}, said("I", "O")),
        ({"instruction": "", "input": "more", "output": "O"}, said("more", "O")),
        ({"instruction": "I", "input": None, "output": "O", "history": None}, said("I", "O")),
        ({"instruction": "I", "output": "O", "history": [["q", "a"], ["r", "b"]]}, said("q", "a", "r", "b", "I", "O")),
        ({"instruction": "I", "output": "O", "history": "[['q', 'a']]"}, said("q", "a", "I", "O")),
        ({"instruction": "I", "output": "O", "system": "S"}, (Turn("system", (TEXT("S"),)), *said("I", "O"))),
    ],
)
def test_a_row_is_a_dialog(row: dict, turns: tuple[Turn, ...], tmp_path: Path) -> None:
    records = rows(tmp_path, row)
    (record,) = records
    assert record.messages == turns
    assert record.task == "chat"
    assert not records.warnings


@pytest.mark.parametrize("more", [{}, {"output": ""}, {"output": None}, {"output": []}])
def test_a_row_without_an_output_is_a_prompt(more: dict, tmp_path: Path) -> None:
    records = rows(tmp_path, {"instruction": "I", "input": "", **more})
    (record,) = records
    assert (record.messages, record.task) == (said("I"), "vqa")
    assert list(records.warnings.values()) == [1]
    assert "'output'" in next(iter(records.warnings))


def test_of_several_outputs_the_first_is_learnt_and_all_are_kept(tmp_path: Path) -> None:
    records = rows(tmp_path, {"instruction": "I", "input": "", "output": ["a", "b"]})
    (record,) = records
    assert record.messages == said("I", "a")
    assert record.extra == {"output": ["a", "b"]}
    assert list(records.warnings.values()) == [1]


def test_images_stand_at_their_markers_and_the_others_in_front(tmp_path: Path) -> None:
    records = rows(
        tmp_path,
        {"instruction": "see <image>", "input": "", "output": "O", "images": "a.png"},
        {"instruction": "I", "output": "O<image>", "history": [["q", "a"]], "images": ["a.png", "a.png"]},
    )
    first, second = records
    assert first.messages[0].content == (TEXT("see "), IMAGE)
    assert second.messages[0].content == (IMAGE, TEXT("q"))
    assert second.messages[3].content == (TEXT("O"), IMAGE)
    assert list(records.warnings.values()) == [1]


@pytest.mark.parametrize(
    ("row", "code", "field"),
    [
        ({"instruction": "<image>I", "output": "O"}, "placeholder.count", "images"),
        ({"instruction": "I", "output": "O", "videos": ["a.mp4"]}, "media.unsupported", "videos"),
        ({"instruction": "<audio>I", "output": "O"}, "media.unsupported", "instruction"),
        ({"instruction": "I", "output": 5}, "messages.content", "output"),
        ({"instruction": 5, "output": "O"}, "messages.content", "instruction"),
        ({"instruction": "I", "input": ["x"], "output": "O"}, "messages.content", "input"),
        ({"output": "O"}, "messages.missing", "instruction"),
        ({"instruction": "I", "output": "O", "history": [["q"]]}, "history.type", "history[0]"),
        ({"instruction": "I", "output": "O", "history": "q"}, "history.type", "history"),
        ({"instruction": "I", "output": "O", "history": "[['q', 'a'"}, "history.type", "history"),
        ({"instruction": "I", "output": "O", "history": "['q', a]"}, "list.syntax", "history"),
        ({"instruction": "I", "output": "O", "history": [["q", None]]}, "messages.content", "history[0][1]"),
        ({"instruction": "I", "output": "O", "system": 3}, "messages.content", "system"),
    ],
)
def test_a_bad_row_is_refused(row: dict, code: str, field: str, tmp_path: Path) -> None:
    records = rows(tmp_path, row, {"instruction": "I", "output": "O"})
    assert len(list(records)) == 1
    assert (records.rejects[0].code, records.rejects[0].field) == (code, field)


def test_a_table_holds_lists_as_text(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(image_bytes("PNG"))
    file = tmp_path / "t.csv"
    file.write_text(
        "instruction,input,output,history,images\n"
        "I,,O,\"[['q', '<image>a']]\",\"['a.png']\"\n"
        "I,more,O,[],\n"
        "I,more,O,,a.png\n"
    )
    assert guess(file)[0] == "alpaca"
    first, second, third = read(file)
    assert first.messages == (
        *said("q"),
        Turn("assistant", (IMAGE, TEXT("a"))),
        *said("I", "O"),
    )
    assert second.messages == said("I\nmore", "O")
    assert third.messages[0].content == (IMAGE, TEXT("I\nmore"))


def test_parquet_holds_images(tmp_path: Path) -> None:
    schema = pa.schema(
        [
            ("instruction", pa.string()),
            ("input", pa.string()),
            ("output", pa.string()),
            ("history", pa.list_(pa.list_(pa.string()))),
            ("images", pa.list_(IMAGE_TYPE)),
        ]
    )
    row = {
        "instruction": "<image>I",
        "output": "O",
        "history": [["q", "a"]],
        "images": [{"bytes": image_bytes("PNG"), "path": "1.png"}],
    }
    pq.write_table(pa.Table.from_pylist([row], schema=schema), tmp_path / "t.parquet")
    assert guess(tmp_path / "t.parquet")[0] == "alpaca"
    (record,) = read(tmp_path / "t.parquet")
    assert record.images[0].bytes == image_bytes("PNG")
    assert len(record.messages) == 4


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"instruction": "I", "input": "", "output": "O"}, "alpaca"),
        ({"instruction": "I", "input": "", "output": "O", "text": "all of it"}, "alpaca"),
        ({"instruction": "I", "output": "O", "history": []}, "alpaca"),
        ({"instruction": "I", "output": "O", "system": "S"}, "alpaca"),
        ({"instruction": "I", "input": "", "output": "O", "answer": "A"}, "table"),
    ],
)
def test_a_file_is_taken_where_its_fields_are_certain(row: dict, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "f.jsonl"
    file.write_text(json.dumps(row) + "\n")
    assert guess(file)[0] == expected


@pytest.mark.parametrize("more", [{}, {"image": "a.png"}, {"id": "1"}])
def test_instruction_and_output_alone_are_asked_about(more: dict, tmp_path: Path) -> None:
    file = tmp_path / "f.jsonl"
    file.write_text(json.dumps({"instruction": "I", "output": "O", **more}) + "\n")
    with pytest.raises(UnknownFormatError, match=r"--map response=output.*--format alpaca reads them as training data"):
        guess(file)


@pytest.mark.parametrize("more", [{"chosen": "a", "rejected": "b"}, {"kto_tag": True}])
def test_preferences_are_no_alpaca(more: dict, tmp_path: Path) -> None:
    file = tmp_path / "f.jsonl"
    file.write_text(json.dumps({"instruction": "I", "input": "", "output": "O", **more}) + "\n")
    assert FORMAT.mismatch(sample(file)) == f"it has a field {next(iter(more))!r}"


def test_the_file_has_its_entry_in_dataset_info(tmp_path: Path) -> None:
    source = list(rows(tmp_path, {"instruction": "I", "input": "", "output": "O"}))
    assert write(source, Target(tmp_path / "mine.jsonl"), "alpaca") == []
    entry = json.loads((tmp_path / "dataset_info.json").read_text())["mine"]
    assert (entry["file_name"], entry["formatting"]) == ("mine.jsonl", "alpaca")
    written = json.loads((tmp_path / "mine.jsonl").read_text())
    assert set(entry["columns"].values()) == written.keys()


@pytest.mark.parametrize(
    ("turns", "words"),
    [
        (said("Q", "A", "Q"), "neither an assistant's turn nor an answer"),
        ((*said("Q"), *said("Q", "A")), "alternate user, assistant"),
        (said("Q", ""), "the last response is empty"),
        ((Turn("system", (IMAGE,)), *said("Q", "A")), "an image is in the system turn"),
        ((Turn("tool", (TEXT("x"),)), *said("Q", "A")), "without tool turns"),
    ],
)
def test_turns_that_do_not_fit_are_left_out_by_name(turns: tuple[Turn, ...], words: str, tmp_path: Path) -> None:
    (record,) = rows(tmp_path, {"instruction": "<image>I", "output": "O", "images": ["a.png"]})
    count = sum(part.type == "image" for turn in turns for part in turn.content)
    odd = Record("x", "x", turns, "chat", record.source, images=record.images[:count])
    (loss,) = write([odd], Target(tmp_path / "t.json"), "alpaca")
    assert loss.left_out
    assert words in loss.message
    assert json.loads((tmp_path / "t.json").read_text()) == []


def test_fields_of_a_message_are_named_as_lost(tmp_path: Path) -> None:
    (record,) = rows(tmp_path, {"instruction": "I", "input": "", "output": "O"})
    odd = Record("x", "x", record.messages, "chat", record.source, extra={"messages_extra": [{}, {"loss": False}]})
    assert [loss.field for loss in write([odd], Target(tmp_path / "t.json"), "alpaca")] == ["loss"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_tables_are_only_read(suffix: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        write([], Target(tmp_path / f"t{suffix}"), "alpaca")


def test_llama_factorys_own_demo_converts_whole(shared: Path, tmp_path: Path) -> None:
    file = shared / "real/field/llamafactory/data/alpaca_images.json"
    summary = convert([Input(file)], tmp_path / "out", ReadOptions(decode=True), WriteOptions())
    assert (summary.rows_written, summary.rows_rejected, summary.images) == (3, 0, 3)
    loaded = datasets.load_dataset(str(tmp_path / "out"), split="test")
    assert [part["type"] for part in loaded[0]["messages"][0]["content"]] == ["image", "text"]
    back = tmp_path / "back/alpaca_images.json"
    back.parent.mkdir()
    assert write(read(tmp_path / "out"), Target(back, "original"), "alpaca") == []
    assert [content(record) for record in read(back)] == [content(record) for record in read(file)]
