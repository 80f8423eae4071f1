"""What every format owes: the contract that anybody can run, agreed example data, one schema, a page in the docs.

The examples are the demo's files (written by scripts/examples); what they must give stands in
tests/data/<format>/expected.jsonl (written by this file with --write-expected after a look at the change).
"""

import json
from pathlib import Path

import datasets
import pyarrow.parquet as pq
import pytest

from mmconvert.core.record import SCHEMA
from mmconvert.io.detect import guess
from mmconvert.pipeline.convert import ReadOptions, WriteOptions, convert
from mmconvert.pipeline.inputs import Input
from mmconvert.plugins.registry import find_plugins, load
from mmconvert.testing import run_check
from mmconvert.testing.examples import list_example_files
from mmconvert.testing.formats import CHECKS, load_subject
from support.deferred import defer

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = {**list_example_files(), "mmconvert": ROOT / "tests/data/mmconvert/example.parquet"}
FORMATS = list(find_plugins("mmconvert.formats"))


def example(name: str) -> Path:
    assert name in EXAMPLES, f"format {name!r} has no example file; add one to scripts/examples"
    return EXAMPLES[name].resolve()


def converted(source: Path, output: Path, format_: str) -> list[dict]:
    summary = convert([Input(source)], output, ReadOptions(format=format_, decode=True), WriteOptions())
    assert summary.rows_rejected == 0
    assert summary.rows_read > 0
    return [row for file in sorted(output.glob("data/*.parquet")) for row in pq.read_table(file).to_pylist()]


def readable(row: dict) -> dict:
    """A row as JSON: images stand as their digest, which image_info holds."""
    row = {**row, "images": len(row["images"]), "extra": json.loads(row["extra"])}
    row["attachments"] = [attachment["info"] for attachment in row["attachments"]]
    return {name: value for name, value in row.items() if value not in (None, [], {})}


@pytest.mark.parametrize("name", FORMATS)
def test_the_example_gives_what_was_agreed(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    rows = [readable(row) for row in converted(example(name), tmp_path / "out", name)]
    file = ROOT / f"tests/data/{name}/expected.jsonl"
    if request.config.getoption("--write-expected"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    expected = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert rows == expected


@pytest.mark.parametrize("name", defer(FORMATS, 17))
def test_the_dataset_has_the_one_schema_and_opens(name: str, tmp_path: Path) -> None:
    rows = converted(example(name), tmp_path / "out", name)
    for file in (tmp_path / "out").glob("data/*.parquet"):
        assert pq.read_schema(file).equals(SCHEMA, check_metadata=False)
    loaded = datasets.load_dataset(str(tmp_path / "out"), split="test")
    assert loaded["id"][:] == [row["id"] for row in rows]
    for row in loaded:
        parts = [part for turn in row["messages"] for part in turn["content"]]
        assert sum(part["type"] == "image" for part in parts) == len(row["images"]) == len(row["image_info"])
        assert all(part["text"] == "" for part in parts if part["type"] == "image")
        assert all(image.size[0] > 0 for image in row["images"])


@pytest.mark.parametrize("promise", CHECKS)
@pytest.mark.parametrize("name", FORMATS)
def test_it_keeps_the_promise(name: str, promise: str) -> None:
    assert not list(run_check(CHECKS, promise, load_subject(name, [example(name)])))


@pytest.mark.parametrize("name", FORMATS)
def test_the_content_alone_tells_it_from_all_others(name: str) -> None:
    found, reason = guess(example(name))
    assert (found, bool(reason)) == (name, True)


@pytest.mark.parametrize("name", FORMATS)
def test_the_format_is_documented(name: str) -> None:
    assert f"`{name}`" in (ROOT / "docs/formats.md").read_text(encoding="utf-8")
    assert load("mmconvert.formats", name).summary
