"""Ask a backend for every row of a dataset: order kept, nothing asked twice, failures kept as states.

The dataset is read once, batch by batch. What the backend answers is in the store before more is
asked: group by group, or, of a backend that streams, row by row as places become free. The
predictions file is written along the way and appears at the end, or, with the rows so far, when the
process is told to stop.

Rows come back in the order of the dataset. A backend that streams draws them one by one. Any other gets them in
groups: rows of like size within a window, the largest first, so that little is padded and memory runs out early.
What the next group needs is made ready in a thread while the backend answers this one.
"""

import contextlib
import time
from collections import defaultdict, deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from mmconvert.core.errors import Error
from mmconvert.core.progress import Advance
from mmconvert.core.record import (
    IMAGE_COLUMNS,
    SCHEMA,
    Part,
    Record,
    Turn,
    from_arrow,
    remove_preference,
    upgrade_batch,
)
from mmconvert.dataset.dataset import Dataset
from mmconvert.storage.source_files import require_unchanged
from mmscore.infer.backend import LIKELIHOOD, Backend, Batching, KnownBackend, Streaming, Wary
from mmscore.infer.conversations import COLUMNS, ROW, RunConversations
from mmscore.infer.first_image import keep_first_image
from mmscore.infer.job import Job, describe_job, list_settings, list_used_columns
from mmscore.infer.ledger import ELSEWHERE, UNASKED, Ledger, Summary, refuse_record
from mmscore.infer.predictions_file import PredictionWriter
from mmscore.infer.protocol import Playing
from mmscore.infer.repeats import build_response_keys, repeat_records, repeat_rows
from mmscore.llm.response_cache import FAILED, OK, Answer, AnswerStore

Answered = Generator[tuple[pa.RecordBatch, Sequence[Answer]]]
"""Rows in the order of the dataset, with their answers."""

_T = TypeVar("_T")
_WINDOW_GROUPS = 8
_WINDOW_BYTES = 256 << 20


class Read(msgspec.Struct, frozen=True):
    """Rows that were read.

    Attributes:
        rows: The rows as the output holds them.
        records: The same as they are asked.
        keys: The key of each row's answer.
        known: Answers of rows that are not to be asked, None for the others.
    """

    rows: pa.RecordBatch
    records: Sequence[Record]
    keys: Sequence[str]
    known: Sequence[Answer | None]


def answer_rows(reads: Iterator[Read], backend: Backend, ledger: Ledger, total: int) -> Answered:
    """Have rows answered.

    Args:
        reads: The rows in the order of the dataset.
        backend: Who answers.
        ledger: What is answered already; keeps what comes.
        total: Rows of all that the ledger knows when these are done.

    Yields:
        Rows with their answers, as soon as all before them have theirs. Told to stop, it gives the rows
        that it came to as well, `UNASKED` where they have no answer, and then raises KeyboardInterrupt.

    Raises:
        Error: The backend answers other rows than it was asked, or the store has no room.
    """
    waiting = _Waiting()
    ahead = _prefetch_one(reads)
    asked = (
        _answer_streaming(ahead, backend, ledger, waiting)
        if isinstance(backend, Streaming)
        else _answer_groups(ahead, backend, ledger, waiting)
    )
    try:
        with contextlib.closing(asked) as steps:
            for _ in steps:
                yield from waiting.finish()
    except KeyboardInterrupt:
        yield from waiting.count_so_far()
        raise
    yield from waiting.finish()
    if (left := total - ledger.rows) > 0:
        raise Error(f"backend {backend.name}: left {left} of {total} rows without an answer.")


def _prefetch_one(items: Iterator[_T]) -> Iterator[_T]:
    """Fetch the next item in a thread while one is used; items are never None.

    A batch of large images takes as long to read as many a response to come.
    """
    with ThreadPoolExecutor(max_workers=1) as thread:
        upcoming = thread.submit(next, items, None)
        while (item := upcoming.result()) is not None:
            upcoming = thread.submit(next, items, None)
            yield item


