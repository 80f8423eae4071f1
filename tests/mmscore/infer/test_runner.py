"""A run asks every row once, keeps the order, and keeps what it was told, whatever happens on the way."""

import json
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import datasets
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from mmconvert.core.errors import Error
from mmconvert.core.progress import Done
from mmconvert.core.record import IMAGE_COLUMNS, PREDICTION_SCHEMA, SCHEMA, Image, Part, Record, Turn, estimate_weight
from mmconvert.dataset.dataset import Dataset, DatasetWriter, open_dataset
from mmscore.core.predictions.run_metadata import RUN_METADATA
from mmscore.infer.backend import Generation
from mmscore.infer.job import Job
from mmscore.infer.ledger import Summary
from mmscore.infer.predictions_file import PredictionWriter
from mmscore.infer.runner import predict, resume_note, write_stopped
from mmscore.llm.cache_lock import hold
from mmscore.llm.response_cache import Answer, AnswerStore, failed, store_path
from support.questions import make_image, record
from support.write_order import watch_writes


class Scripted:
    """A backend that says the prompt's text in capitals, and remembers what it was asked."""

    prompt_only = True

    def __init__(self, *, batch_size: int = 4, identity: str = "scripted", fails: Sequence[str] = ()) -> None:
        self.name = "scripted-model"
        self.identity = identity
        self.batch_size = batch_size
        self.fails = fails
        self.batches: list[list[str]] = []
        self.prompts: list[tuple[Turn, ...]] = []

    def answer(self, records: Sequence[Record]) -> list[Answer]:
        self.batches.append([r.id for r in records])
        self.prompts += [r.messages for r in records]
        texts = ["".join(part.text for part in r.messages[-1].content).upper() for r in records]
        return [
            failed("told to") if r.id in self.fails else Answer(text) for r, text in zip(records, texts, strict=True)
        ]

    @property
    def asked(self) -> list[str]:
        return [i for batch in self.batches for i in batch]


def rows(count: int) -> list[Record]:
    return [record(i, make_image("red"), f"question {i}", answer=str(i)) for i in range(count)]


def dataset(folder: Path, records: Sequence[Record], **splits: Sequence[Record]) -> Path:
    with DatasetWriter(folder, overwrite=folder.exists()) as writer:
        for split, those in {"test": records, **splits}.items():
            writer.write(those, split=split)
    return folder


def run(folder: Path, output: Path, backend: Scripted, **options: object) -> Summary:
    data = open_dataset(folder)
    job = Job(data, output, backend, "scripted", **{"generation": Generation(), **options})
    with hold(store_path(output)) as held, AnswerStore(held, fingerprint=data.fingerprint) as store:
        return predict(job, store, lambda _done: None)


def test_rows_and_the_bytes_of_their_images_are_told_as_they_are_done(tmp_path: Path) -> None:
    records = rows(10)
    data = open_dataset(dataset(tmp_path / "d", records))
    job = Job(data, tmp_path / "p.parquet", Scripted(), "m", generation=Generation())
    told: list[Done] = []
    with hold(store_path(job.output)) as held, AnswerStore(held, fingerprint=data.fingerprint) as store:
        predict(job, store, told.append)
    assert (told[-1].rows, told[-1].fresh, told[-1].total) == (10, 10, 10)
    assert told[-1].bytes == sum(map(estimate_weight, records))
    assert sorted(told, key=lambda done: done.rows) == told


def counts(summary: Summary) -> tuple[int, int, int, int]:
    return summary.rows, summary.asked, summary.reused, summary.failed


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "predictions.parquet"


def test_predictions_stand_in_the_order_of_the_rows_whatever_the_batches(tmp_path, output):
    records = [record(i, make_image("red"), "x" * (i * 7 % 11) + str(i)) for i in range(50)]
    backend = Scripted(batch_size=7)
    summary = run(dataset(tmp_path / "d", records[:20], val=records[20:]), output, backend)
    table = pq.read_table(output)
    assert counts(summary) == (50, 50, 0, 0)
    assert table["id"].to_pylist() == [r.id for r in records]
    assert table["prediction"].to_pylist() == [r.messages[0].content[1].text.upper() for r in records]
    assert max(map(len, backend.batches)) == 7


def test_the_file_has_the_columns_of_the_schema_without_images_and_loads_in_datasets(tmp_path, output):
    run(dataset(tmp_path / "d", rows(3)), output, Scripted())
    loaded = datasets.Dataset.from_parquet(str(output), cache_dir=str(tmp_path / "cache"))
    assert loaded.column_names == [name for name in PREDICTION_SCHEMA.names if name not in IMAGE_COLUMNS]
    first = loaded[0]
    assert (first["answer"], first["prediction"], first["prediction_status"]) == ("0", "QUESTION 0", "ok")
    assert (first["model"], first["method"], first["prediction_error"]) == ("scripted-model", "generate", None)
    assert pq.read_table(output).select(["messages"]).schema.field(0).type == SCHEMA.field("messages").type


