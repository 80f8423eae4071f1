"""Folders of strangers: a table that is a link out of one is refused, wherever a folder is taken."""

import shutil
from pathlib import Path

import pytest

from mmconvert.core.errors import Error
from mmconvert.dataset.dataset import open_dataset
from mmconvert.dataset.hub_upload import prepare
from mmconvert.dataset.verify import verify
from mmconvert.pipeline.inputs import plan_inputs
from mmconvert.storage.folders import require_inside
from mmscore.core.predictions.load import open_rows
from support.predictions import choices, write_predictions
from support.terminal import mmconvert

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