class _Rows(msgspec.Struct, frozen=True):
    """Rows that wait for answers; their images are with the questions under way only."""

    rows: pa.RecordBatch
    keys: Sequence[str]
    answers: list[Answer | None]


class _Waiting:
    """Rows in the order of the dataset, until all before them are answered."""

    def __init__(self) -> None:
        self._rows: deque[_Rows] = deque()

    def add(self, read: Read, ledger: Ledger) -> _Rows:
        dropped = [name for name in IMAGE_COLUMNS if name in read.rows.schema.names]
        rows = _Rows(read.rows.drop_columns(dropped), read.keys, ledger.look_up(read.known, read.keys))
        self._rows.append(rows)
        return rows

    def finish(self) -> Answered:
        while self._rows and None not in self._rows[0].answers:
            rows = self._rows.popleft()
            yield rows.rows, [answer for answer in rows.answers if answer is not None]

    def count_so_far(self) -> Answered:
        for rows in self._rows:
            yield rows.rows, [answer or UNASKED for answer in rows.answers]


class _Question(msgspec.Struct, frozen=True):
    rows: _Rows
    index: int
    record: Record

    @property
    def key(self) -> str:
        return self.rows.keys[self.index]

    def answer(self, answer: Answer) -> None:
        self.rows.answers[self.index] = answer


def _keep(questions: Sequence[_Question], answers: Sequence[Answer], ledger: Ledger) -> None:
    ledger.keep([(question.key, answer) for question, answer in zip(questions, answers, strict=True)])
    for question, answer in zip(questions, answers, strict=True):
        question.answer(answer)


def _leave(questions: Sequence[_Question], ledger: Ledger) -> None:
    ledger.leave([question.key for question in questions])
    for question in questions:
        question.answer(ELSEWHERE)


def _answer_streaming(reads: Iterator[Read], backend: Streaming, ledger: Ledger, waiting: _Waiting) -> Generator[None]:
    """Hand out rows as the backend draws them; no row waits for a slower one, only the file does."""
    under_way: dict[int, _Question] = {}

    def drawn() -> Generator[Record]:
        count = 0
        for read in reads:
            for question in _list_questions(read, ledger, waiting):
                if not ledger.take([0], [question.key], 1):
                    _leave([question], ledger)
                    continue
                under_way[count] = question
                count += 1
                if isinstance(backend, Wary):
                    backend.proven = ledger.answered
                yield question.record

    with contextlib.closing(drawn()) as asked, contextlib.closing(backend.stream(asked)) as responses:
        for group in responses:
            if not all(position in under_way for position, _ in group):
                raise Error(
                    f"backend {backend.name}: returned a response for a sample that was not sent, or two for one."
                )
            _keep([under_way.pop(position) for position, _ in group], [answer for _, answer in group], ledger)
            yield


def _list_questions(read: Read, ledger: Ledger, waiting: _Waiting) -> Iterator[_Question]:
    rows = waiting.add(read, ledger)
    for index, record in enumerate(read.records):
        if rows.answers[index] is None:
            yield _Question(rows, index, record)


def _answer_groups(reads: Iterator[Read], backend: Backend, ledger: Ledger, waiting: _Waiting) -> Generator[None]:
    """Ask group after group."""
    with (
        contextlib.closing(_form_groups(reads, backend, ledger, waiting)) as groups,
        contextlib.closing(_answer_batches(groups, backend)) as replied,
    ):
        for questions, responses in replied:
            if len(responses) != len(questions):
                raise Error(f"backend {backend.name}: gave {len(responses)} answers for {len(questions)} rows.")
            _keep(questions, responses, ledger)
            yield


