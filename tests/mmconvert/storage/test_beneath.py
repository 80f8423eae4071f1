"""Files are opened by paths without links, however the system helps with it."""

import os
from pathlib import Path

import pytest

from mmconvert.storage import beneath
from mmconvert.storage.beneath import open_resolved


@pytest.fixture(params=["in one step", "names below names", "compared afterwards"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if request.param == "in one step":
        handle = beneath._without_links("/")
        if handle is None:
            pytest.skip("the system has no openat2")
        os.close(handle)
    if request.param != "in one step":
        monkeypatch.setattr(beneath, "_without_links", lambda place: None)
    if request.param == "compared afterwards":
        monkeypatch.setattr(beneath, "_WALKS", False)
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/file").write_bytes(b"own")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/file").write_bytes(b"secret")
    return tmp_path.resolve()


def read(place: Path) -> bytes:
    handle = open_resolved(str(place))
    try:
        return os.read(handle, 100)
    finally:
        os.close(handle)


def test_a_path_without_links_is_opened(folder: Path) -> None:
    assert read(folder / "a/b/file") == b"own"


@pytest.mark.parametrize("name", ["a/b/file", "a/b", "a"])
def test_no_link_is_followed_wherever_it_stands(name: str, folder: Path) -> None:
    (folder / name).rename(folder / "aside")
    (folder / name).symlink_to(folder / "secret" / ("file" if name.endswith("file") else ""))
    (folder / "secret/b").mkdir()
    (folder / "secret/b/file").write_bytes(b"secret")
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
        read(folder / "a/b/file")
    assert len(os.listdir("/dev/fd")) == before


def test_what_is_not_there_or_no_absolute_path_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = len(os.listdir("/dev/fd"))
    monkeypatch.chdir(folder)
    for place in ("a/b/file", str(folder / "a/none"), str(folder / "a/b/file/more"), "", "\0"):
        with pytest.raises((OSError, ValueError)):
            open_resolved(place)
    assert len(os.listdir("/dev/fd")) == before


def test_a_pipe_is_opened_without_waiting(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    os.close(open_resolved(str(folder / "pipe")))
