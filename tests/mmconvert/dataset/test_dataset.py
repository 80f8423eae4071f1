"""The store: whole or not at all, nothing lost, nothing outside its folder."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import datasets
import pyarrow.parquet as pq
import pytest

from mmconvert.core.errors import Error, UsageError
from mmconvert.core.record import SCHEMA, Record
from mmconvert.dataset.dataset import DatasetWriter, open_dataset
from mmconvert.dataset.manifest import MANIFEST, read_manifest
from mmconvert.dataset.verify import verify
from mmconvert.storage.atomic import build_temporary_path
from support.datasets_on_disk import record, write_dataset


def rows(*numbers: int) -> Iterator[Record]:
    return (record(number) for number in numbers)


def ids(folder: Path, split: str | None = None, config: str = "default") -> list[str]:
    return [r.id for r in open_dataset(folder, config).records(split)]


def hidden(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if p.name.startswith("."))


def pid_of_the_dead() -> int:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


def left_by(place: Path, pid: int, kind: str) -> Path:
    return place.with_name(f".{place.name}.{socket.gethostname()}.{pid}.{kind}{place.suffix}")


def test_records_come_back_as_they_were_written(tmp_path: Path) -> None:
    written = list(rows(1, 2, 3))
    dataset = open_dataset(write_dataset(tmp_path / "out", {"test": written}))
    assert list(dataset.records()) == written
    assert (dataset.splits, dataset.num_rows) == ({"test": 3}, 3)
    assert verify(tmp_path / "out") == []
    assert hidden(tmp_path) == []


def test_shards_have_the_one_schema_and_the_names_that_load(tmp_path: Path) -> None:
    write_dataset(tmp_path / "out", {"train": rows(1), "test": rows(2)})
    names = sorted(p.name for p in (tmp_path / "out/data").iterdir())
    assert names == ["test-00000-of-00001.parquet", "train-00000-of-00001.parquet"]
    assert all(pq.read_schema(tmp_path / "out/data" / name).equals(SCHEMA) for name in names)
    loaded = datasets.load_dataset(str(tmp_path / "out"))
    assert {split: part["id"][:] for split, part in loaded.items()} == {"train": ["1"], "test": ["2"]}


def test_a_dictionary_is_made_of_values_that_repeat(tmp_path: Path) -> None:
    write_dataset(tmp_path / "d", {"test": rows(3)})
    file = next((tmp_path / "d/data").glob("*.parquet"))
    group = pq.read_metadata(file).row_group(0)
    columns = [group.column(i) for i in range(group.num_columns)]
    with_dictionary = {column.path_in_schema for column in columns if column.has_dictionary_page}
    assert with_dictionary >= {"task", "messages.list.element.role", "source.file"}
    assert not with_dictionary & {"id", "question", "messages.list.element.content.list.element.text"}


def test_a_failure_leaves_the_place_as_it_was(tmp_path: Path) -> None:
    write_dataset(tmp_path / "out", {"test": rows(1)})

    def broken() -> Iterator[Record]:
        yield record(2)
        raise RuntimeError("midway")

    with pytest.raises(RuntimeError, match="midway"), DatasetWriter(tmp_path / "out", overwrite=True) as writer:
        writer.write(broken())
    assert ids(tmp_path / "out") == ["1"]
    assert hidden(tmp_path) == []


def test_an_interruption_between_the_two_renames_puts_the_old_dataset_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_dataset(tmp_path / "out", {"test": rows(1)})
    rename = Path.rename

    def interrupted(self: Path, target: Path) -> Path:
        if self == build_temporary_path(tmp_path / "out"):
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_dataset(tmp_path / "out", {"test": rows(2)})
    monkeypatch.undo()
    assert ids(tmp_path / "out") == ["1"]
    assert hidden(tmp_path) == []


def test_a_place_that_is_taken_needs_a_word(tmp_path: Path) -> None:
    write_dataset(tmp_path / "out", {"test": rows(1)})
    with pytest.raises(UsageError, match="--overwrite, or --append"):
        DatasetWriter(tmp_path / "out")
    assert ids(tmp_path / "out") == ["1"]


def test_a_folder_of_the_users_is_never_touched(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/thesis.txt").write_text("years")
    for flags in ({"overwrite": True}, {"append": True}):
        with pytest.raises(Error, match="not a dataset created by mmconvert"):
            DatasetWriter(tmp_path / "out", **flags)
    assert (tmp_path / "out/thesis.txt").read_text() == "years"


def test_a_file_is_no_place_for_a_dataset(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("x")
    with pytest.raises(UsageError, match="is a file"):
        DatasetWriter(tmp_path / "out", overwrite=True)


def test_an_empty_folder_and_missing_parents_are_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert ids(write_dataset(tmp_path / "empty", {"test": rows(1)})) == ["1"]
    assert ids(write_dataset(tmp_path / "a/b/c", {"test": rows(1)})) == ["1"]


def test_a_parent_that_is_a_file_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    with pytest.raises(Error, match=r"a/out: cannot be made: Not a directory"), DatasetWriter(tmp_path / "a/out"):
        pass


def test_a_linked_place_keeps_its_link(tmp_path: Path) -> None:
    write_dataset(tmp_path / "real", {"test": rows(1)})
    (tmp_path / "link").symlink_to("real")
    write_dataset(tmp_path / "link", {"test": rows(2)})
    assert (tmp_path / "link").is_symlink()
    assert ids(tmp_path / "real") == ["2"]
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("name", ["out[1]", "o*t", "out.v1", "daß ümlaut \U0001f600", "a b"])
def test_odd_names_are_names(name: str, tmp_path: Path) -> None:
    dead = pid_of_the_dead()
    write_dataset(tmp_path / name, {"test": rows(1)})
    (tmp_path / name).rename(left_by(tmp_path / name, dead, "old"))
    left_by(tmp_path / name, dead, "new").mkdir()
    bystander = left_by(tmp_path / "outt", dead, "new")
    bystander.mkdir()
    DatasetWriter(tmp_path / name, overwrite=True)
    assert ids(tmp_path / name) == ["1"]
    assert hidden(tmp_path) == [bystander.name]


def test_splits_and_configs_are_added(tmp_path: Path) -> None:
    write_dataset(tmp_path / "out", {"test": rows(1)}, input=[{"name": "a"}])
    inode = next((tmp_path / "out/data").glob("test-*")).stat().st_ino
    with DatasetWriter(tmp_path / "out", append=True, about={"format": "mmmu", "input": [{"name": "b"}]}) as writer:
        writer.write(rows(1), "train")
        writer.write(rows(7), "test", "zh")
    assert open_dataset(tmp_path / "out", "default").splits == {"test": 1, "train": 1}
    assert ids(tmp_path / "out", config="zh") == ["7"]
    assert next((tmp_path / "out/data").glob("test-*")).stat().st_ino == inode
    assert verify(tmp_path / "out") == []
    manifest = read_manifest(tmp_path / "out")[1]
    assert (manifest["format"], [i["name"] for i in manifest["input"]]) == ("vmcq, mmmu", ["a", "b"])
    assert datasets.load_dataset(str(tmp_path / "out"), "zh", split="test")["id"][:] == ["7"]
    assert set(datasets.load_dataset(str(tmp_path / "out"))) == {"test", "train"}


def test_of_several_configs_one_is_named_and_the_only_one_needs_no_name(tmp_path: Path) -> None:
    with DatasetWriter(tmp_path / "out") as writer:
        writer.write(rows(1), "test", "zh")
    assert [record.id for record in open_dataset(tmp_path / "out").records()] == ["1"]
    with pytest.raises(UsageError, match=r"no config 'default'\. Known: zh"):
        open_dataset(tmp_path / "out", "default")
    with DatasetWriter(tmp_path / "out", append=True) as writer:
        writer.write(rows(2), "dev", "en")
    with pytest.raises(
        UsageError, match=r"holds several configs: zh, en. Name the folder of one: \S+/out/zh or \S+/en."
    ):
        open_dataset(tmp_path / "out")
    with pytest.raises(UsageError, match=r"no config 'enn'. Did you mean en\? Known: zh, en"):
        open_dataset(tmp_path / "out", "enn")
    assert open_dataset(tmp_path / "out", "en").splits == open_dataset(tmp_path / "out/en").splits == {"dev": 1}


@pytest.mark.parametrize("append", [False, True])
def test_what_another_run_published_meanwhile_is_not_replaced(append: bool, tmp_path: Path) -> None:
    if append:
        write_dataset(tmp_path / "out", {"test": rows(1)})

    def interfering() -> Iterator[Record]:
        yield record(2)
        write_dataset(tmp_path / "other", {"test": rows(1), "train": rows(3)})
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        (tmp_path / "other").rename(tmp_path / "out")

    with (
        pytest.raises(Error, match="was written by another run in the meantime"),
        DatasetWriter(tmp_path / "out", append=append) as writer,
    ):
        writer.write(interfering(), "dev")
    assert open_dataset(tmp_path / "out").splits == {"test": 1, "train": 1}
    assert hidden(tmp_path) == []


def test_a_split_that_stands_there_is_not_replaced_by_append(tmp_path: Path) -> None:
    write_dataset(tmp_path / "out", {"test": rows(1)})
    with (
        pytest.raises(UsageError, match="split 'test' of config 'default' already exists"),
        DatasetWriter(tmp_path / "out", append=True) as writer,
    ):
        writer.write(rows(2), "test")
    assert ids(tmp_path / "out") == ["1"]


def test_append_names_a_shard_that_is_missing(tmp_path: Path) -> None:
    write_dataset(tmp_path / "out", {"test": rows(1)})
    next((tmp_path / "out/data").glob("*.parquet")).unlink()
    with (
        pytest.raises(Error, match=r"test-00000-of-00001.parquet: cannot be kept"),
        DatasetWriter(tmp_path / "out", append=True),
    ):
        pass
    assert hidden(tmp_path) == []


def test_append_copies_where_the_disk_knows_no_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    write_dataset(tmp_path / "out", {"test": rows(1)})
    monkeypatch.setattr(os, "link", refused)
    with DatasetWriter(tmp_path / "out", append=True) as writer:
        writer.write(rows(2), "train")
    assert ids(tmp_path / "out") == ["1", "2"]


@pytest.mark.parametrize("config", ["../up", "a/b", "data", ".mmconvert", "", "README.md", "a\\b", "-x"])
def test_a_config_cannot_leave_the_folder_or_hide_what_is_in_it(config: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a config name"), DatasetWriter(tmp_path / "out") as writer:
        writer.write(rows(1), config=config)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("split", ["../up", "a-b", "", "a/b", ".test", "a..b", "all"])
def test_a_split_is_named_as_load_dataset_wants_it(split: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a split name"), DatasetWriter(tmp_path / "out") as writer:
        writer.write(rows(1), split)


def test_what_a_killed_run_left_is_removed(tmp_path: Path) -> None:
    left_by(tmp_path / "out", pid_of_the_dead(), "new").mkdir()
    write_dataset(tmp_path / "out", {"test": rows(1)})
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("vacant", [False, True])
def test_what_a_killed_run_moved_aside_comes_back(vacant: bool, tmp_path: Path) -> None:
    write_dataset(tmp_path / "out", {"test": rows(1)})
    (tmp_path / "out").rename(left_by(tmp_path / "out", pid_of_the_dead(), "old"))
    if vacant:
        (tmp_path / "out").mkdir()
    with pytest.raises(UsageError, match="already exists"):
        DatasetWriter(tmp_path / "out")
    assert ids(tmp_path / "out") == ["1"]
    assert hidden(tmp_path) == []


def test_a_new_container_with_the_same_host_name_and_number_is_no_obstacle(tmp_path: Path) -> None:
    write_dataset(tmp_path / "out", {"test": rows(1)})
    (tmp_path / "out").rename(left_by(tmp_path / "out", os.getpid(), "old"))
    (left_by(tmp_path / "out", os.getpid(), "new") / "data").mkdir(parents=True)
    with DatasetWriter(tmp_path / "out", overwrite=True) as writer:
        writer.write(rows(2))
    assert ids(tmp_path / "out") == ["2"]
    assert hidden(tmp_path) == []


def test_the_folders_of_a_run_under_way_are_left_alone(tmp_path: Path) -> None:
    living = left_by(tmp_path / "out", os.getppid(), "new")
    living.mkdir()
    write_dataset(tmp_path / "out", {"test": rows(1)})
    assert hidden(tmp_path) == [living.name]


@pytest.mark.parametrize(
    ("damage", "word"),
    [
        (lambda file: file.write_bytes(file.read_bytes()[:-1] + b"x"), "a byte has changed"),
        (lambda file: file.unlink(), "is missing"),
        (lambda file: shutil.copy(file, file.with_name("test-00001-of-00002.parquet")), "not in the manifest"),
    ],
)
def test_verify_finds_every_fault(damage, word: str, tmp_path: Path) -> None:
    write_dataset(tmp_path / "out", {"test": rows(1, 2)})
    damage(tmp_path / "out/data/test-00000-of-00001.parquet")
    (fault,) = verify(tmp_path / "out")
    assert word in fault


DIGEST = "0" * 64


@pytest.mark.parametrize(
    "shard",
    [
        {"file": "../outside.parquet", "rows": 1, "bytes": 1, "sha256": DIGEST},
        {"file": "/etc/passwd", "rows": 1, "bytes": 1, "sha256": DIGEST},
        {"file": "data/../../x/test-00000-of-00001.parquet", "rows": 1, "bytes": 1, "sha256": DIGEST},
        {"file": 5, "rows": 1, "bytes": 1, "sha256": DIGEST},
        {"file": "data/test-00000-of-00001.parquet", "rows": "1", "bytes": 1, "sha256": DIGEST},
        {"file": "data/test-00000-of-00001.parquet", "rows": -1, "bytes": 1, "sha256": DIGEST},
        {"file": "data/test-00000-of-00001.parquet", "rows": 1, "bytes": 1, "sha256": "\ud800" * 64},
        {"file": "data/test-00000-of-00001.parquet", "rows": 1, "bytes": 1, "sha256": None},
        {"file": "data/test-00000-of-00001.parquet", "rows": 1},
        "x",
    ],
)
def test_a_manifest_cannot_lead_out_of_the_dataset(shard: object, tmp_path: Path) -> None:
    write_dataset(tmp_path / "out", {"test": rows(1)})
    manifest = json.loads((tmp_path / "out" / MANIFEST).read_text())
    manifest["configs"]["default"]["test"] = [shard]
    (tmp_path / "out" / MANIFEST).write_text(json.dumps(manifest))
    for use in (open_dataset, verify, lambda path: DatasetWriter(path, append=True)):
        with pytest.raises(Error, match=r"manifest.json: is damaged"):
            use(tmp_path / "out")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"configs": 1}', '{"configs": {}}', "[" * 100_000])
def test_a_damaged_manifest_is_one_clear_error(text: str, tmp_path: Path) -> None:
    write_dataset(tmp_path / "out", {"test": rows(1)})
    (tmp_path / "out" / MANIFEST).write_text(text)
    with pytest.raises(Error, match="damaged"):
        open_dataset(tmp_path / "out")


def test_a_newer_schema_is_refused_by_number(tmp_path: Path) -> None:
    write_dataset(tmp_path / "out", {"test": rows(1)})
    manifest = json.loads((tmp_path / "out" / MANIFEST).read_text()) | {"schema_version": 99}
    (tmp_path / "out" / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(Error, match="schema version 99"):
        open_dataset(tmp_path / "out")


def test_names_that_are_unknown_are_met_with_the_nearest(tmp_path: Path) -> None:
    write_dataset(tmp_path / "out", {"test": rows(1)})
    with pytest.raises(UsageError, match=r"no split 'tset'. Did you mean test\?"):
        list(open_dataset(tmp_path / "out").records("tset"))
    with pytest.raises(UsageError, match="no config 'en'"):
        open_dataset(tmp_path / "out", "en")
    with pytest.raises(UsageError, match="no such file"):
        open_dataset(tmp_path / "nothing")


def test_the_fingerprint_follows_the_rows(tmp_path: Path) -> None:
    first = open_dataset(write_dataset(tmp_path / "a", {"test": rows(1)})).fingerprint
    assert open_dataset(write_dataset(tmp_path / "b", {"test": rows(1)})).fingerprint == first
    assert open_dataset(write_dataset(tmp_path / "c", {"test": rows(2)})).fingerprint != first
    file = tmp_path / "a/data/test-00000-of-00001.parquet"
    assert open_dataset(file).fingerprint == open_dataset(tmp_path / "b/data").fingerprint


def test_bare_parquet_is_a_dataset_too(tmp_path: Path) -> None:
    write_dataset(tmp_path / "a", {"test": rows(1, 2)})
    (tmp_path / "a/data").rename(tmp_path / "plain")
    plain = open_dataset(tmp_path / "plain")
    assert plain.splits == {"test-00000-of-00001": 2}
    assert [r.id for r in plain.records()] == ["1", "2"]
    (tmp_path / "bad.parquet").write_bytes(b"PAR1")
    with pytest.raises(Error, match=r"bad.parquet: is not a readable parquet"):
        open_dataset(tmp_path / "bad.parquet")
    (tmp_path / "empty").mkdir()
    with pytest.raises(Error, match="holds no dataset"):
        open_dataset(tmp_path / "empty")


def test_a_damaged_page_is_found_when_it_is_read(tmp_path: Path) -> None:
    write_dataset(tmp_path / "a", {"test": rows(*range(50))})
    file = tmp_path / "a/data/test-00000-of-00001.parquet"
    data = bytearray(file.read_bytes())
    at = data.index(b"\x89PNG")
    data[at + 40] ^= 1
    file.write_bytes(data)
    with pytest.raises(Error, match=r"cannot be read as parquet .* Write it again."):
        list(open_dataset(tmp_path / "a").records())


def test_only_the_columns_asked_for_are_read(tmp_path: Path) -> None:
    dataset = open_dataset(write_dataset(tmp_path / "a", {"test": rows(1)}))
    (batch,) = dataset.batches(["id", "no_such_column", "task"])
    assert batch.schema.names == ["id", "task"]