def _answer_batches(
    groups: Iterator[Sequence[_Question]], backend: Backend
) -> Generator[tuple[Sequence[_Question], Sequence[Answer]]]:
    """Answer groups, each made ready while the one before is answered where the backend can do that."""
    if not isinstance(backend, Batching):
        for group in groups:
            yield group, backend.answer([question.record for question in group])
        return
    # The ledger is asked here, where the store was opened; the thread sees nothing but records.
    with ThreadPoolExecutor(max_workers=1) as thread:
        ahead: deque[tuple[Sequence[_Question], Future[Any]]] = deque()
        for group in groups:
            ahead.append((group, thread.submit(backend.prepare, [question.record for question in group])))
            if len(ahead) > 1:
                questions, ready = ahead.popleft()
                yield questions, backend.answer_prepared(ready.result())
        for questions, ready in ahead:
            yield questions, backend.answer_prepared(ready.result())


def _form_groups(
    reads: Iterator[Read], backend: Backend, ledger: Ledger, waiting: _Waiting
) -> Generator[list[_Question]]:
    """Form the groups of a window, and take the rows of each as it is drawn."""
    size = backend.size if isinstance(backend, Batching) else _estimate_size
    for window in _gather_windows(reads, backend, ledger, waiting):
        sized = sorted(((size(question.record), question) for question in window), key=lambda pair: -pair[0])
        left = [question for _, question in sized]
        while left:
            records = [question.record for question in left]
            most = backend.together(records) if isinstance(backend, Batching) else backend.batch_size
            taken = ledger.take(range(len(left)), [question.key for question in left], most)
            if not taken:
                break
            yield [left[number] for number in taken]
            gone = set(taken)
            left = [question for number, question in enumerate(left) if number not in gone]
        _leave(left, ledger)


def _gather_windows(
    reads: Iterator[Read], backend: Backend, ledger: Ledger, waiting: _Waiting
) -> Iterator[Sequence[_Question]]:
    """Gather rows to choose groups from, as long as their images are not too many."""
    window: list[_Question] = []
    held = 0
    for read in reads:
        for question in _list_questions(read, ledger, waiting):
            window.append(question)
            held += sum(len(image.bytes or b"") for image in question.record.images)
        if len(window) >= _WINDOW_GROUPS * backend.batch_size or held >= _WINDOW_BYTES:
            yield window
            window, held = [], 0
    yield window


def _estimate_size(record: Record) -> int:
    """Guess the length of a prompt, in characters; an image is worth about a thousand."""
    return 1000 * len(record.images) + sum(len(part.text) for turn in record.messages for part in turn.content)


_COLUMNS = [name for name in SCHEMA.names if name != "attachments"]


def predict(job: Job, store: AnswerStore, advance: Advance) -> Summary:
    """Answer every row of a dataset and write the predictions file.

    Args:
        job: What to ask, and of whom.
        store: Where answers are kept, held by this process.
        advance: Called with the rows done after each group.

    Returns:
        Counts; rows = answered + failed.

    Raises:
        Error: The dataset or the store cannot be read, or the output cannot be written. Whatever
            raises, the answers so far are in the store.
        ChangedError: The dataset changed meanwhile.
    """
    start = time.monotonic()
    ledger = Ledger(store, list_settings(job), advance, total=job.num_rows, columns=list_used_columns(job))
    if store.shared:
        try:
            _answer_shared(job, ledger)
        except KeyboardInterrupt:
            write_stopped(job, store)
            raise
    with store.held.turn(), _open_writer(job) as writer, contextlib.closing(_answer_job(job, ledger)) as rows:
        _write(rows, writer)
    ledger.summary.output, ledger.summary.seconds = str(job.output), round(time.monotonic() - start, 3)
    return ledger.summary


