"""verl's RL prompts: the columns as its own example writes them, and the way back."""

import json
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from mmconvert.core.record import Part, Preference, Record, Source, Turn
from mmconvert.io.detect import guess
from mmconvert.pipeline.convert import read, write
from mmconvert.plugins.format import Target
from support.records import checked

IMAGE = checked("PNG", 1, 1)


def turn(role: str, *parts: str | Part) -> Turn:
    return Turn(role, tuple(Part("text", part) if isinstance(part, str) else part for part in parts))


ASKED = Record(
    "q1", "q1", (turn("system", "Be short."), turn("user", Part("image"), "Which <image> tag?")), "multiple_choice",
    Source("f", "f", 0), (IMAGE,), question="Which tag?", options=("a", "b"), answer="B", answers=("B",), label='"B"',
    dataset="tags", category="html", split="train",
)  # fmt: skip


def written(folder: Path, *records: Record) -> tuple[list[dict[str, Any]], list[tuple[str, str, bool]]]:
    losses = write(records, Target(folder / "v.parquet"), "verl")
    rows = pq.read_table(folder / "v.parquet").to_pylist()
    return rows, [(loss.id, loss.field, loss.left_out) for loss in losses]


def test_the_columns_are_those_of_verl(tmp_path: Path) -> None:
    rows, losses = written(tmp_path, ASKED)
    (row,) = rows
    assert list(row) == ["data_source", "prompt", "images", "ability", "reward_model", "extra_info"]
    assert row["prompt"] == [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "<image>Which <\\image> tag?"},
    ]
    assert row["images"] == [{"bytes": IMAGE.bytes, "path": None}]
    assert (row["data_source"], row["ability"]) == ("tags", "html")
    assert row["reward_model"] == {"style": "rule", "ground_truth": "B"}
    info = row["extra_info"]
    assert (info["split"], info["index"], info["answer"], info["question"]) == ("train", 0, "B", "Which tag?")
    assert info["options"] == '["a","b"]'
    assert losses == []
    data = datasets.load_dataset("parquet", data_files=str(tmp_path / "v.parquet"), split="train")
    assert data.features["images"] == datasets.List(datasets.Image())
    assert data[0]["images"][0].size == (IMAGE.width, IMAGE.height)


def test_a_prompt_comes_back(tmp_path: Path) -> None:
    open_one = replace(ASKED, id="q2", sample="q2", task="vqa", options=(), answer="a", answers=("a", "b"), label=None)
    written(tmp_path, ASKED, open_one)
    assert guess(tmp_path / "v.parquet")[0] == "verl"
    first, second = read(tmp_path / "v.parquet", "verl")
    for back, record in ((first, ASKED), (second, open_one)):
        names = ("id", "messages", "task", "question", "options", "answer", "answers", "dataset", "category", "split")
        assert [getattr(back, name) for name in names] == [getattr(record, name) for name in names]
        assert [image.sha256 for image in back.images] == [IMAGE.sha256]
        assert back.source.numbered is False
        assert back.extra == {}


def test_options_of_the_user_stay_what_they_are(tmp_path: Path) -> None:
    info = {"options": "low, high"}
    row = {"data_source": "d", "prompt": [{"role": "user", "content": "Q"}], "reward_model": {"ground_truth": "4"}}
    (tmp_path / "v.jsonl").write_text(json.dumps(row | {"extra_info": info}), encoding="utf-8")
    (record,) = read(tmp_path / "v.jsonl", "verl")
    assert (record.options, record.extra) == ((), {"extra_info": info})


def test_a_response_is_the_reference_and_rows_without_one_are_left_out(tmp_path: Path) -> None:
    talk = Record("1", "1", (turn("user", "Q"), turn("assistant", "A")), "chat", Source("f", "f", 0))
    silent = replace(talk, id="2", messages=talk.messages[:1])
    address = replace(ASKED, id="3", images=(replace(IMAGE, bytes=None, url="https://x.example/a.png"),))
    sides = Preference((turn("assistant", "C"),), (turn("assistant", "D"),))
    pair = replace(talk, id="4", sample="4", messages=talk.messages[:1], preference=sides)
    tool = replace(talk, id="5", messages=(turn("tool", "x"), turn("user", "Q"), turn("assistant", "A")))
    rows, losses = written(tmp_path, talk, silent, address, pair, tool)
    assert [row["reward_model"]["ground_truth"] for row in rows] == ["A", "C"]
    assert [row["extra_info"]["index"] for row in rows] == [0, 1]
    assert [(id, field) for id, field, left_out in losses if left_out] == [
        ("2", "answer"), ("3", "images"), ("5", "messages"),
    ]  # fmt: skip
    assert ("4", "preference", False) in losses


def test_rows_of_its_own_examples_are_read(tmp_path: Path) -> None:
    row = {
        "data_source": "hiyouga/geometry3k",
        "prompt": [{"role": "user", "content": "Find x."}],
        "images": [],
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": "3"},
        "extra_info": {"split": "train", "index": 5, "answer": "3", "question": "Find x."},
    }
    many = row | {"reward_model": {"style": "model", "ground_truth": "4"}, "extra_info": None}
    pq.write_table(pa.Table.from_pylist([row, many]), tmp_path / "v.parquet")
    first, second = read(tmp_path / "v.parquet", "verl")
    assert (first.dataset, first.category, first.split, first.answers) == (
        "hiyouga/geometry3k",
        "math",
        "train",
        ("3",),
    )
    assert (first.extra, first.source.numbered) == ({"extra_info": {"index": 5}}, True)
    assert second.extra == {"reward_style": "model"}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"reward_model": None}, "answer.type"),
        ({"prompt": [{"role": "user", "content": "<image>"}]}, "placeholder.count"),
        ({"prompt": [{"role": "user", "content": "<video>"}]}, "media.unsupported"),
        ({"prompt": []}, "messages.missing"),
    ],
)
def test_what_is_refused(change: dict[str, Any], code: str, tmp_path: Path) -> None:
    good = {"data_source": "d", "prompt": [{"role": "user", "content": "Q"}], "reward_model": {"ground_truth": "3"}}
    pq.write_table(pa.Table.from_pylist([good, good | change]), tmp_path / "v.parquet")
    records = read(tmp_path / "v.parquet", "verl")
    assert len(list(records)) == 1
    assert [reject.code for reject in records.rejects] == [code]