def test_a_failed_row_has_a_state_and_a_reason_but_no_text(tmp_path, output):
    summary = run(dataset(tmp_path / "d", rows(5)), output, Scripted(fails=["3"]))
    row = pq.read_table(output).to_pylist()[3]
    assert counts(summary) == (5, 5, 0, 1)
    assert (row["prediction"], row["prediction_status"], row["prediction_error"]) == (None, "failed", "told to")


def test_an_empty_reply_is_an_answer(tmp_path, output):
    summary = run(dataset(tmp_path / "d", [record(0, make_image("red"), "")]), output, Scripted())
    assert pq.read_table(output)["prediction"].to_pylist() == [""]
    assert summary.failed == 0


def test_only_failed_rows_are_asked_again(tmp_path, output):
    folder = dataset(tmp_path / "d", rows(10))
    run(folder, output, Scripted(fails=["3", "8"]))
    again = Scripted()
    assert counts(run(folder, output, again)) == (10, 2, 8, 0)
    assert sorted(again.asked) == ["3", "8"]
    assert pq.read_table(output)["prediction_status"].to_pylist() == ["ok"] * 10


def test_a_finished_run_asks_nothing_and_writes_the_same_bytes(tmp_path, output):
    folder = dataset(tmp_path / "d", rows(10))
    run(folder, output, Scripted())
    first = output.read_bytes()
    again = Scripted()
    assert counts(run(folder, output, again)) == (10, 0, 10, 0)
    assert again.batches == []
    assert output.read_bytes() == first


def test_a_run_that_broke_keeps_every_batch_that_was_answered(tmp_path, output):
    class Breaks(Scripted):
        def answer(self, records):
            if len(self.batches) == 2:
                raise KeyboardInterrupt
            return super().answer(records)

    folder, broken = dataset(tmp_path / "d", rows(10)), Breaks(batch_size=3)
    with pytest.raises(KeyboardInterrupt):
        run(folder, output, broken)
    so_far = ["d", "predictions.parquet", "predictions.parquet.answers.sqlite"]
    assert sorted(file.name for file in tmp_path.iterdir()) == so_far
    assert pq.read_table(output)["prediction_status"].to_pylist().count("ok") == 6
    rest = Scripted(batch_size=3)
    assert counts(run(folder, output, rest)) == (10, 4, 6, 0)
    assert set(rest.asked).isdisjoint(broken.asked)
    unbroken = tmp_path / "unbroken.parquet"
    run(folder, unbroken, Scripted(batch_size=3))
    assert output.read_bytes() == unbroken.read_bytes()


def test_a_run_that_is_stopped_while_rows_are_written_leaves_those_that_it_came_to(tmp_path, output, monkeypatch):
    append = PredictionWriter._append

    def stopped(writer: PredictionWriter, *given: object) -> None:
        monkeypatch.setattr(PredictionWriter, "_append", append)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)
        append(writer, *given)

    records = rows(9)
    folder = dataset(tmp_path / "d", records[:3], train=records[3:6], val=records[6:])
    monkeypatch.setattr(PredictionWriter, "_append", stopped)
    with pytest.raises(KeyboardInterrupt):
        run(folder, output, Scripted(batch_size=1))
    table = pq.read_table(output)
    assert sorted(table["id"].to_pylist()) == [r.id for r in records]
    assert table["prediction_status"].to_pylist() == ["ok"] * 3 + ["skipped"] * 6
    run(folder, output, Scripted(batch_size=1))
    assert pq.read_table(output)["prediction_status"].to_pylist() == ["ok"] * 9


def test_a_shared_run_that_is_stopped_writes_what_is_stored_and_asks_nobody(tmp_path, output):
    folder = dataset(tmp_path / "d", [*rows(3), record(3, "?", messages=())])
    run(folder, output, Scripted(fails=["1"]), limit=2)
    output.unlink()
    data, backend = open_dataset(folder), Scripted()
    job = Job(data, output, backend, "scripted", generation=Generation())
    with hold(store_path(output), share=True) as held, AnswerStore(held, fingerprint=data.fingerprint) as store:
        write_stopped(job, store)
    assert backend.batches == []
    table = pq.read_table(output)
    assert table["prediction_status"].to_pylist() == ["ok", "failed", "skipped", "failed"]
    assert table["prediction"].to_pylist() == ["QUESTION 0", None, None, None]
    assert json.loads(table.schema.metadata[RUN_METADATA])["partial"] is True


