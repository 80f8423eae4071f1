"""Counts by category on the card: from their columns alone, for what stands there and what is appended."""

import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from mmconvert.core.errors import Error
from mmconvert.dataset.card import Origin
from mmconvert.dataset.dataset import DatasetWriter, open_dataset
from mmconvert.dataset.front_matter import read_front_matter
from mmconvert.dataset.manifest import MANIFEST, read_manifest
from mmconvert.dataset.shards import RecordWriter
from mmconvert.dataset.statistics import build_split_info
from support.datasets_on_disk import record


def rows(*categories: str | None):
    return (replace(record(number), category=name) for number, name in enumerate(categories))


def test_the_card_of_a_dataset_counts_its_rows_by_category(tmp_path):
    with DatasetWriter(tmp_path / "set", origin=Origin("mit")) as writer:
        writer.write(rows("cat", "dog", "cat", None))
    card = (tmp_path / "set/README.md").read_text()
    assert "### `default`, `test`" in card
    assert [line for line in card.splitlines() if line.startswith(("| category", "| task"))] == [
        "| task | vqa | 4 |",
        "| category | cat | 2 |",
        "| category | dog | 1 |",
    ]
    assert read_front_matter(card)["license"] == "mit"


def test_what_is_appended_is_counted_beside_what_stood_there(tmp_path):
    folder = tmp_path / "set"
    with DatasetWriter(folder, origin=Origin("mit")) as writer:
        writer.write(rows("cat"))
    card = folder / "README.md"
    card.write_text(card.read_text() + "By hand.\n")
    with DatasetWriter(folder, append=True) as writer:
        writer.write(rows("dog"), split="dev")
    text = card.read_text()
    assert (text.count("| category | cat | 1 |"), text.count("| category | dog | 1 |")) == (1, 1)
    assert (read_front_matter(text)["license"], text.endswith("By hand.\n")) == ("mit", True)


def test_no_image_is_read_for_the_counts(tmp_path):
    with DatasetWriter(tmp_path / "set") as writer:
        writer.write(rows("cat", "dog"))
    [shard] = (tmp_path / "set/data").iterdir()
    group = pq.ParquetFile(shard).metadata.row_group(0)
    images = next(c for c in map(group.column, range(group.num_columns)) if c.path_in_schema.endswith("bytes"))
    data = bytearray(shard.read_bytes())
    data[images.data_page_offset + images.total_compressed_size - 1] ^= 1
    shard.write_bytes(data)
    with pytest.raises(Error):
        list(open_dataset(tmp_path / "set").records())
    [known] = read_manifest(tmp_path / "set")[0]["default"]["test"]
    assert build_split_info(tmp_path / "set", "test", [known]).counts["category"] == {"cat": 1, "dog": 1}


def test_what_the_writer_counted_is_what_stands_in_the_files(tmp_path):
    writer = RecordWriter(tmp_path, "part")
    names = [*("cat", "dog", None) * 4_000, "bird"]
    for start in range(0, len(names), 1_000):
        writer.write(list(rows(*names[start : start + 1_000])))
    shards = writer.close()
    counted = build_split_info(tmp_path, "test", shards)
    assert counted.counts["category"] == {"bird": 1, "cat": 4_000, "dog": 4_000}
    assert build_split_info(tmp_path, "test", [replace(shard, counts=None) for shard in shards]) == counted
    (tmp_path / shards[0].file).unlink()
    assert build_split_info(tmp_path, "test", shards) == counted


def test_a_manifest_tells_no_counts_of_a_shard(tmp_path):
    with DatasetWriter(tmp_path / "set") as writer:
        writer.write(rows("cat"))
    manifest = tmp_path / "set" / MANIFEST
    text = manifest.read_text()
    assert '"counts"' not in text
    manifest.write_text(text.replace('"rows": 1', '"rows": 1, "counts": {"task": {"vqa": 9}}'))
    with pytest.raises(Error, match="unknown fields: counts"):
        read_manifest(tmp_path / "set")