def write_stopped(job: Job, store: AnswerStore) -> None:
    """Write the predictions file of a shared run that was told to stop: all rows, those without an answer as skipped.

    Args:
        job: What was asked; the backend is asked nothing.
        store: Where answers are kept, shared by this process.

    Raises:
        Error: The dataset or the store cannot be read, or the output cannot be written.
    """
    ledger = _Closed(store, list_settings(job), lambda done: None, total=job.num_rows, columns=list_used_columns(job))
    with (
        contextlib.suppress(KeyboardInterrupt),
        store.held.turn(),
        _open_writer(job) as writer,
        contextlib.closing(_answer_job(job, ledger)) as rows,
    ):
        for batch, answers in rows:
            writer.write(batch, [UNASKED if answer is ELSEWHERE else answer for answer in answers])
        # What the writer knows a stopped run by.
        raise KeyboardInterrupt


class _QuestionLeftError(Exception):
    """A row has no answer yet."""


class _Search(Ledger):
    """A ledger that ends with the first row that is to be asked."""

    def take(self, wanted: Sequence[int], keys: Sequence[str], most: int) -> list[int]:
        """End."""
        raise _QuestionLeftError


def is_answered(job: Job, store: AnswerStore) -> bool:
    """Tell whether every row has its answer, so that nobody is to be asked.

    Args:
        job: What would be asked; the backend is asked nothing.
        store: Where answers are kept.

    Raises:
        Error: The dataset or the store cannot be read.
    """
    ledger = _Search(store, list_settings(job), lambda done: None, total=job.num_rows, columns=list_used_columns(job))
    nobody = replace(job, backend=KnownBackend(job.backend.name, job.backend.identity))
    try:
        with contextlib.closing(_answer_job(nobody, ledger)) as rows:
            for _ in rows:
                pass
    except _QuestionLeftError:
        return False
    return True


class _Closed(Ledger):
    """A ledger in which every row has what is stored for it, failures too, or is left to others."""

    def look_up(self, known: Sequence[Answer | None], keys: Sequence[str]) -> list[Answer | None]:
        """Give what stands."""
        stored = self._store.get(keys)
        self._left += len(keys)
        return [answer or stored.get(key, ELSEWHERE) for answer, key in zip(known, keys, strict=True)]


def _open_writer(job: Job) -> PredictionWriter:
    return PredictionWriter(job.output, model=job.backend.name, method=job.method, about=describe_job(job))


def _write(rows: Answered, writer: PredictionWriter) -> None:
    try:
        for batch, answers in rows:
            writer.write(batch, answers)
        require_unchanged()
    except KeyboardInterrupt as stop:
        # It may have come here, and the rows do not know of it: they give what they have, and raise it.
        writer.write(*rows.throw(stop))
        for batch, answers in rows:
            writer.write(batch, answers)
        raise


def _read_batches(job: Job, columns: Sequence[str] = _COLUMNS) -> Iterator[pa.RecordBatch]:
    left = job.num_asked
    for batch in job.dataset.batches(columns, first=job.first):
        if left <= 0:
            return
        batch = upgrade_batch(batch, columns)
        missing = set(columns) - set(batch.schema.names) - set(IMAGE_COLUMNS)
        if missing:
            raise Error(
                f"{job.dataset.path}: is not a dataset created by mmconvert, it lacks {', '.join(sorted(missing))}."
            )
        if "images" not in batch.schema.names and "image_info" in batch.schema.names:
            batch = batch.drop_columns(["image_info"])
        yield batch.slice(0, left)
        left -= batch.num_rows


def _prepare_record(record: Record, job: Job) -> Record:
    """Put the system turn in the place of the record's own, images where the model takes them; leave responses out."""
    record = remove_preference(record)
    if not job.interleave:
        record = keep_first_image(record)
    if job.system is None:
        return record
    rest = record.messages[1:] if record.messages and record.messages[0].role == "system" else record.messages
    return replace(record, messages=(Turn("system", (Part("text", job.system),)), *rest))


def _read(job: Job, ledger: Ledger) -> Iterator[Read]:
    for batch in _read_batches(job):
        records = [_prepare_record(record, job) for record in from_arrow(batch)]
        keys = build_response_keys([ledger.key(record) for record in records], job.n)
        records = repeat_records(records, job.n)
        yield Read(repeat_rows(batch, job.n), records, keys, [_refuse_record(record, job) for record in records])