def test_what_stands_is_told_before_a_run_goes_on(tmp_path, output):
    first = open_dataset(dataset(tmp_path / "d", rows(4)))

    def tell(data: Dataset) -> str:
        with hold(store_path(output)) as held, AnswerStore(held, fingerprint=data.fingerprint) as store:
            return resume_note(store, data)

    assert tell(first) == ""
    run(first.path, output, Scripted())
    stands = "predictions.parquet.answers.sqlite: 4 responses are cached"
    assert tell(first) == f"{stands}."
    changed = "; the dataset has changed since, only rows that stayed the same are reused."
    assert tell(open_dataset(dataset(tmp_path / "d", rows(5)))) == stands + changed
    run(tmp_path / "d", output, Scripted(fails=["4"]))
    assert tell(open_dataset(tmp_path / "d")) == f"{stands}, 1 failed samples are retried."


def test_the_old_output_stands_until_the_new_one_is_whole(tmp_path, output):
    class Breaks(Scripted):
        def answer(self, records):
            raise RuntimeError("out of order")

    folder = dataset(tmp_path / "d", rows(3))
    run(folder, output, Scripted())
    first = output.read_bytes()
    with pytest.raises(RuntimeError):
        run(folder, output, Breaks(identity="another"))
    assert output.read_bytes() == first


def test_predictions_are_on_the_disk_before_they_have_their_name(tmp_path, output):
    folder = dataset(tmp_path / "d", rows(3))
    with watch_writes(output):
        run(folder, output, Scripted())


# What makes an answer another one

