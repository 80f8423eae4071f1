"""Folders of strangers: a table that is a link out of one is refused, wherever a folder is taken."""

import contextlib
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from mmconvert.core.errors import Error, UsageError
from mmconvert.dataset.dataset import open_dataset
from mmconvert.dataset.hub_upload import prepare
from mmconvert.dataset.verify import verify
from mmconvert.pipeline import convert_files
from mmconvert.pipeline.inputs import plan_inputs
from mmconvert.storage.folders import require_inside
from mmconvert.storage.source_files import watch_sources
from mmscore.analysis import bundle
from mmscore.core.predictions.load import open_rows
from support.predictions import choices, write_predictions
from support.terminal import mmconvert, mmscore

LEAVES = "is a link that leads out of"


@pytest.fixture
def converted(tmp_path: Path, repository: Path) -> Path:
    source = repository / "src/mmconvert/testing/demo/files/vmcq"
    assert mmconvert("convert", str(next(iter(source.glob("*.tsv")))), "-o", str(tmp_path / "d")).code == 0
    return tmp_path / "d"


@pytest.mark.parametrize("name", ["data/test-00000-of-00001.parquet", ".mmconvert/manifest.json", "data"])
def test_a_converted_folder_with_a_link_out_of_it_is_refused(converted: Path, tmp_path: Path, name: str) -> None:
    shutil.move(converted / name, tmp_path / "outside")
    (converted / name).symlink_to(tmp_path / "outside")
    for read in (open_dataset, verify, prepare, open_rows, lambda path: plan_inputs([str(path)])):
        with pytest.raises(Error, match=LEAVES):
            read(converted)


def test_a_card_that_is_a_link_is_not_pushed(converted: Path, tmp_path: Path) -> None:
    (tmp_path / "id_rsa").write_text("SECRET")
    (converted / "README.md").unlink()
    (converted / "README.md").symlink_to(tmp_path / "id_rsa")
    with pytest.raises(Error, match=LEAVES):
        prepare(converted)


def test_a_folder_of_tables_is_read_but_for_links_out_of_it(tmp_path: Path) -> None:
    rows = choices(("A", "A"))
    outside = write_predictions(tmp_path / "elsewhere.parquet", rows)
    folder = tmp_path / "runs"
    folder.mkdir()
    write_predictions(folder / "a.parquet", rows)
    (folder / "b.parquet").symlink_to("a.parquet")
    assert len(plan_inputs([str(folder)])) == 2
    (folder / "c.parquet").symlink_to(outside)
    for read in (open_dataset, open_rows, lambda path: plan_inputs([str(path)])):
        with pytest.raises(Error, match=LEAVES):
            read(folder)
    assert len(open_rows(folder / "c.parquet")) == 1


def test_a_snapshot_of_the_hubs_cache_is_read(tmp_path: Path) -> None:
    repo = tmp_path / "hub" / "datasets--u--s"
    snapshot = repo / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (repo / "blobs").mkdir()
    (repo / "blobs" / "1").write_text("x")
    (snapshot / "t.tsv").symlink_to("../../blobs/1")
    assert require_inside(snapshot, snapshot.iterdir()) == [snapshot / "t.tsv"]


def swap(folder: Path, target: Path) -> None:
    """Put a link in the place of a folder."""
    folder.rename(folder.with_name("aside"))
    folder.symlink_to(target)


def run_changed(monkeypatch: pytest.MonkeyPatch, module: object, name: str, change: Callable[[], None]) -> None:
    """Have something happen when a function is called."""
    function = getattr(module, name)

    def call(*arguments: object, **options: object) -> object:
        if not done:
            done.append(name)
            change()
        return function(*arguments, **options)

    done: list[str] = []
    monkeypatch.setattr(module, name, call)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_folder_that_is_swapped_for_a_link_behind_its_listing_is_not_converted(
    workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("in/set", "home"):
        (tmp_path / place).mkdir(parents=True)
        for name in "ab":
            rows = choices(("A", "A"), ("SECRET" if place == "home" else "B", "A"))
            write_predictions(tmp_path / place / f"{name}.parquet", rows)
    change = partial(swap, tmp_path / "in/set", tmp_path / "home")
    run_changed(monkeypatch, convert_files, "convert", change)
    ended = mmconvert("convert", tmp_path / "in/set", "-o", tmp_path / "out", "--workers", workers, "--quiet")
    assert ended.code == 1
    assert "changed while it was read. Run again." in ended.err
    assert "SECRET" not in ended.err + ended.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "in"]


def test_a_bundle_takes_no_file_that_a_link_put_there_since(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "runs/m").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    write_predictions(tmp_path / "runs/m/p.parquet", choices(("A", "A"), ("B", "A")))
    write_predictions(tmp_path / "home/p.parquet", choices(("SECRET", "A"), ("B", "A")))
    change = partial(swap, tmp_path / "runs/m", tmp_path / "home")
    run_changed(monkeypatch, bundle.shutil, "copyfileobj", change)
    run_changed(monkeypatch, bundle, "_copy_file", change)
    ended = mmscore("bundle", tmp_path / "runs", "--recipe", "own_choice", "-o", tmp_path / "out")
    assert (ended.code, "changed while it was read" in ended.err) == (1, True)
    assert not list(tmp_path.glob("*out*"))


def test_of_a_dataset_whose_folder_is_swapped_all_the_time_nothing_gets_out(tmp_path: Path) -> None:
    """Another process swaps the folder of the files for a link to files of the same names."""
    for place, letter in {"set/data": "A", "home": "S"}.items():
        (tmp_path / place).mkdir(parents=True)
        write_predictions(tmp_path / place / "p.parquet", choices(*[(letter, "A")] * 3))
    read: Counter[str] = Counter()
    with subprocess.Popen([sys.executable, "-c", _SWAPS, str(tmp_path)]) as swaps:
        try:
            end = time.monotonic() + 1.5
            while time.monotonic() < end:
                with contextlib.suppress(Error, UsageError, OSError), watch_sources():
                    for batch in open_dataset(tmp_path / "set").batches(["prediction"]):
                        read[batch["prediction"][0].as_py()] += 1
        finally:
            swaps.kill()
    assert read["A"] > 0
    assert read["S"] == 0


_SWAPS = """
import os, sys, time
os.chdir(sys.argv[1])
while True:
    os.rename("set/data", "aside")
    os.symlink("../home", "set/data")
    time.sleep(0.0005)
    os.unlink("set/data")
    os.rename("aside", "set/data")
    time.sleep(0.002)
"""
