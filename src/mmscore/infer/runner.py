"""Ask a backend for every row of a dataset: order kept, nothing asked twice, failures kept as states.

The dataset is read once, batch by batch. What the backend answers is in the store before more is
asked: group by group, or, of a backend that streams, row by row as places become free. The
predictions file is written along the way and appears at the end, or, with the rows so far, when the
process is told to stop.
"""

import contextlib
import time
from collections import defaultdict, deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from mmconvert import __version__
from mmconvert.errors import Error
from mmconvert.record import PICTURE_COLUMNS, SCHEMA, Part, Record, Turn, from_arrow
from mmconvert.store import Dataset
from mmscore.answers import FAILED, OK, Answer, AnswerStore
from mmscore.infer.backend import GENERATE, LIKELIHOOD, Backend, Generation, Streaming, file_identity
from mmscore.infer.dialogs import COLUMNS, ROW, Dialogs
from mmscore.infer.first_picture import first_picture_then_text
from mmscore.infer.ledger import ELSEWHERE, UNASKED, Ledger, Summary, refusal
from mmscore.infer.predictions_file import PredictionWriter
from mmscore.infer.progress import Advance
from mmscore.infer.protocol import Playing
from mmscore.infer.several_replies import asked_again, output_rows, reply_keys

PROMPT_VERSION = 1
"""Raised when the way a record becomes a prompt changes; old answers are then asked again."""

_T = TypeVar("_T")
_COLUMNS = [name for name in SCHEMA.names if name != "attachments"]


@dataclass(frozen=True, slots=True)
class Job:
    """What to ask, and of whom.

    Attributes:
        dataset: The rows.
        output: The predictions file that shall appear.
        backend: Who answers.
        plugin: The backend's name as the user gave it.
        generation: How replies are generated.
        system: System turn for every row, in the place of the row's own; None leaves rows as they are.
        limit: Only the first rows of the dataset; None for all.
        continue_final_message: Ask for the rest of a reply that the last turn begins.
        method: How the backend answers, see `ModelOptions`.
        n: Replies a row, from 1.
        interleave: False shows the first picture only, before the text.
        protocol: How replies become the history of later rounds; None leaves the dataset's history.
        task: Digest of all that a caller wants to know the file by; None for nothing.
    """

    dataset: Dataset
    output: Path
    backend: Backend
    plugin: str
    generation: Generation
    system: str | None = None
    limit: int | None = None
    continue_final_message: bool = False
    method: str = GENERATE
    n: int = 1
    interleave: bool = True
    protocol: Playing | None = None
    task: str | None = None

    @property
    def num_asked(self) -> int:
        """Rows of the dataset that are asked about."""
        return self.dataset.num_rows if self.limit is None else min(self.limit, self.dataset.num_rows)

    @property
    def num_rows(self) -> int:
        """Rows of the output."""
        return self.num_asked * self.n


def predict(job: Job, store: AnswerStore, advance: Advance) -> Summary:
    """Answer every row of a dataset and write the predictions file.

    Args:
        job: What to ask, and of whom.
        store: Where answers are kept, held by this process.
        advance: Called with the rows done and failed after each group.

    Returns:
        Counts; rows = answered + failed.

    Raises:
        Error: The dataset or the store cannot be read, or the output cannot be written. Whatever
            raises, the answers so far are in the store.
    """
    start = time.monotonic()
    settings = (file_identity(job.plugin), job.backend.identity, job.method, PROMPT_VERSION, asdict(job.generation))
    ledger = Ledger(store, settings, advance, total=job.num_rows, chooses=job.method == LIKELIHOOD)
    if store.shared:
        _in_company(job, ledger)
    with (
        store.held.turn(),
        PredictionWriter(job.output, model=job.backend.name, method=job.method, about=_about(job)) as writer,
        contextlib.closing(_answered(job, ledger)) as rows,
    ):
        for batch, answers in rows:
            writer.write(batch, answers)
    ledger.summary.output, ledger.summary.seconds = str(job.output), round(time.monotonic() - start, 3)
    return ledger.summary


def _about(job: Job) -> dict[str, Any]:
    return {
        "mmscore": __version__,
        "dataset_fingerprint": job.dataset.fingerprint,
        "dataset_rows": job.dataset.num_rows,
        "rows": job.num_rows,
        "partial": job.num_asked < job.dataset.num_rows,
        "model": job.backend.identity,
        "generation": asdict(job.generation),
        "system": job.system,
        "n": job.n,
        "protocol": job.protocol.spec if job.protocol else None,
        **({} if job.task is None else {"task": job.task}),
    }


