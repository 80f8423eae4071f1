"""`verify` finds every changed byte of a dataset, wherever it is."""

import json
import random
from pathlib import Path

import pytest

from mmconvert.core.errors import Error
from mmconvert.dataset.manifest import MANIFEST
from mmconvert.dataset.verify import verify
from support.datasets_on_disk import record, write_dataset

FLIPS = 150


def _faults(folder: Path) -> list[str]:
    try:
        return verify(folder)
    except Error as error:
        return [str(error)]


@pytest.mark.slow
def test_a_single_changed_bit_is_found_wherever_it_is(tmp_path):
    folder = write_dataset(tmp_path / "d", {"train": map(record, range(40)), "test": map(record, range(5))})
    shards = sorted(folder.rglob("*.parquet"))
    assert _faults(folder) == []
    draw = random.Random(0)
    for _ in range(FLIPS):
        file = draw.choices(shards, [shard.stat().st_size for shard in shards])[0]
        whole = file.read_bytes()
        changed = bytearray(whole)
        changed[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
        file.write_bytes(changed)
        (fault,) = _faults(folder)
        assert fault.startswith(str(file))
        file.write_bytes(whole)
    assert _faults(folder) == []


@pytest.mark.parametrize("cut", [0, 1, 1000])
def test_a_file_that_was_cut_is_found(tmp_path, cut):
    folder = write_dataset(tmp_path / "d", {"test": map(record, range(5))})
    (shard,) = folder.rglob("*.parquet")
    shard.write_bytes(shard.read_bytes()[: -cut or None] if cut else b"")
    assert _faults(folder)


def test_each_shard_tells_how_much_is_done(tmp_path):
    folder = write_dataset(tmp_path / "d", {"train": map(record, range(40)), "test": map(record, range(5))})
    told = []
    verify(folder, told.append)
    assert [done.rows for done in told] == [40, 45]
    assert (told[-1].share, told[-1].bytes) == (1.0, sum(file.stat().st_size for file in folder.rglob("*.parquet")))


@pytest.mark.parametrize("promised", [4, 6])
def test_a_shard_with_more_or_fewer_rows_than_the_manifest_promises_is_found(tmp_path, promised):
    folder = write_dataset(tmp_path / "d", {"test": map(record, range(5))})
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["configs"]["default"]["test"][0]["rows"] = promised
    (folder / MANIFEST).write_text(json.dumps(manifest))
    (fault,) = verify(folder)
    assert fault.endswith(f"holds 5 rows, the manifest says {promised}.")
