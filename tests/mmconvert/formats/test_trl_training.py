"""TRL's SFTTrainer takes what we write and learns from it; minutes long where the machine is busy."""

from pathlib import Path

import datasets
import pytest

from mmconvert.pipeline.convert import ReadOptions, WriteOptions, convert, read, write
from mmconvert.pipeline.inputs import Input
from mmconvert.plugins.format import Target
from support.trainings import train_sft

pytestmark = pytest.mark.release
pytest.importorskip("trl", reason="TRL is not installed")


@pytest.mark.parametrize("columns", [None, "prompt-completion"])
@pytest.mark.parametrize("example", ["vmcq/colours.tsv", "trl/train.parquet", "sharegpt/colours.json"])
def test_exported_rows_train(example: str, columns: str | None, repository: Path, tmp_path: Path) -> None:
    source = read(repository / "src/mmconvert/testing/demo/files" / example)
    write(source, Target(tmp_path / "t.parquet", columns=columns), "trl")
    data = datasets.load_dataset("parquet", data_files=str(tmp_path / "t.parquet"), split="train")
    losses = train_sft(data, tmp_path / "run")
    assert len(losses) == 2
    assert all(0 < loss < 20 for loss in losses)


@pytest.mark.parametrize("view", ["sft", "prompt-completion"])
def test_a_dataset_in_a_training_view_trains(view: str, repository: Path, tmp_path: Path) -> None:
    source = Input(repository / "src/mmconvert/testing/demo/files/vmcq/colours.tsv")
    convert([source], tmp_path / "data", ReadOptions(), WriteOptions(view=view))
    losses = train_sft(datasets.load_dataset(str(tmp_path / "data"), split="test"), tmp_path / "run")
    assert len(losses) == 2
    assert all(0 < loss < 20 for loss in losses)
