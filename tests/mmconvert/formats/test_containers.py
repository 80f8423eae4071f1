"""The same rows in other containers than the usual one, and with the small differences that people's files have."""

import json
from pathlib import Path
from typing import Any

import pytest

from mmconvert.core.errors import UsageError
from mmconvert.io.detect import guess
from mmconvert.pipeline.convert import read, write
from mmconvert.plugins.format import Target
from support.records import image_bytes

WHO, ME = {"role": "user", "content": "Who?"}, {"role": "assistant", "content": "Me."}
SEEN = {"role": "user", "content": "<image>Who?"}
YOU = {"role": "assistant", "content": "You."}
ADDRESS = {"type": "image_url", "image_url": {"url": "i.png"}}
TEXT = {"type": "text", "text": "Who?"}


def write_rows(folder: Path, name: str, row: Any) -> Path:
    (folder / "i.png").write_bytes(image_bytes("PNG"))
    path = folder / name
    path.write_text(json.dumps([row]) if name.endswith(".json") else json.dumps(row) + "\n")
    return path


@pytest.mark.parametrize(
    ("row", "format", "images"),
    [
        (
            {"messages": [{"role": "user", "content": [ADDRESS, TEXT]}, ME]},
            "openai_finetune",
            1,
        ),
        ({"messages": [{"role": "user", "content": [{"type": "image", "image": "i.png"}, TEXT]}, ME]}, "trl", 1),
        ({"messages": [WHO, ME], "image": "i.png"}, "trl", 1),
        ({"messages": [SEEN, ME], "image": "i.png"}, "ms_swift", 1),
        ({"messages": [SEEN, ME], "images": ["i.png"], "rejected_response": "You."}, "ms_swift", 1),
        (
            {"input": {"messages": [WHO]}, "preferred_output": [ME], "non_preferred_output": [YOU]},
            "openai_preference",
            0,
        ),
        (
            {"data_source": "x", "prompt": [SEEN], "images": [{"path": "i.png"}],
             "reward_model": {"style": "rule", "ground_truth": "Me."}},
            "verl",
            1,
        ),
        ({"question": "Who?", "options": ["a", "b"], "answer": "B", "image": "i.png"}, "table", 1),
        ({"question": "Who?", "options": {"A": "a", "B": "b"}, "answer": "B", "image": "i.png"}, "table", 1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_an_array_is_read_as_json_lines_are(tmp_path: Path, name: str, row: Any, format: str, images: int) -> None:
    records = read(write_rows(tmp_path, name, row))
    (record,) = records
    assert (records.format, len(record.images), records.rejects) == (format, images, [])
    assert (record.preference is not None) == bool({"rejected_response", "preferred_output"} & {*row})


@pytest.mark.parametrize("format", ["openai_finetune", "openai_preference", "verl"])
def test_an_array_is_not_written_where_a_trainer_reads_none(tmp_path: Path, format: str) -> None:
    records = read(write_rows(tmp_path, "a.json", {"messages": [SEEN, ME], "images": ["i.png"]}))
    with pytest.raises(UsageError, match=r"jsonl|parquet"):
        list(write(records, Target(tmp_path / "out.json"), format))


def test_images_that_no_marker_shows_stand_in_front(tmp_path: Path) -> None:
    records = read(write_rows(tmp_path, "a.json", {"messages": [WHO, ME], "images": ["i.png"]}))
    (record,) = records
    assert [part.type for part in record.messages[0].content] == ["image", "text"]
    assert (records.format, len(records.warnings)) == ("sharegpt", 1)


def test_sides_may_be_texts(tmp_path: Path) -> None:
    row = {"conversations": [{"from": "human", "value": "<image>Who?"}], "chosen": "Me.", "rejected": "You.",
           "images": ["i.png"]}  # fmt: skip
    (record,) = read(write_rows(tmp_path, "a.json", row))
    pair = record.preference
    assert pair is not None
    assert [turn.content[0].text for turn in (*pair.chosen, *pair.rejected)] == [
        "Me.",
        "You.",
    ]


@pytest.mark.parametrize("name", ["data", "annotations", "questions"])
def test_a_list_in_an_object_is_a_table(tmp_path: Path, name: str) -> None:
    (tmp_path / "i.png").write_bytes(image_bytes("PNG"))
    path = tmp_path / "a.json"
    rows = [{"id": n, "image": "i.png", "question": f"What is {n}?", "answer": str(n)} for n in range(10)]
    path.write_text(json.dumps({"info": {"year": 2026}, name: rows}))
    assert guess(path)[0] == "table"
    assert [(row.id, row.question, len(row.images)) for row in read(path)] == [
        (str(n), f"What is {n}?", 1) for n in range(10)
    ]