def _read_round(job: Job, ledger: Ledger, conversations: RunConversations, number: int) -> Iterator[Read]:
    """Read the rows of one round of all conversations, with what was said before."""
    start = 0
    for batch in _read_batches(job):
        rows, start = conversations.select_round(batch, start, number), start + batch.num_rows
        if rows.num_rows:
            records = repeat_records([_prepare_record(record, job) for record in from_arrow(rows)], job.n)
            pairs = [conversations.prepare(record) for record in records]
            keys = [ledger.key(record) for record, _ in pairs]
            known = [reason or _refuse_record(record, job) for record, reason in pairs]
            yield Read(repeat_rows(rows, job.n), [record for record, _ in pairs], keys, known)


def _refuse_record(record: Record, job: Job) -> Answer | None:
    return refuse_record(record, continues=job.continue_final_message)


def _answer_job(job: Job, ledger: Ledger) -> Answered:
    ledger.begin()
    if job.protocol is not None:
        return _answer_rounds(job, job.protocol, ledger)
    return answer_rows(_read(job, ledger), job.backend, ledger, job.num_rows)


def _answer_rounds(job: Job, playing: Playing, ledger: Ledger) -> Answered:
    """Answer the first rounds, then the second ones with what was said in the first; rows come at the end.

    Told to stop, it gives all rows, `UNASKED` where they have no answer, and then raises KeyboardInterrupt.
    """
    answers: defaultdict[int, list[Answer]] = defaultdict(list)
    try:
        _play(job, playing, ledger, answers)
    except KeyboardInterrupt:
        yield from _write_all_rows(job, answers)
        raise
    yield from _write_all_rows(job, answers)


def _play(job: Job, playing: Playing, ledger: Ledger, answers: defaultdict[int, list[Answer]]) -> None:
    """Answer round after round, into the answers by the row's number in the dataset."""
    conversations = RunConversations(playing, _read_batches(job, COLUMNS), chosen=job.method == LIKELIHOOD)
    total = 0
    for number, count in conversations.rows.items():
        total += count * job.n
        with contextlib.closing(
            answer_rows(_read_round(job, ledger, conversations, number), job.backend, ledger, total)
        ) as round_rows:
            for rows, found in round_rows:
                for row, answer in zip(rows[ROW].to_pylist(), found, strict=True):
                    answers[row].append(answer)
                conversations.add_answers(rows, found)


def _write_all_rows(job: Job, answers: Mapping[int, Sequence[Answer]]) -> Answered:
    start = 0
    for batch in _read_batches(job, [name for name in _COLUMNS if name not in IMAGE_COLUMNS]):
        numbers, start = range(start, start + batch.num_rows), start + batch.num_rows
        found = [[*answers.get(number, ()), *[UNASKED] * job.n][: job.n] for number in numbers]
        yield repeat_rows(batch, job.n), [answer for row in found for answer in row]


def _answer_shared(job: Job, ledger: Ledger) -> None:
    """Answer the rows that no other process is asking about, until there are none, whoever asked them."""
    while True:
        with contextlib.closing(_answer_job(job, ledger)) as rows:
            for _ in rows:
                pass
        if not ledger.elsewhere:
            return
        ledger.wait()


def resume_note(store: AnswerStore, dataset: Dataset) -> str:
    """Say what a resumed run finds: how many answers stand, and whether the dataset is another one."""
    counts = store.count()
    if not counts:
        return ""
    said = f"{store.path.name}: {counts.get(OK, 0)} responses are cached"
    if counts.get(FAILED):
        said += f", {counts[FAILED]} failed samples are retried"
    if store.previous_fingerprint not in ("", dataset.fingerprint):
        said += "; the dataset has changed since, only rows that stayed the same are reused"
    return said + "."
