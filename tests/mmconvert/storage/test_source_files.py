"""What tells a file that has changed from one that only looks different."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mmconvert.core.errors import Error
from mmconvert.dataset.dataset import DatasetWriter
from mmconvert.storage.source_files import (
    ChangedError,
    Sources,
    get_sources,
    open_source,
    read_source,
    require_unchanged,
    stamp_file,
    watch_apart,
    watch_sources,
)
from mmconvert.storage.temporary import build_temporary_prefix
from support.datasets_on_disk import record

STATE = {"st_size": 10, "st_mtime_ns": 5, "st_ino": 3, "st_ctime_ns": 8}


def stamp(**changes: int) -> Any:
    return stamp_file(SimpleNamespace(**STATE | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [
        {"st_ctime_ns": 9},  # other rights, or a further name
        {"st_ino": 4},  # a mount that numbers its files anew, or another machine
        {},
    ],
)
def test_a_file_with_another_number_or_other_rights_is_the_same(changes: dict[str, int]) -> None:
    sources = Sources()
    sources.add("/a", stamp())
    sources.add("/a", stamp(**changes))


@pytest.mark.parametrize("changes", [{"st_size": 11}, {"st_mtime_ns": 6}, {"st_ino": 4, "st_ctime_ns": 9}])
def test_another_size_time_or_file_is_a_change(changes: dict[str, int]) -> None:
    sources = Sources()
    sources.add("/a", stamp())
    with pytest.raises(ChangedError, match=r"^/a: changed while it was read\. Run again\.$"):
        sources.add("/a", stamp(**changes))


def test_another_process_may_have_read_the_same_only(tmp_path: Path) -> None:
    one, other = Sources(), Sources()
    one.add("/a", stamp())
    other.join(one.select(["/a", "/b"]))
    assert other.stamps == {"file": {"/a": stamp()}}
    with pytest.raises(ChangedError):
        other.join({"file": {"/a": stamp(st_size=1)}})


def test_another_process_may_work_in_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = Sources(), Sources()
    monkeypatch.chdir(tmp_path)
    one.add("a", stamp())
    monkeypatch.chdir("/")
    other.join(one.stamps)
    assert other.stamps == {"file": {str(tmp_path / "a"): stamp()}}
    assert other.select([f"{tmp_path}/a".removeprefix("/")]) == other.stamps


def test_nothing_is_noted_where_nobody_publishes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    assert read_source(tmp_path / "a") == b"1"
    assert get_sources() is None
    (tmp_path / "a").write_bytes(b"22")
    assert read_source(tmp_path / "a") == b"22"
    require_unchanged()


def test_a_run_inside_a_run_is_a_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    with watch_sources() as outer:
        with watch_sources() as inner:
            read_source(tmp_path / "a")
        assert inner is outer
        with watch_apart(Sources()):
            (tmp_path / "a").write_bytes(b"22")
            read_source(tmp_path / "a")
        with pytest.raises(ChangedError):
            open_source(tmp_path / "a")
        with pytest.raises(ChangedError):
            require_unchanged()
    assert get_sources() is None


@pytest.mark.parametrize("change", [lambda path: path.unlink(), lambda path: os.truncate(path, 1)])
def test_what_looks_damaged_because_it_changed_is_called_changed(
    change: Callable[[Path], None], tmp_path: Path
) -> None:
    (tmp_path / "a").write_bytes(b"123")

    @watch_sources()
    def read(fails: bool) -> None:
        read_source(tmp_path / "a")
        if fails:
            change(tmp_path / "a")
        raise Error("a: is damaged.")

    with pytest.raises(Error, match="is damaged"):
        read(fails=False)
    with pytest.raises(ChangedError):
        read(fails=True)


def test_what_a_process_made_for_itself_is_no_source() -> None:
    with watch_sources() as sources:
        with tempfile.TemporaryDirectory(prefix=build_temporary_prefix()) as folder:
            Path(folder, "a").write_bytes(b"1")
            read_source(Path(folder, "a"))
        require_unchanged()
    assert sources.stamps == {}


def test_a_dataset_that_cannot_be_put_in_its_place_is_not_called_changed(tmp_path: Path) -> None:
    """What a run has written goes away with its error, and is none of its sources."""

    @watch_sources()
    def publish() -> None:
        with DatasetWriter(tmp_path / "set") as writer:
            writer.write(map(record, range(3)))
            (tmp_path / "set").mkdir()
            (tmp_path / "set/mine").touch()

    with pytest.raises(Error, match="was written by another run"):
        publish()
