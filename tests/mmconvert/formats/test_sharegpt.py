"""LLaMA-Factory's ShareGPT form and its dataset_info.json."""

import json
import re
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import Error, UsageError
from mmconvert.core.record import IMAGE_TYPE, Part, Record, Turn
from mmconvert.io.detect import guess
from mmconvert.pipeline.convert import ReadOptions, WriteOptions, convert, read, write
from mmconvert.pipeline.inputs import Input
from mmconvert.plugins.format import Target
from support.dialogs import content, dialogs, there_and_back
from support.records import image_bytes


def said(*texts: str) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]


def rows(folder: Path, *data: dict[str, Any]) -> Any:
    (folder / "a.png").write_bytes(image_bytes("PNG"))
    path = folder / "train.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return read(path, "sharegpt")


@given(dialogs(), st.sampled_from([None, "conversations"]), st.sampled_from(["t.json", "t.jsonl"]))
def test_dialogs_come_back(record: Record, columns: str | None, file: str) -> None:
    back, losses = there_and_back(record, "sharegpt", file, columns=columns)
    assert losses == []
    assert content(back) == content(record)


def test_llama_factorys_own_demo_converts_whole(shared: Path, tmp_path: Path) -> None:
    file = shared / "real/training_demos/llamafactory/mllm_demo.json"
    assert guess(file)[0] == "sharegpt"
    summary = convert([Input(file)], tmp_path / "out", ReadOptions(decode=True), WriteOptions())
    assert (summary.rows_written, summary.rows_rejected, summary.images) == (6, 0, 8)
    loaded = datasets.load_dataset(str(tmp_path / "out"), split="test")
    assert loaded[0]["messages"][0] == {
        "role": "user",
        "content": [{"type": "image", "text": ""}, {"type": "text", "text": "Who are they?"}],
    }
    assert loaded[0]["messages"][2]["content"][1] == {"type": "image", "text": ""}
    back = tmp_path / "back/mllm_demo.json"
    back.parent.mkdir()
    assert write(read(tmp_path / "out"), Target(back, "original"), "sharegpt") == []
    assert [content(record) for record in read(back)] == [content(record) for record in read(file)]
    assert json.loads(back.read_text()) == json.loads(file.read_text())


@pytest.mark.parametrize(
    ("row", "code", "words"),
    [
        ({"messages": said("<image><image>Q", "A"), "images": ["a.png"]}, "placeholder.count", "show 2 .* has 1"),
        ({"messages": said("<image>Q", "A"), "images": ["a.png", None]}, "placeholder.count", "show 1 .* has 2"),
        ({"messages": said("<image>Q", "A"), "images": [None]}, "image.type", "images.0.: expected a path"),
        ({"messages": said("<video>Q", "A")}, "media.unsupported", "<video>"),
        ({"messages": said("Q", "A"), "videos": ["a.mp4"]}, "media.unsupported", "videos"),
        ({"messages": [{"role": "observation", "content": "x"}]}, "media.unsupported", "tool"),
        ({"messages": said("Q", "A"), "system": 3}, "messages.content", "system"),
    ],
)
def test_a_bad_row_is_refused(row: dict, code: str, words: str, tmp_path: Path) -> None:
    records = rows(tmp_path, row, {"messages": said("Q", "A"), "videos": []})
    assert len(list(records)) == 1
    assert records.rejects[0].code == code
    assert re.search(words, str(records.rejects[0]))


def test_the_system_field_is_a_turn(tmp_path: Path) -> None:
    (record,) = rows(tmp_path, {"conversations": [{"from": "human", "value": "Q"}], "system": "Be short."})
    assert record.messages == (Turn("system", (Part("text", "Be short."),)), Turn("user", (Part("text", "Q"),)))


def test_images_may_stand_in_parquet(tmp_path: Path) -> None:
    message = pa.struct([("role", pa.string()), ("content", pa.string())])
    schema = pa.schema([("messages", pa.list_(message)), ("images", pa.list_(IMAGE_TYPE))])
    row = {"messages": said("<image>Q", "A"), "images": [{"bytes": image_bytes("PNG"), "path": "1.png"}]}
    pq.write_table(pa.Table.from_pylist([row], schema=schema), tmp_path / "t.parquet")
    assert guess(tmp_path / "t.parquet")[0] == "sharegpt"
    (record,) = read(tmp_path / "t.parquet")
    assert record.images[0].bytes == image_bytes("PNG")


def test_each_file_has_its_entry_in_dataset_info(tmp_path: Path) -> None:
    info = tmp_path / "dataset_info.json"
    info.write_text('{"other": {"file_name": "other.json"}, "mine": {"file_name": "old.json"}}', encoding="utf-8")
    source = list(rows(tmp_path, {"messages": said("Q", "A")}))
    write(source, Target(tmp_path / "mine.json"), "sharegpt")
    write(source, Target(tmp_path / "lines.jsonl", columns="conversations"), "sharegpt")
    known = json.loads(info.read_text())
    assert known["other"] == {"file_name": "other.json"}
    assert known["mine"] == {
        "file_name": "mine.json",
        "formatting": "sharegpt",
        "columns": {"messages": "messages", "images": "images"},
        "tags": {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant",
                 "system_tag": "system"},
    }  # fmt: skip
    assert known["lines"]["tags"]["user_tag"] == "human"
    assert known["lines"]["columns"]["messages"] == "conversations"


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 1, "a": 2}'])
def test_a_broken_dataset_info_stays_as_it_is(text: str, tmp_path: Path) -> None:
    (tmp_path / "dataset_info.json").write_text(text)
    source = list(rows(tmp_path, {"messages": said("Q", "A")}))
    with pytest.raises(Error, match=r"dataset_info\.json"):
        write(source, Target(tmp_path / "mine.json"), "sharegpt")
    assert (tmp_path / "dataset_info.json").read_text() == text
    assert not (tmp_path / "mine.json").exists()


def test_other_files_and_columns_are_wrong_usage(tmp_path: Path) -> None:
    for target in (Target(tmp_path / "t.parquet"), Target(tmp_path / "t.json", columns="alpaca")):
        with pytest.raises(UsageError):
            write([], target, "sharegpt")


def test_turns_that_do_not_alternate_are_left_out(tmp_path: Path) -> None:
    (record,) = rows(tmp_path, {"messages": [*said("Q"), *said("Q", "A")]})
    (loss,) = write([record], Target(tmp_path / "t.json"), "sharegpt")
    assert "alternate user, assistant, but are user, user, assistant" in loss.message
    assert json.loads((tmp_path / "t.json").read_text()) == []
