"""Rows go to the backend and come back in the order of the dataset.

A backend that streams draws them one by one. Any other gets them in groups: rows of like size within a
window, the largest first, so that little is padded and memory runs out early. What the next group needs
is made ready in a thread while the backend answers this one.
"""

import contextlib
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import msgspec
import pyarrow as pa

from mmconvert.core.errors import Error
from mmconvert.core.record import PICTURE_COLUMNS, Record
from mmscore.infer.backend import Backend, Batching, Streaming, Wary
from mmscore.infer.ledger import ELSEWHERE, UNASKED, Ledger
from mmscore.llm.response_cache import Answer

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


def answered(reads: Iterator[Read], backend: Backend, ledger: Ledger, total: int) -> Answered:
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
    ahead = _one_ahead(reads)
    asked = (
        _as_they_come(ahead, backend, ledger, waiting)
        if isinstance(backend, Streaming)
        else _in_groups(ahead, backend, ledger, waiting)
    )
    try:
        with contextlib.closing(asked) as steps:
            for _ in steps:
                yield from waiting.finished()
    except KeyboardInterrupt:
        yield from waiting.so_far()
        raise
    yield from waiting.finished()
    if (left := total - ledger.rows) > 0:
        raise Error(f"backend {backend.name}: left {left} of {total} rows without an answer.")


def _one_ahead(items: Iterator[_T]) -> Iterator[_T]:
    """Fetch the next item in a thread while one is used; items are never None.

    A batch of large pictures takes as long to read as many a reply to come.
    """
    with ThreadPoolExecutor(max_workers=1) as thread:
        upcoming = thread.submit(next, items, None)
        while (item := upcoming.result()) is not None:
            upcoming = thread.submit(next, items, None)
            yield item


class _Rows(msgspec.Struct, frozen=True):
    """Rows that wait for answers; their pictures are with the questions under way only."""

    rows: pa.RecordBatch
    keys: Sequence[str]
    answers: list[Answer | None]


class _Waiting:
    """Rows in the order of the dataset, until all before them are answered."""

    def __init__(self) -> None:
        self._rows: deque[_Rows] = deque()

    def add(self, read: Read, ledger: Ledger) -> _Rows:
        dropped = [name for name in PICTURE_COLUMNS if name in read.rows.schema.names]
        rows = _Rows(read.rows.drop_columns(dropped), read.keys, ledger.look_up(read.known, read.keys))
        self._rows.append(rows)
        return rows

    def finished(self) -> Answered:
        while self._rows and None not in self._rows[0].answers:
            rows = self._rows.popleft()
            yield rows.rows, [answer for answer in rows.answers if answer is not None]

    def so_far(self) -> Answered:
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


def _as_they_come(reads: Iterator[Read], backend: Streaming, ledger: Ledger, waiting: _Waiting) -> Generator[None]:
    """Hand out rows as the backend draws them; no row waits for a slower one, only the file does."""
    under_way: dict[int, _Question] = {}

    def drawn() -> Generator[Record]:
        count = 0
        for read in reads:
            for question in _questions(read, ledger, waiting):
                if not ledger.take([0], [question.key], 1):
                    _leave([question], ledger)
                    continue
                under_way[count] = question
                count += 1
                if isinstance(backend, Wary):
                    backend.proven = ledger.answered
                yield question.record

    with contextlib.closing(drawn()) as asked, contextlib.closing(backend.stream(asked)) as replies:
        for group in replies:
            if not all(position in under_way for position, _ in group):
                raise Error(f"backend {backend.name}: answered a row that it was not asked, or one twice.")
            _keep([under_way.pop(position) for position, _ in group], [answer for _, answer in group], ledger)
            yield


def _questions(read: Read, ledger: Ledger, waiting: _Waiting) -> Iterator[_Question]:
    rows = waiting.add(read, ledger)
    for index, record in enumerate(read.records):
        if rows.answers[index] is None:
            yield _Question(rows, index, record)


def _in_groups(reads: Iterator[Read], backend: Backend, ledger: Ledger, waiting: _Waiting) -> Generator[None]:
    """Ask group after group."""
    with (
        contextlib.closing(_groups(reads, backend, ledger, waiting)) as groups,
        contextlib.closing(_replies(groups, backend)) as replied,
    ):
        for questions, replies in replied:
            if len(replies) != len(questions):
                raise Error(f"backend {backend.name}: gave {len(replies)} answers for {len(questions)} rows.")
            _keep(questions, replies, ledger)
            yield


def _replies(
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


def _groups(reads: Iterator[Read], backend: Backend, ledger: Ledger, waiting: _Waiting) -> Generator[list[_Question]]:
    """Form the groups of a window, and take the rows of each as it is drawn."""
    size = backend.size if isinstance(backend, Batching) else _size
    for window in _windows(reads, backend, ledger, waiting):
        sized = sorted(((size(question.record), question) for question in window), key=lambda pair: -pair[0])
        sizes, left = [one for one, _ in sized], [question for _, question in sized]
        while left:
            most = backend.together(sizes) if isinstance(backend, Batching) else backend.batch_size
            taken = ledger.take(range(len(left)), [question.key for question in left], most)
            if not taken:
                break
            yield [left[number] for number in taken]
            gone = set(taken)
            sizes = [one for number, one in enumerate(sizes) if number not in gone]
            left = [question for number, question in enumerate(left) if number not in gone]
        _leave(left, ledger)


def _windows(
    reads: Iterator[Read], backend: Backend, ledger: Ledger, waiting: _Waiting
) -> Iterator[Sequence[_Question]]:
    """Gather rows to choose groups from, as long as their pictures are not too many."""
    window: list[_Question] = []
    held = 0
    for read in reads:
        for question in _questions(read, ledger, waiting):
            window.append(question)
            held += sum(len(image.bytes or b"") for image in question.record.images)
        if len(window) >= _WINDOW_GROUPS * backend.batch_size or held >= _WINDOW_BYTES:
            yield window
            window, held = [], 0
    yield window


def _size(record: Record) -> int:
    """Guess the length of a prompt, in characters; a picture is worth about a thousand."""
    return 1000 * len(record.images) + sum(len(part.text) for turn in record.messages for part in turn.content)