def _batches(job: Job, columns: Sequence[str] = _COLUMNS) -> Iterator[pa.RecordBatch]:
    left = job.num_asked
    for batch in job.dataset.batches(columns):
        if left <= 0:
            return
        missing = set(columns) - set(batch.schema.names) - set(PICTURE_COLUMNS)
        if missing:
            raise Error(f"{job.dataset.path}: is no dataset of ours, it lacks {', '.join(sorted(missing))}.")
        if "images" not in batch.schema.names and "image_info" in batch.schema.names:
            batch = batch.drop_columns(["image_info"])
        yield batch.slice(0, left)
        left -= batch.num_rows


def _one_ahead(items: Iterator[_T]) -> Iterator[_T]:
    """Fetch the next item in a thread while one is used; items are never None.

    A batch of large pictures takes as long to read as many a reply to come.
    """
    with ThreadPoolExecutor(max_workers=1) as thread:
        upcoming = thread.submit(next, items, None)
        while (item := upcoming.result()) is not None:
            upcoming = thread.submit(next, items, None)
            yield item


def _asked(record: Record, job: Job) -> Record:
    """Put the system turn in the place of the record's own, and pictures where the model takes them."""
    if not job.interleave:
        record = first_picture_then_text(record)
    if job.system is None:
        return record
    rest = record.messages[1:] if record.messages and record.messages[0].role == "system" else record.messages
    return replace(record, messages=(Turn("system", (Part("text", job.system),)), *rest))


@dataclass(frozen=True, slots=True)
class _Read:
    """Rows as the output holds them, as they are asked, their keys, and why some are not asked at all."""

    rows: pa.RecordBatch
    records: Sequence[Record]
    keys: Sequence[str]
    known: Sequence[Answer | None]


def _read(job: Job, ledger: Ledger) -> Iterator[_Read]:
    for batch in _batches(job):
        records = [_asked(record, job) for record in from_arrow(batch)]
        keys = reply_keys([ledger.key(record) for record in records], job.n)
        records = asked_again(records, job.n)
        yield _Read(output_rows(batch, job.n), records, keys, [_refused(record, job) for record in records])


def _read_round(job: Job, ledger: Ledger, dialogs: Dialogs, number: int) -> Iterator[_Read]:
    """Read the rows of one round of all dialogs, with what was said before."""
    start = 0
    for batch in _batches(job):
        rows, start = dialogs.of_round(batch, start, number), start + batch.num_rows
        if rows.num_rows:
            records = asked_again([_asked(record, job) for record in from_arrow(rows)], job.n)
            pairs = [dialogs.prepare(record) for record in records]
            keys = [ledger.key(record) for record, _ in pairs]
            known = [reason or _refused(record, job) for record, reason in pairs]
            yield _Read(output_rows(rows, job.n), [record for record, _ in pairs], keys, known)


def _refused(record: Record, job: Job) -> Answer | None:
    return refusal(record, continues=job.continue_final_message)


_Rows = Generator[tuple[pa.RecordBatch, Sequence[Answer]]]
"""Rows in the order of the dataset, with their answers."""


def _answered(job: Job, ledger: Ledger) -> _Rows:
    ledger.begin()
    if job.protocol is not None:
        return _by_rounds(job, job.protocol, ledger)
    return _ask(_read(job, ledger), job.backend, ledger, job.num_rows)


def _by_rounds(job: Job, playing: Playing, ledger: Ledger) -> _Rows:
    """Answer the first rounds, then the second ones with what was said in the first; rows come at the end."""
    dialogs = Dialogs(playing, _batches(job, COLUMNS), chosen=job.method == LIKELIHOOD)
    answers: defaultdict[int, list[Answer]] = defaultdict(list)
    total = 0
    for number, count in dialogs.rows.items():
        total += count * job.n
        with contextlib.closing(
            _ask(_read_round(job, ledger, dialogs, number), job.backend, ledger, total)
        ) as round_rows:
            for rows, found in round_rows:
                dialogs.listen(rows, found)
                for row, answer in zip(rows[ROW].to_pylist(), found, strict=True):
                    answers[row].append(answer)
    start = 0
    for batch in _batches(job, [name for name in _COLUMNS if name not in PICTURE_COLUMNS]):
        numbers, start = range(start, start + batch.num_rows), start + batch.num_rows
        yield output_rows(batch, job.n), [answer for number in numbers for answer in answers[number]]


def _ask(reads: Iterator[_Read], backend: Backend, ledger: Ledger, total: int) -> _Rows:
    """Answer rows; `total` of all that the ledger knows then."""
    if isinstance(backend, Streaming):
        return _as_they_come(_one_ahead(reads), backend, ledger, total)
    return _in_groups(_one_ahead(reads), backend, ledger)


