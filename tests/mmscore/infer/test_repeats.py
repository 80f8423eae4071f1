"""Several replies to a row: rows of their own, keys of their own, and more of them ask no more than is new."""

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from mmconvert.core.errors import Error
from mmconvert.dataset.dataset import open_dataset
from mmscore.infer.backend import Generation
from mmscore.infer.job import Job
from mmscore.infer.ledger import Summary
from mmscore.infer.runner import predict
from mmscore.llm.cache_lock import hold
from mmscore.llm.response_cache import Answer, AnswerStore, store_path
from support.datasets_on_disk import write_dataset
from support.questions import make_image, record


class Counting:
    """A backend that says how often it was asked the same before, in this run, and which reply it is."""

    name = identity = "counting"
    batch_size = 4

    def __init__(self) -> None:
        self.asked: list[tuple[str, int | None]] = []

    def answer(self, records):
        self.asked += [(r.id, r.variant) for r in records]
        return [Answer(f"{r.messages[-1].content[-1].text}, response {r.variant or 0}") for r in records]


class Streamed(Counting):
    def stream(self, records):
        for position, row in enumerate(records):
            yield [(position, *self.answer([row]))]


ROWS = [record(i, make_image("red"), f"question {i}", answer=str(i)) for i in range(5)]


def run(folder: Path, output: Path, backend: Counting, n: int, **options: object) -> Summary:
    data = open_dataset(folder)
    job = Job(data, output, backend, "counting", Generation(), n=n, **options)
    with hold(store_path(output)) as held, AnswerStore(held, fingerprint=data.fingerprint) as store:
        return predict(job, store, lambda _done: None)


@pytest.mark.parametrize("kind", [Counting, Streamed])
def test_each_reply_is_a_row(tmp_path, kind):
    summary = run(write_dataset(tmp_path / "d", {"test": ROWS}), tmp_path / "p.parquet", kind(), 3)
    rows = pq.read_table(tmp_path / "p.parquet").to_pylist()
    assert (summary.rows, summary.asked) == (15, 15)
    assert [row["id"] for row in rows] == [f"{i}#{reply}" for i in range(5) for reply in range(3)]
    assert [row["variant"] for row in rows] == [0, 1, 2] * 5
    assert [row["sample"] for row in rows] == [str(i) for i in range(5) for _ in range(3)]
    assert [row["prediction"] for row in rows] == [
        f"question {i}, response {reply}" for i in range(5) for reply in range(3)
    ]
    assert [row["answer"] for row in rows] == [str(i) for i in range(5) for _ in range(3)]


def test_more_replies_ask_only_what_is_new_and_fewer_ask_nothing(tmp_path):
    folder, output = write_dataset(tmp_path / "d", {"test": ROWS}), tmp_path / "p.parquet"
    run(folder, output, Counting(), 1)
    more, fewer = Counting(), Counting()
    run(folder, output, more, 3)
    assert Counter(more.asked) == Counter((str(i), reply) for i in range(5) for reply in (1, 2))
    first = pq.read_table(output).to_pylist()
    assert run(folder, output, fewer, 2).asked == 0
    assert pq.read_table(output)["prediction"].to_pylist() == [row["prediction"] for row in first if row["variant"] < 2]
    run(folder, output, Counting(), 1)
    assert pq.read_table(output)["id"].to_pylist() == [row.id for row in ROWS]


def test_rows_with_the_same_prompt_keep_their_own_replies_when_there_are_more(tmp_path):
    twins = [record(i, make_image("red"), "the same") for i in range(2)]
    folder, output = write_dataset(tmp_path / "d", {"test": twins}), tmp_path / "p.parquet"
    run(folder, output, Counting(), 2)
    again = Counting()
    assert run(folder, output, again, 3).reused == 4
    assert sorted(again.asked) == [("0", 2), ("1", 2)]


def test_a_limit_counts_questions(tmp_path):
    folder = write_dataset(tmp_path / "d", {"test": ROWS})
    assert run(folder, tmp_path / "p.parquet", Counting(), 2, limit=3).rows == 6


def test_copies_of_a_question_are_no_replies_to_it(tmp_path):
    copies = [replace(ROWS[0], id=f"0#{i}", variant=i) for i in range(2)]
    folder = write_dataset(tmp_path / "d", {"test": copies})
    with pytest.raises(Error, match=r"row '0#0': is copy 0 of its question already\. Leave --n out"):
        run(folder, tmp_path / "p.parquet", Counting(), 2)
    assert run(folder, tmp_path / "p.parquet", Counting(), 1).rows == 2


def test_without_interleaving_the_first_image_goes_before_the_joined_text(tmp_path):
    class Shown(Counting):
        def answer(self, records):
            self.prompts = [(len(r.images), [p.text or p.type for p in r.messages[-1].content]) for r in records]
            return super().answer(records)

    two = record(0, "Is", make_image("red"), "as", make_image("blue"), "?")
    folder, output = write_dataset(tmp_path / "d", {"test": [two]}), tmp_path / "p.parquet"
    interleaved, joined = Shown(), Shown()
    run(folder, output, interleaved, 1)
    run(folder, output, joined, 1, interleave=False)
    assert interleaved.prompts == [(2, ["Is", "image", "as", "image", "?"])]
    assert joined.prompts == [(1, ["image", "Is\nas\n?"])]
