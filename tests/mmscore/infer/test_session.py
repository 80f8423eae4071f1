"""A run with a backend of the caller's, over what an earlier run has stored."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
from msgspec.structs import replace

from mmconvert.core.record import Record
from mmconvert.dataset.dataset import open_dataset
from mmscore.infer.options import PredictOptions
from mmscore.infer.session import predict_with
from mmscore.llm.response_cache import Answer
from support.datasets_on_disk import record, write_dataset


class Counter:
    """Answers with the number of the question, and counts how often it was opened."""

    name = identity = "counter"
    batch_size = 2

    def __init__(self) -> None:
        self.opened = self.asked = 0

    def open(self) -> "Counter":
        self.opened += 1
        return self

    def answer(self, records: Sequence[Record]) -> list[Answer]:
        first = self.asked + 1
        self.asked += len(records)
        return [Answer(str(number)) for number, _ in enumerate(records, start=first)]


def test_the_callers_backend_answers_what_is_not_stored_and_all_again_on_restart(tmp_path: Path) -> None:
    dataset = open_dataset(write_dataset(tmp_path / "set", {"test": map(record, range(5))}))
    output, backend = tmp_path / "p.parquet", Counter()
    options = PredictOptions(model="counter", limit=3)
    found = []
    for given in (options, replace(options, limit=5, resume=True), replace(options, restart=True)):
        summary = predict_with(dataset, output, backend.open, given, quiet=True, task=None)
        found.append((summary.asked, summary.reused, pq.read_table(output)["prediction"].to_pylist()))
    assert found == [(3, 0, ["1", "2", "3"]), (2, 3, ["1", "2", "3", "4", "5"]), (3, 0, ["6", "7", "8"])]
    assert backend.opened == 3


def test_a_condition_chooses_the_rows_that_are_answered(tmp_path: Path) -> None:
    dataset = open_dataset(write_dataset(tmp_path / "set", {"test": map(record, range(5))}))
    wanted = record(3)
    options = PredictOptions(model="counter", where=f"id == {wanted.id!r}")
    summary = predict_with(dataset, tmp_path / "p.parquet", Counter().open, options, quiet=True, task=None)
    assert summary.rows == 1
    assert pq.read_table(tmp_path / "p.parquet")["id"].to_pylist() == [wanted.id]
