"""Data in memory are read by the same rules as files."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import PIL.Image
import pyarrow as pa
import pytest

import mmconvert
import mmscore
from mmconvert.core.errors import Error, UsageError
from support.records import image_bytes

ROWS = [
    {"image": "images/a.png", "question": "Which colour?", "answer": "red"},
    {"image": "images/b.png", "question": "Who is it?", "answer": "nobody"},
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "images").mkdir()
    for number, name in enumerate("ab"):
        (tmp_path / f"images/{name}.png").write_bytes(image_bytes("PNG", number, (9, 7)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def converted(data: Any, **options: Any) -> list[dict[str, Any]]:
    mmconvert.convert(data, "out", overwrite=True, **options)
    return [row for batch in mmconvert.open_dataset("out").batches() for row in batch.to_pylist()]


def stream() -> Iterator[dict[str, str]]:
    yield from ROWS


KINDS: dict[str, Callable[[], Any]] = {
    "list": lambda: ROWS,
    "generator": stream,
    "pandas": lambda: pd.DataFrame(ROWS),
    "table": lambda: pa.Table.from_pylist(ROWS),
    "batch": lambda: pa.RecordBatch.from_pylist(ROWS),
    "dataset": lambda: datasets.Dataset.from_list(ROWS),
    "iterable dataset": lambda: datasets.Dataset.from_list(ROWS).to_iterable_dataset(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_gives_what_a_file_of_its_rows_gives(kind: str) -> None:
    pd.DataFrame(ROWS).to_csv("rows.csv", index=False)
    names = ("id", "question", "answer", "task", "messages", "images")
    want = [{name: row[name] for name in names} for row in converted("rows.csv")]
    assert [{name: row[name] for name in names} for row in converted(KINDS[kind]())] == want


@pytest.mark.parametrize("wrap", [datasets.DatasetDict, dict])
def test_names_of_splits_become_splits(wrap: type) -> None:
    data = wrap(train=datasets.Dataset.from_list(ROWS), dev=datasets.Dataset.from_list(ROWS[:1]))
    assert mmconvert.convert(data, "out").splits == {"train": 2, "dev": 1}


def test_a_datasets_own_split_is_taken_and_the_callers_counts_before_it() -> None:
    data = datasets.Dataset.from_list(ROWS, split="train")
    assert mmconvert.convert(data, "a").splits == {"train": 2}
    assert mmconvert.convert(data, "b", split="dev").splits == {"dev": 2}


def test_images_in_memory_keep_their_pixels_and_stored_ones_their_bytes() -> None:
    stored = {"bytes": Path("images/a.png").read_bytes(), "path": None}
    kept = datasets.Dataset.from_list([{**ROWS[0], "image": stored}]).cast_column("image", datasets.Image())
    for data in (kept, kept.to_iterable_dataset()):
        assert converted(data)[0]["images"][0]["bytes"] == stored["bytes"]
    opened = PIL.Image.open("images/a.png")
    opened.putpixel((0, 0), (1, 2, 3))
    for data in ([{**ROWS[0], "image": opened}], pd.DataFrame([{**ROWS[0], "image": opened}])):
        image = PIL.Image.open(pa.BufferReader(converted(data)[0]["images"][0]["bytes"]))
        assert image.convert("RGB").tobytes() == opened.convert("RGB").tobytes()


def test_what_numpy_and_pandas_call_missing_is_missing() -> None:
    rows = [{"id": np.int64(7), "question": "Which?", "answer": "red", "note": pd.NA, "at": np.array([1, 2])}]
    (row,) = converted(rows, map=["question=question"])
    assert (row["id"], row["extra"]) == ("7", '{"at":[1,2]}')


def test_a_format_of_its_own_is_found_whatever_kind_of_file_it_has() -> None:
    message = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "images/a.png"}}]}
    turns = [{"from": "human", "value": "<image>\nWhich?"}, {"from": "gpt", "value": "Red."}]
    assert mmconvert.inspect([{"messages": [message], "answer": "red"}])[0].format == "openai_messages"
    assert mmconvert.inspect(datasets.Dataset.from_list([{"messages": [message], "answer": "red"}]))[0].rows == 1
    assert mmconvert.inspect([{"image": "images/a.png", "conversations": turns}])[0].format in ("qwen_vl", "llava")


def test_an_image_outside_the_image_root_is_not_read(tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("elsewhere") / "secret.png"
    outside.write_bytes(image_bytes("PNG", 3, (9, 9)))
    for data in (
        [{**ROWS[0], "image": str(outside)}],
        datasets.Dataset.from_list([{**ROWS[0], "image": str(outside)}]).cast_column("image", datasets.Image()),
    ):
        with pytest.raises(Error, match="image root"):
            mmconvert.convert(data, "refused")
        assert len(converted(data, image_root=outside.parent)) == 1


@pytest.mark.parametrize("data", [5, None, [], {}, [1, 2], b"rows", {"train": 5}, {3: ROWS}, [*ROWS, "x"]])
def test_what_is_no_data_is_one_message_that_says_what_is(data: Any) -> None:
    with pytest.raises(UsageError, match=r"expected|no inputs"):
        mmconvert.convert(data, "out")


def test_check_inspect_and_preview_take_data_too() -> None:
    assert mmconvert.check(ROWS).problems == []
    assert "nope.png" in mmconvert.check([{**ROWS[0], "image": "nope.png"}]).problems[0]
    assert mmconvert.inspect(pd.DataFrame(ROWS))[0].rows == 2
    assert mmconvert.preview(ROWS, "page.html").records == 2


def test_data_are_predicted_and_scored() -> None:
    mmscore.predict(ROWS, "p.parquet", backend=lambda records: ["red"] * len(records))
    assert mmscore.score("p.parquet").entries[0].metrics["accuracy"].value == 0.5
    said = [{"id": "1", "question": "?", "answer": "red", "prediction": "red"}]
    for data in (said, pd.DataFrame(said), datasets.Dataset.from_list(said)):
        assert mmscore.score(data).entries[0].metrics["accuracy"].value == 1.0


def test_a_bad_row_stops_a_prediction_by_name() -> None:
    with pytest.raises(Error, match=r"nope\.png"):
        mmscore.predict([{**ROWS[0], "image": "nope.png"}], "p.parquet", backend=lambda records: ["red"])


def test_files_in_memory_leave_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    mmconvert.convert(ROWS, "out")
    assert [*(tmp_path / "tmp").iterdir()] == []