EDITS = {
    "text": lambda r: replace(r, messages=(Turn("user", (Part("image"), Part("text", "edited"))),)),
    "order of parts": lambda r: replace(r, messages=(Turn("user", r.messages[0].content[::-1]),)),
    "role": lambda r: replace(r, messages=(Turn("tool", r.messages[0].content),)),
    "earlier turn": lambda r: replace(r, messages=(Turn("system", (Part("text", "be brief"),)), *r.messages)),
    "picture": lambda r: replace(r, images=(Image(make_image("blue"), 1, format="PNG"),)),
    "detail of an image": lambda r: replace(r, images=(replace(r.images[0], detail="low"),)),
    "image under the old digest": lambda r: replace(
        r, images=(Image(make_image("blue"), 1, sha256=r.images[0].sha256, format="PNG"),)
    ),
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.slow
def test_an_edited_question_is_asked_again_and_no_other(tmp_path, output, edit):
    records = rows(5)
    run(dataset(tmp_path / "d", records), output, Scripted())
    records[2] = EDITS[edit](records[2])
    again = Scripted()
    run(dataset(tmp_path / "d", records), output, again)
    assert again.asked == ["2"]


@pytest.mark.parametrize(
    "edit",
    [
        lambda records: records[::-1],
        lambda records: records[:4],
        lambda records: [replace(r, id=f"new{r.id}", answer="another", category="c") for r in records],
        lambda records: [records[3], *records[:3], records[4]],
    ],
)
def test_order_ids_and_references_change_no_answer(tmp_path, output, edit):
    records = rows(5)
    run(dataset(tmp_path / "d", records), output, Scripted())
    edited, again = edit(records), Scripted()
    assert counts(run(dataset(tmp_path / "d", edited), output, again)) == (len(edited), 0, len(edited), 0)
    assert pq.read_table(output)["prediction"].to_pylist() == [r.messages[0].content[1].text.upper() for r in edited]


@pytest.mark.parametrize(
    "change",
    [
        {"options": ("black", "blue")},
        {"answer": "another"},
        {"answers": ("another",)},
        {"category": "c"},
        {"extra": {"difficulty": 2}},
    ],
)
def test_a_row_that_changed_is_asked_again_of_a_backend_that_sees_all_of_it(tmp_path, output, change):
    records, first = rows(5), Scripted()
    first.prompt_only = False
    run(dataset(tmp_path / "d", records), output, first)
    records[2] = replace(records[2], **change)
    moved = [replace(row, id=f"new{row.id}", sample="s", group="g") for row in records[::-1]]
    again = Scripted()
    again.prompt_only = False
    run(dataset(tmp_path / "d", moved), output, again)
    assert again.asked == ["new2"]


def test_an_inserted_row_is_asked_alone(tmp_path, output):
    records = rows(5)
    run(dataset(tmp_path / "d", records), output, Scripted())
    records.insert(2, record(99, make_image("red"), "inserted"))
    again = Scripted()
    run(dataset(tmp_path / "d", records), output, again)
    assert again.asked == ["99"]


def test_another_model_or_other_settings_share_no_answers(tmp_path, output):
    folder = dataset(tmp_path / "d", rows(3))
    run(folder, output, Scripted())
    for backend, options in (
        (Scripted(identity="another"), {}),
        (Scripted(), {"generation": Generation(temperature=0.5)}),
        (Scripted(), {"generation": Generation(stop=("\n",))}),
        (Scripted(), {"system": "be brief"}),
    ):
        assert run(folder, output, backend, **options).asked == 3


class Counting(Scripted):
    """A backend that says something else each time, as one that samples does."""

    def answer(self, records):
        answers = list(super().answer(records))
        asked = len(self.asked) - len(answers)
        return [replace(answer, text=str(asked + n)) for n, answer in enumerate(answers, 1)]


def test_rows_with_the_same_prompt_are_asked_one_by_one(tmp_path, output):
    records = [replace(record(i, make_image("red"), "the same"), variant=i) for i in range(3)]
    folder = dataset(tmp_path / "d", records)
    sampling = Counting()
    assert run(folder, output, sampling).asked == 3
    assert pq.read_table(output)["prediction"].to_pylist() == ["1", "2", "3"]
    again = Counting()
    assert counts(run(folder, output, again)) == (3, 0, 3, 0)
    assert again.asked == []
    assert pq.read_table(output)["prediction"].to_pylist() == ["1", "2", "3"]


# Options of the run


def test_a_limit_takes_the_first_rows_and_the_rest_follows_later(tmp_path, output):
    folder = dataset(tmp_path / "d", rows(8))
    assert counts(run(folder, output, Scripted(), limit=3)) == (3, 3, 0, 0)
    table = pq.read_table(output)
    assert table["id"].to_pylist() == ["0", "1", "2"]
    assert json.loads(table.schema.metadata[RUN_METADATA])["partial"] is True
    assert counts(run(folder, output, Scripted())) == (8, 5, 3, 0)
    assert json.loads(pq.read_schema(output).metadata[RUN_METADATA])["partial"] is False


def test_the_system_text_takes_the_place_of_the_row_s_own(tmp_path, output):
    with_own = replace(record(0, "a"), messages=(Turn("system", (Part("text", "old"),)), *record(0, "a").messages))
    backend = Scripted()
    run(dataset(tmp_path / "d", [with_own, record(1, "b")]), output, backend, system="new")
    assert [[turn.role for turn in prompt] for prompt in backend.prompts] == [["system", "user"]] * 2
    assert {prompt[0].content[0].text for prompt in backend.prompts} == {"new"}


# Rows that no model can be asked about


def test_a_file_without_images_fails_the_rows_that_show_some(tmp_path, output):
    records = [record(0, make_image("red"), "seen"), record(1, "text only")]
    run(dataset(tmp_path / "d", records), output, Scripted())
    backend = Scripted(identity="another")
    summary = run(output, tmp_path / "second.parquet", backend)
    row = pq.read_table(tmp_path / "second.parquet").to_pylist()[0]
    assert (summary.failed, backend.asked) == (1, ["1"])
    assert "the prompt shows 1 images, the row holds 0" in row["prediction_error"]


def test_a_record_that_ends_with_the_model_s_own_turn_is_not_asked(tmp_path, output):
    taught = replace(record(0, "a"), messages=(*record(0, "a").messages, Turn("assistant", (Part("text", "b"),))))
    backend = Scripted()
    assert run(dataset(tmp_path / "d", [taught]), output, backend).failed == 1
    assert backend.asked == []


def test_a_backend_that_gives_too_few_answers_ends_the_run(tmp_path, output):
    class Short(Scripted):
        def answer(self, records):
            return super().answer(records)[:-1]

    with pytest.raises(Error, match="gave 3 answers for 4 rows"):
        run(dataset(tmp_path / "d", rows(4)), output, Short())


def test_half_a_surrogate_pair_in_a_reply_becomes_a_replacement_character(tmp_path, output):
    class Cut(Scripted):
        def answer(self, records):
            return [Answer("cut \ud83d") for _ in records]

    run(dataset(tmp_path / "d", rows(1)), output, Cut())
    assert pq.read_table(output)["prediction"].to_pylist() == ["cut \ufffd"]


def test_a_backend_may_shrink_its_batches_while_it_runs(tmp_path, output):
    class Shrinks(Scripted):
        def answer(self, records):
            self.batch_size = 2
            return super().answer(records)

    backend = Shrinks(batch_size=5)
    run(dataset(tmp_path / "d", rows(10)), output, backend)
    assert [len(batch) for batch in backend.batches] == [5, 2, 2, 1]
