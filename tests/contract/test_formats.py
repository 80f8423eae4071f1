"""What every format owes: example data, one schema, honest refusals, a way back, a page in the docs.

The examples are the demo's files (written by scripts/examples); what they must give stands in
tests/data/<format>/expected.jsonl (written by this file with --write-expected after a look at the change).
"""

import json
from pathlib import Path

import datasets
import pyarrow.parquet as pq
import pytest

from mmconvert.convert import ReadOptions, WriteOptions, convert, read, write
from mmconvert.errors import Error
from mmconvert.format import Format, Target
from mmconvert.guess import guess, sample
from mmconvert.inputs import Input
from mmconvert.plugins import available, load
from mmconvert.record import SCHEMA

ROOT = Path(__file__).resolve().parents[2]
FILES = ROOT / "src/mmconvert/demo/files"
EXAMPLES = {
    "openai_messages": "openai_messages/colours.jsonl",
    "vmcq": "vmcq/colours.tsv",
    "lmudata": "lmudata/Colours.tsv",
    "mmbench": "mmbench/answered.xlsx",
    "mmmu": "mmmu/validation.parquet",
    "mmmu_outputs": "mmmu_outputs",
    "mmmu_pro_outputs": "mmmu_pro_outputs/demo-1b_vision_direct.jsonl",
    "mme_results": "mme_results",
    "pope": "pope/demo-1b_coco_pope_random.json",
    "vlmevalkit_predictions": "vlmevalkit_predictions/demo-1b_SEEDBench_IMG_openai_result.xlsx",
    "evalscope_predictions": "evalscope_predictions/general_vmcq_colours.jsonl",
    "evalscope_reviews": "evalscope_reviews/general_vmcq_colours.jsonl",
    "lmms_eval_samples": "lmms_eval_samples/20260101_120000_samples_mme.jsonl",
    "hub_vqa": "hub_vqa/test.parquet",
    "predictions": "predictions/answers.jsonl",
    "mmtrust": "mmtrust/samples.json",
    "reform_eval": "reform_eval/colours.json",
    "reform_predictions": "reform_predictions/Colours_SingleChoice_generation_demo_demo-1b.json",
    "trl": "trl/train.parquet",
    "llava": "llava/train.json",
    "qwen_vl": "qwen_vl/train.json",
    "sharegpt": "sharegpt/colours.json",
    "ms_swift": "ms_swift/train.jsonl",
    "openai_finetune": "openai_finetune/train.jsonl",
    "cauldron": "cauldron/train.parquet",
    "finevision": "finevision/train.parquet",
    "mmconvert": "../../../../tests/data/mmconvert/example.parquet",
}
FORMATS = list(available("mmconvert.formats"))
WRITERS = [name for name in FORMATS if load("mmconvert.formats", name).write is not None]


def example(name: str) -> Path:
    assert name in EXAMPLES, f"format {name!r} has no example file; add one to scripts/examples and to EXAMPLES"
    return (FILES / EXAMPLES[name]).resolve()


def converted(source: Path, output: Path, format_: str) -> list[dict]:
    summary = convert([Input(source)], output, ReadOptions(format=format_, decode=True), WriteOptions())
    assert summary.rows_rejected == 0
    assert summary.rows_read > 0
    return [row for file in sorted(output.glob("data/*.parquet")) for row in pq.read_table(file).to_pylist()]


def readable(row: dict) -> dict:
    """A row as JSON: pictures stand as their digest, which image_info holds."""
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


@pytest.mark.parametrize("name", FORMATS)
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


@pytest.mark.parametrize("name", FORMATS)
def test_the_content_alone_tells_the_format(name: str) -> None:
    found, reason = guess(example(name))
    assert (found, bool(reason)) == (name, True)


@pytest.mark.parametrize("name", FORMATS)
def test_other_formats_are_refused_with_a_reason(name: str) -> None:
    plugin: Format = load("mmconvert.formats", name)
    for other in FORMATS:
        head = sample(example(other))
        if other != name and head.suffix in plugin.suffixes:
            assert plugin.mismatch(head), f"{name} takes the example of {other}"


def target_of(name: str, path: Path) -> Target:
    """Ask for the source's own names of pictures where the format can store them so."""
    ways = load("mmconvert.formats", name).images
    ways = ways.get(path.suffix, ()) if isinstance(ways, dict) else ways
    return Target(path, "original", path.parent) if "original" in ways else Target(path)


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_written_reads_back_equal(name: str, tmp_path: Path) -> None:
    source = example(name)
    first = converted(source, tmp_path / "first", name)
    target = tmp_path / "back" / source.name
    target.parent.mkdir()
    losses = write(read(tmp_path / "first"), target_of(name, target), name)
    second = converted(target, tmp_path / "second", name)
    lost = {loss.field for loss in losses}
    lost |= {"answers", "label"} if "answer" in lost else set()
    for before, after in zip(first, second, strict=True):
        for row in (before, after):
            row.pop("source")
            row["extra"] = json.loads(row["extra"])
            for field in lost & row["extra"].keys():
                row["extra"].pop(field)
        assert {k: v for k, v in after.items() if k not in lost} == {k: v for k, v in before.items() if k not in lost}


@pytest.mark.parametrize("name", FORMATS)
def test_an_empty_file_is_one_clear_error(name: str, tmp_path: Path) -> None:
    plugin: Format = load("mmconvert.formats", name)
    for suffix in plugin.suffixes:
        if suffix:
            empty = tmp_path / f"empty{suffix}"
            empty.touch()
            with pytest.raises(Error, match=empty.name):
                list(read(empty, name))


@pytest.mark.parametrize("name", FORMATS)
def test_the_format_is_documented(name: str) -> None:
    assert f"`{name}`" in (ROOT / "docs/formats.md").read_text(encoding="utf-8")
    assert load("mmconvert.formats", name).summary
