"""EvalScope's own example files: convert, load, and go there and back unchanged."""

from collections.abc import Iterator
from pathlib import Path

import datasets
import pyarrow.parquet as pq
import pytest

from mmconvert.core.record import SCHEMA
from mmconvert.pipeline.convert import ReadOptions, WriteOptions, convert, read, write
from mmconvert.pipeline.inputs import Input
from mmconvert.plugins.format import Target

FILES = {
    "vqa/example_openai.jsonl": ("openai_messages", 5),
    "vqa/example_openai.tsv": ("openai_messages", 5),
    "vqa/example_placeholder.jsonl": ("openai_messages", 5),
    "mcq/example.jsonl": ("vmcq", 3),
    "mcq/example.tsv": ("vmcq", 3),
}


@pytest.fixture(scope="module")
def root(shared: Path) -> Iterator[Path]:
    return shared / "real/evalscope_custom_eval"


def converted(file: Path, image_root: Path, output: Path) -> list[dict]:
    summary = convert([Input(file)], output, ReadOptions(image_roots=(image_root,), decode=True), WriteOptions())
    assert summary.rows_rejected == 0
    return pq.read_table(next(output.glob("data/*.parquet"))).to_pylist()


@pytest.mark.parametrize("name", FILES)
@pytest.mark.slow
def test_converts_whole_and_loads_with_decoded_images(name: str, root: Path, tmp_path: Path) -> None:
    format_, rows = FILES[name]
    file = root / "custom_eval/multimodal" / name
    assert read(file, image_roots=(root,)).format == format_
    assert len(converted(file, root, tmp_path / "out")) == rows
    loaded = datasets.load_dataset(str(tmp_path / "out"))["test"]
    assert loaded.features.arrow_schema.equals(SCHEMA)
    for row in loaded:
        parts = [part["type"] for turn in row["messages"] for part in turn["content"]]
        assert parts.count("image") == len(row["images"]) > 0
        assert [image.size for image in row["images"]] == [(i["width"], i["height"]) for i in row["image_info"]]
    streamed = list(datasets.load_dataset(str(tmp_path / "out"), streaming=True)["test"])
    assert [row["id"] for row in streamed] == loaded["id"][:]


@pytest.mark.parametrize("images", ["inline", "files", "original"])
@pytest.mark.parametrize("name", FILES)
@pytest.mark.slow
def test_goes_back_to_its_own_format_and_returns_equal(name: str, images: str, root: Path, tmp_path: Path) -> None:
    file = root / "custom_eval/multimodal" / name
    first = converted(file, root, tmp_path / "first")
    back = tmp_path / f"back/{file.name}"
    back.parent.mkdir()
    losses = write(
        read(tmp_path / "first"),
        Target(back, images, None if images == "inline" else tmp_path / "back"),
        FILES[name][0],
    )
    assert losses == []
    second = converted(back, tmp_path / "back", tmp_path / "second")
    for row in (*first, *second):
        row.pop("source")
        for info in row["image_info"]:
            if images != "original":
                info.pop("name")
    assert second == first
