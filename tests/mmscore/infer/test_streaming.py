"""A backend that streams is given rows as it has places free, and the file keeps the order all the same."""

from collections.abc import Generator, Iterator, Sequence
from itertools import islice
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mmconvert.core.errors import Error
from mmconvert.core.record import Record
from mmconvert.dataset.dataset import DatasetWriter, open_dataset
from mmscore.infer.backend import Generation, Streaming
from mmscore.infer.job import Job
from mmscore.infer.ledger import Summary
from mmscore.infer.runner import predict
from mmscore.llm.cache_lock import hold
from mmscore.llm.response_cache import Answer, AnswerStore, failed, store_path
from support.questions import make_image, record

ROWS = 600
"""More than two batches of the dataset."""


class Backwards:
    """Draws `places` rows and answers them last first; remembers what the store held at each draw."""

    name = identity = "backwards"

    def __init__(self, places: int = 5, fails: Sequence[str] = ()) -> None:
        self.batch_size = places
        self.fails = fails
        self.given = 0
        self.asked: list[str] = []

    def answer(self, records: Sequence[Record]) -> Sequence[Answer]:
        raise AssertionError("a backend that streams is not asked in groups")

    def stream(self, records: Iterator[Record]) -> Generator[Sequence[tuple[int, Answer]]]:
        numbered = enumerate(records)
        while drawn := list(islice(numbered, self.batch_size)):
            self.asked += [row.id for _, row in drawn]
            for number, row in reversed(drawn):
                yield [(number, failed("told to") if row.id in self.fails else Answer(f"response {row.id}"))]
                self.given += 1


def dataset(folder: Path, rows: int = ROWS) -> Path:
    with DatasetWriter(folder, overwrite=folder.exists()) as writer:
        writer.write([record(i, make_image("red"), f"question {i}") for i in range(rows)])
    return folder


def run(folder: Path, output: Path, backend: Streaming, **options: object) -> Summary:
    data = open_dataset(folder)
    job = Job(data, output, backend, "backwards", Generation(), **options)
    with hold(store_path(output)) as held, AnswerStore(held, fingerprint=data.fingerprint) as store:
        return predict(job, store, lambda _done: None)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "predictions.parquet"


def test_predictions_stand_in_the_order_of_the_rows(tmp_path, output):
    summary = run(dataset(tmp_path / "d"), output, Backwards(places=7))
    table = pq.read_table(output)
    assert (summary.rows, summary.asked, summary.failed) == (ROWS, ROWS, 0)
    assert table["id"].to_pylist() == [str(i) for i in range(ROWS)]
    assert table["prediction"].to_pylist() == [f"response {i}" for i in range(ROWS)]


def test_an_answer_is_stored_before_the_backend_goes_on(tmp_path, output):
    class Stops(Backwards):
        def stream(self, records):
            for number, group in enumerate(super().stream(records)):
                if number == 23:
                    raise Error("the service is gone")
                yield group

    folder = dataset(tmp_path / "d")
    with pytest.raises(Error, match="the service is gone"):
        run(folder, output, Stops())
    assert not output.exists()
    again = Backwards()
    summary = run(folder, output, again)
    assert (summary.reused, summary.asked) == (23, ROWS - 23)
    assert len(set(again.asked)) == len(again.asked) == ROWS - 23


def test_only_failed_rows_are_drawn_again(tmp_path, output):
    folder = dataset(tmp_path / "d")
    assert run(folder, output, Backwards(fails=["3", "300"])).failed == 2
    again = Backwards()
    assert run(folder, output, again).failed == 0
    assert again.asked == ["3", "300"]


def test_a_limit_ends_the_rows(tmp_path, output):
    backend = Backwards()
    assert run(dataset(tmp_path / "d"), output, backend, limit=300).rows == 300
    assert len(backend.asked) == pq.read_table(output).num_rows == 300


@pytest.mark.parametrize("positions", [[0, 0], [700], [-1]])
def test_answers_to_nobody_s_question_end_the_run(tmp_path, output, positions):
    class Wild(Backwards):
        def stream(self, records):
            next(records)
            yield [(position, Answer("x")) for position in positions[:1]]
            yield [(position, Answer("x")) for position in positions[1:]]

    with pytest.raises(Error, match=r"returned a response for a sample that was not sent|left 3 of 3 rows"):
        run(dataset(tmp_path / "d", 3), output, Wild())
    assert not output.exists()


def test_rows_that_are_never_answered_end_the_run(tmp_path, output):
    class Forgets(Backwards):
        def stream(self, records):
            yield from islice(super().stream(records), 2)

    with pytest.raises(Error, match="left 3 of 5 rows"):
        run(dataset(tmp_path / "d", 5), output, Forgets())
    assert not output.exists()


def test_rows_are_never_lost_when_a_backend_stops_drawing(tmp_path, output):
    class Lazy(Backwards):
        def stream(self, records):
            for number, row in islice(enumerate(records), 2):
                yield [(number, Answer(row.id))]

    with pytest.raises(Error, match="left 3 of 5 rows"):
        run(dataset(tmp_path / "d", 5), output, Lazy())
    assert not output.exists()


def test_the_stream_is_closed_when_the_file_cannot_be_written(tmp_path, output, monkeypatch):
    closed = []

    class Watched(Backwards):
        def stream(self, records):
            try:
                yield from super().stream(records)
            finally:
                closed.append(True)

    def full(*_: object) -> None:
        raise Error("no space left")

    monkeypatch.setattr("mmscore.infer.predictions_file.PredictionWriter.write", full)
    with pytest.raises(Error, match="no space left"):
        run(dataset(tmp_path / "d"), output, Watched())
    assert closed == [True]


def test_the_next_batch_is_read_while_rows_are_under_way(tmp_path, output):
    backend, read_when = Backwards(), []
    data = open_dataset(dataset(tmp_path / "d"))

    class Dataset:
        path, num_rows, fingerprint = data.path, data.num_rows, data.fingerprint

        def batches(self, columns, first=0):
            for batch in data.batches(columns, first=first):
                read_when.append(backend.given)
                yield batch

    job = Job(Dataset(), output, backend, "backwards", Generation())
    with hold(store_path(output)) as held, AnswerStore(held, fingerprint="") as store:
        predict(job, store, lambda _done: None)
    assert [first < later for first, later in zip(read_when, [256, 512, 600], strict=True)] == [True] * 3
    assert read_when[2] < 512
