"""What is published survives a power cut: the bytes first, then the name, then the folder that has the name."""

import errno
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from mmconvert.dataset.dataset import DatasetWriter
from mmconvert.pipeline.convert import write
from mmconvert.plugins.format import Target
from mmconvert.storage import atomic
from mmconvert.storage.atomic import (
    clear_leftovers,
    open_published_file,
    open_published_folder,
    sync_folder,
    write_synced,
)
from support.datasets_on_disk import record, write_dataset
from support.write_order import watch_writes


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_dataset_is_on_the_disk_before_it_has_its_name(tmp_path: Path, overwrite: bool) -> None:
    if overwrite:
        write_dataset(tmp_path / "out", {"test": [record(0)]})
    with watch_writes(tmp_path / "out"):
        write_dataset(tmp_path / "out", {"train": map(record, range(9)), "test": [record(9)]})


def test_a_folder_is_on_the_disk_before_it_has_its_name(tmp_path: Path) -> None:
    with watch_writes(tmp_path / "out"), open_published_folder(tmp_path / "out") as temporary:
        (temporary / "deep").mkdir()
        (temporary / "deep/a.txt").write_text("whole")
    assert (tmp_path / "out/deep/a.txt").read_text() == "whole"


def test_a_folder_whose_writer_fails_does_not_appear(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(FileNotFoundError), open_published_folder(tmp_path / "out") as temporary:
        (temporary / "missing/a.txt").write_text("half")
    assert [path.name for path in tmp_path.rglob("*")] == ["out"]


def test_shards_that_are_kept_are_on_the_disk_where_no_link_can_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_dataset(tmp_path / "out", {"test": [record(0)]})
    monkeypatch.setattr(os, "link", _refuse_link)
    with watch_writes(tmp_path / "out"), DatasetWriter(tmp_path / "out", append=True) as writer:
        writer.write([record(1)], "train")


def _refuse_link(*_: object) -> None:
    raise OSError(errno.EPERM, "no links")


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path: Path) -> None:
    with watch_writes(tmp_path / "a.txt"), open_published_file(tmp_path / "a.txt") as temporary:
        temporary.write_text("whole")
    with watch_writes(tmp_path / "out.tsv"):
        write([record(1)], Target(tmp_path / "out.tsv"), "lmudata")
    with watch_writes(tmp_path / "b.txt"):
        write_synced(tmp_path / "b.new", b"whole")
        (tmp_path / "b.new").rename(tmp_path / "b.txt")
        sync_folder(tmp_path)


def test_a_folder_takes_the_place_of_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with open_published_folder(tmp_path / "out") as temporary:
        (temporary / "a.txt").write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out/a.txt").read_text() == "whole"


def test_where_no_processes_are_seen_what_nobody_touched_for_a_day_is_cleared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomic, "SEES_PROCESSES", False)
    place = tmp_path / "out"
    names = [f".out.{socket.gethostname()}.{pid}.{kind}" for pid, kind in ((1, "new"), (2**40, "new"), (2**41, "old"))]
    fresh, silent, aside = (tmp_path / name for name in names)
    for folder in (fresh, silent, aside):
        folder.mkdir()
    for folder in (silent, aside):
        os.utime(folder, (0, 0))
    clear_leftovers(place)
    assert sorted(tmp_path.iterdir()) == sorted([fresh, place])


@pytest.fixture(scope="module")
def ended() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def build_leftover(place: Path, pid: int, kind: str, host: str = "") -> Path:
    return place.with_name(f".{place.name}.{host or socket.gethostname()}.{pid}.{kind}{place.suffix}")


@pytest.mark.parametrize("name", ["set", "table.tsv"])
def test_what_killed_runs_of_this_machine_left_is_removed(tmp_path: Path, ended: int, name: str) -> None:
    place = tmp_path / name
    place.write_text("published")
    gone = build_leftover(place, ended, "new")
    gone.mkdir()
    (gone / "shard.parquet").write_text("half")
    build_leftover(place, ended, "part-3.new").write_text("half")
    build_leftover(place, ended, "old").write_text("published before")
    stays = {
        place,
        build_leftover(place, os.getppid(), "new"),  # of one that runs
        build_leftover(place, ended, "new", "elsewhere"),
        build_leftover(tmp_path / "other", ended, "new"),
        build_leftover(place.with_stem(place.stem[::-1]), ended, "new"),  # of a place whose name is as long
    }
    for one in stays - {place}:
        one.write_text("of another")
    clear_leftovers(place)
    assert {*tmp_path.iterdir()} == stays
    assert place.read_text() == "published"


def test_a_link_that_a_killed_run_left_is_removed_and_what_it_points_to_stays(tmp_path: Path, ended: int) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/a.txt").write_text("kept")
    build_leftover(tmp_path / "set", ended, "new").symlink_to(tmp_path / "kept")
    clear_leftovers(tmp_path / "set")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.txt", "kept"]


@pytest.mark.parametrize("empty", [False, True])
def test_what_a_killed_run_had_moved_aside_is_put_back(tmp_path: Path, ended: int, empty: bool) -> None:
    if empty:
        (tmp_path / "set").mkdir()
    aside = build_leftover(tmp_path / "set", ended, "old")
    aside.mkdir()
    (aside / "a.txt").write_text("published")
    clear_leftovers(tmp_path / "set")
    assert [path.relative_to(tmp_path).as_posix() for path in sorted(tmp_path.rglob("*"))] == ["set", "set/a.txt"]