def _in_company(job: Job, ledger: Ledger) -> None:
    """Answer the rows that no other process is asking about, until there are none, whoever asked them."""
    while True:
        with contextlib.closing(_answered(job, ledger)) as rows:
            for _ in rows:
                pass
        if not ledger.elsewhere:
            return
        ledger.wait()


def _in_groups(reads: Iterator[_Read], backend: Backend, ledger: Ledger) -> _Rows:
    """Answer one batch of rows after the other, in groups of the backend's size."""
    for read in reads:
        found = ledger.look_up(read.known, read.keys)
        # Rows of like size together waste the least padding; the largest first, so that memory runs out early.
        todo = sorted((i for i, answer in enumerate(found) if answer is None), key=lambda i: -_size(read.records[i]))
        while group := ledger.take(todo, read.keys, backend.batch_size) if todo else []:
            try:
                replies = backend.answer([read.records[i] for i in group])
            except KeyboardInterrupt:
                yield read.rows, [answer or UNASKED for answer in found]
                raise
            if len(replies) != len(group):
                raise Error(f"backend {backend.name}: gave {len(replies)} answers for {len(group)} rows.")
            ledger.keep([(read.keys[i], reply) for i, reply in zip(group, replies, strict=True)])
            for i, reply in zip(group, replies, strict=True):
                found[i] = reply
            todo = [i for i in todo if found[i] is None]
        ledger.leave([read.keys[i] for i in todo])
        yield read.rows, [answer or ELSEWHERE for answer in found]


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Rows that were read and wait for answers; their pictures are with the questions under way only."""

    rows: pa.RecordBatch
    keys: Sequence[str]
    answers: list[Answer | None]

    def complete(self) -> bool:
        return all(answer is not None for answer in self.answers)


def _as_they_come(reads: Iterator[_Read], backend: Streaming, ledger: Ledger, total: int) -> _Rows:
    """Hand out rows as the backend draws them; no row waits for a slower one, only the file does."""
    waiting: deque[_Waiting] = deque()
    places: dict[int, tuple[_Waiting, int]] = {}

    def questions() -> Generator[Record]:
        drawn = 0
        for read in reads:
            rows = _Waiting(_without_pictures(read.rows), read.keys, ledger.look_up(read.known, read.keys))
            waiting.append(rows)
            for index, record in enumerate(read.records):
                if rows.answers[index] is not None:
                    continue
                if not ledger.take([index], read.keys, 1):
                    ledger.leave([read.keys[index]])
                    rows.answers[index] = ELSEWHERE
                    continue
                places[drawn] = rows, index
                drawn += 1
                yield record

    def finished() -> Iterator[tuple[pa.RecordBatch, Sequence[Answer]]]:
        while waiting and waiting[0].complete():
            read = waiting.popleft()
            yield read.rows, [answer for answer in read.answers if answer is not None]

    try:
        with contextlib.closing(questions()) as asked, contextlib.closing(backend.stream(asked)) as replies:
            for group in replies:
                if not all(position in places for position, _ in group):
                    raise Error(f"backend {backend.name}: answered a row that it was not asked, or one twice.")
                found = [(*places.pop(position), answer) for position, answer in group]
                ledger.keep([(read.keys[index], answer) for read, index, answer in found])
                for read, index, answer in found:
                    read.answers[index] = answer
                yield from finished()
    except KeyboardInterrupt:
        for read in waiting:
            yield read.rows, [answer or UNASKED for answer in read.answers]
        raise
    yield from finished()
    if (left := total - ledger.rows) > 0:
        raise Error(f"backend {backend.name}: left {left} of {total} rows without an answer.")


def _without_pictures(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.drop_columns([name for name in PICTURE_COLUMNS if name in batch.schema.names])


def _size(record: Record) -> int:
    """Guess the length of a prompt, in characters; a picture is worth about a thousand."""
    return 1000 * len(record.images) + sum(len(part.text) for turn in record.messages for part in turn.content)


def resume_note(store: AnswerStore, dataset: Dataset) -> str:
    """Say what a resumed run finds: how many answers stand, and whether the dataset is another one."""
    counts = store.count()
    if not counts:
        return ""
    said = f"{store.path.name}: {counts.get(OK, 0)} answers stand"
    if counts.get(FAILED):
        said += f", {counts[FAILED]} failed rows are asked again"
    if store.previous_fingerprint not in ("", dataset.fingerprint):
        said += "; the dataset has changed since, only rows that stayed the same are reused"
    return said + "."
