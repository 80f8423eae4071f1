"""`mmconvert verify`: every byte against the manifest."""

import json
from pathlib import Path

from support.datasets_on_disk import record, write_dataset
from support.terminal import mmconvert, one_message


def test_a_whole_dataset_ends_with_0(tmp_path: Path) -> None:
    write_dataset(tmp_path / "ds", {"test": [record(1)]})
    ended = mmconvert("verify", tmp_path / "ds")
    assert (ended.code, ended.out) == (0, f"{tmp_path}/ds: every byte of every shard is as it was written.\n")


def test_a_changed_byte_ends_with_1(tmp_path: Path) -> None:
    write_dataset(tmp_path / "ds", {"test": [record(1)]})
    shard = tmp_path / "ds/data/test-00000-of-00001.parquet"
    data = bytearray(shard.read_bytes())
    data[len(data) // 2] ^= 1
    shard.write_bytes(data)
    ended = mmconvert("verify", tmp_path / "ds", "--json")
    found = json.loads(ended.out)
    assert ended.code == 1
    assert found["dataset"] == str(tmp_path / "ds")
    assert found["faults"] == [f"{shard}: its sha256 differs from the manifest: a byte has changed."]


def test_what_is_no_dataset_is_one_message(tmp_path: Path) -> None:
    ended = mmconvert("verify", tmp_path)
    assert ended.code == 1
    assert "it is not a dataset created by mmconvert, or is incomplete" in one_message(ended)
    ended = mmconvert("verify", tmp_path / "none")
    assert ended.code == 2
    assert "no such file or folder" in one_message(ended)
