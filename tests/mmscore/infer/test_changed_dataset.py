"""A dataset that changes while a model is asked about it: no predictions file, and no answer is lost."""

import os
from pathlib import Path

import pytest

from mmscore.infer import runner
from support.changes import ACTIONS
from support.datasets_on_disk import record, write_dataset
from support.terminal import mmscore

pytestmark = pytest.mark.slow


def predict(dataset: Path, *more: object) -> tuple[int, str]:
    words = ("-o", dataset.parent / "p.parquet", "--backend", "echo", "--model", "text=A", *more)
    said = mmscore("predict", dataset, *words)
    return said.code, said.err


@pytest.mark.parametrize("action", ["rewritten in its size", "replaced", "appended"])
def test_no_predictions_are_published_of_two_states(
    action: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = write_dataset(tmp_path / "set", {"test": map(record, range(30))})
    [shard] = dataset.rglob("*.parquet")
    write = runner._write

    def write_late(rows: object, writer: object) -> None:
        exec(ACTIONS[action], {"os": os, "path": str(shard)})
        write(rows, writer)

    data = shard.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(runner, "_write", write_late)
        code, said = predict(dataset)
    assert (code, f"{shard}: changed while it was read. Run again." in said) == (1, True), said
    assert not (tmp_path / "p.parquet").exists()
    shard.write_bytes(data)
    assert predict(dataset)[0] == 0
    assert predict(dataset, "--resume")[0] == 0


def test_a_run_may_go_on_over_its_own_file(tmp_path: Path) -> None:
    dataset = write_dataset(tmp_path / "set", {"test": map(record, range(3))})
    for more in ((), ("--resume",), ("--restart",)):
        assert predict(dataset, *more)[0] == 0
