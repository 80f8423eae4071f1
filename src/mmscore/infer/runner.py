"""Ask a backend for every row of a dataset: order kept, nothing asked twice, failures kept as states.

The dataset is read once, batch by batch. What the backend answers is in the store before more is
asked: group by group, or, of a backend that streams, row by row as places become free. The
predictions file is written along the way and appears at the end.
"""

import contextlib
import hashlib
import time
from collections import Counter, deque
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
from mmscore.answers import FAILED, OK, Answer, AnswerStore, answer_key, failed
from mmscore.infer.backend import Backend, Generation, Streaming, file_identity
from mmscore.infer.predictions_file import PredictionWriter
from mmscore.infer.progress import Advance

PROMPT_VERSION = 1
"""Raised when the way a record becomes a prompt changes; old answers are then asked again."""

METHOD = "generate"
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
    """

    dataset: Dataset
    output: Path
    backend: Backend
    plugin: str
    generation: Generation
    system: str | None = None
    limit: int | None = None
    continue_final_message: bool = False

    @property
    def num_rows(self) -> int:
        """Rows of the output."""
        return self.dataset.num_rows if self.limit is None else min(self.limit, self.dataset.num_rows)


@dataclass(slots=True)
class Summary:
    """What a run did: rows in the output, rows asked now, rows reused from the store, rows without answer.

    Tokens are those of the rows of the output, whichever run asked them, as far as they are known.
    """

    rows: int = 0
    asked: int = 0
    reused: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    output: str = ""


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
    summary = Summary(output=str(job.output))
    ledger = _Ledger(job, store, advance, summary)
    backend = job.backend
    rows = _as_they_come(job, backend, ledger) if isinstance(backend, Streaming) else _in_groups(job, ledger)
    with (
        PredictionWriter(job.output, model=backend.name, method=METHOD, about=_about(job)) as writer,
        contextlib.closing(rows),
    ):
        for batch, answers in rows:
            writer.write(batch, answers)
    summary.seconds = round(time.monotonic() - start, 3)
    return summary


def _about(job: Job) -> dict[str, Any]:
    return {
        "mmscore": __version__,
        "dataset_fingerprint": job.dataset.fingerprint,
        "dataset_rows": job.dataset.num_rows,
        "rows": job.num_rows,
        "partial": job.num_rows < job.dataset.num_rows,
        "model": job.backend.identity,
        "generation": asdict(job.generation),
        "system": job.system,
    }


def _batches(job: Job) -> Iterator[pa.RecordBatch]:
    left = job.num_rows
    for batch in job.dataset.batches(_COLUMNS):
        if left <= 0:
            return
        missing = set(_COLUMNS) - set(batch.schema.names) - set(PICTURE_COLUMNS)
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


def _asked(record: Record, system: str | None) -> Record:
    """Put the system turn in the place of the record's own."""
    if system is None:
        return record
    rest = record.messages[1:] if record.messages and record.messages[0].role == "system" else record.messages
    return replace(record, messages=(Turn("system", (Part("text", system),)), *rest))


class _Ledger:
    """Knows each row's key and stored answer, keeps new ones, and counts."""

    def __init__(self, job: Job, store: AnswerStore, advance: Advance, summary: Summary) -> None:
        self._settings = (
            file_identity(job.plugin),
            job.backend.identity,
            METHOD,
            PROMPT_VERSION,
            asdict(job.generation),
        )
        self._continues = job.continue_final_message
        self._store = store
        self._advance = advance
        self._summary = summary
        self._seen: Counter[str] = Counter()

    @property
    def rows(self) -> int:
        """Rows that have an answer."""
        return self._summary.rows

    def look_up(self, records: Sequence[Record], keys: Sequence[str]) -> list[Answer | None]:
        """Give the answers of rows that need not be asked, None for the others."""
        stored = self._store.get(keys)
        found = [
            _refusal(record, continues=self._continues) or _reusable(stored.get(key))
            for record, key in zip(records, keys, strict=True)
        ]
        self._summary.reused += sum(answer is not None and answer.status == OK for answer in found)
        self._count([answer for answer in found if answer is not None])
        return found

    def keep(self, answers: Sequence[tuple[str, Answer]]) -> None:
        """Store answers by key."""
        self._store.put(answers)
        self._summary.asked += len(answers)
        self._count([answer for _, answer in answers])

    def key(self, record: Record) -> str:
        """Digest the row's prompt and the settings; the n-th row with the same prompt has its own answer."""
        prompt = answer_key(_prompt(record))
        self._seen[prompt] += 1
        return answer_key(prompt, self._seen[prompt], *self._settings)

    def _count(self, answers: Sequence[Answer]) -> None:
        for answer in answers:
            self._summary.rows += 1
            self._summary.failed += answer.status != OK
            self._summary.prompt_tokens += answer.prompt_tokens or 0
            self._summary.completion_tokens += answer.completion_tokens or 0
        self._advance(self._summary.rows, self._summary.failed)


def _read(job: Job, ledger: _Ledger) -> Iterator[tuple[pa.RecordBatch, list[Record], list[str]]]:
    """Read rows as they are asked, with their keys."""
    for batch in _batches(job):
        records = [_asked(record, job.system) for record in from_arrow(batch)]
        yield batch, records, [ledger.key(record) for record in records]


_Rows = Generator[tuple[pa.RecordBatch, Sequence[Answer]]]
"""Rows in the order of the dataset, with their answers."""


def _in_groups(job: Job, ledger: _Ledger) -> _Rows:
    """Answer one batch of rows after the other, in groups of the backend's size."""
    backend = job.backend
    for batch, records, keys in _one_ahead(_read(job, ledger)):
        found = ledger.look_up(records, keys)
        # Rows of like size together waste the least padding; the largest first, so that memory runs out early.
        todo = sorted((i for i, answer in enumerate(found) if answer is None), key=lambda i: -_size(records[i]))
        while todo:
            group, todo = todo[: backend.batch_size], todo[backend.batch_size :]
            replies = backend.answer([records[i] for i in group])
            if len(replies) != len(group):
                raise Error(f"backend {backend.name}: gave {len(replies)} answers for {len(group)} rows.")
            ledger.keep([(keys[i], reply) for i, reply in zip(group, replies, strict=True)])
            for i, reply in zip(group, replies, strict=True):
                found[i] = reply
        yield batch, [answer for answer in found if answer is not None]


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Rows that were read and wait for answers; their pictures are with the questions under way only."""

    rows: pa.RecordBatch
    keys: Sequence[str]
    answers: list[Answer | None]

    def complete(self) -> bool:
        return all(answer is not None for answer in self.answers)


def _as_they_come(job: Job, backend: Streaming, ledger: _Ledger) -> _Rows:
    """Hand out rows as the backend draws them; no row waits for a slower one, only the file does."""
    waiting: deque[_Waiting] = deque()
    places: dict[int, tuple[_Waiting, int]] = {}

    def questions() -> Generator[Record]:
        drawn = 0
        for batch, records, keys in _one_ahead(_read(job, ledger)):
            read = _Waiting(_without_pictures(batch), keys, ledger.look_up(records, keys))
            waiting.append(read)
            for index, record in enumerate(records):
                if read.answers[index] is None:
                    places[drawn] = read, index
                    drawn += 1
                    yield record

    def finished() -> Iterator[tuple[pa.RecordBatch, Sequence[Answer]]]:
        while waiting and waiting[0].complete():
            read = waiting.popleft()
            yield read.rows, [answer for answer in read.answers if answer is not None]

    with contextlib.closing(questions()) as asked, contextlib.closing(backend.stream(asked)) as replies:
        for group in replies:
            if not all(position in places for position, _ in group):
                raise Error(f"backend {backend.name}: answered a row that it was not asked, or one twice.")
            found = [(*places.pop(position), answer) for position, answer in group]
            ledger.keep([(read.keys[index], answer) for read, index, answer in found])
            for read, index, answer in found:
                read.answers[index] = answer
            yield from finished()
    yield from finished()
    if (left := job.num_rows - ledger.rows) > 0:
        raise Error(f"backend {backend.name}: left {left} of {job.num_rows} rows without an answer.")


def _without_pictures(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.drop_columns([name for name in PICTURE_COLUMNS if name in batch.schema.names])


def _prompt(record: Record) -> dict[str, Any]:
    return {
        "messages": [[turn.role, [[part.type, part.text] for part in turn.content]] for turn in record.messages],
        # Digests of the bytes themselves: a picture that was exchanged may still carry the old digest.
        "images": [
            [hashlib.sha256(image.bytes).hexdigest() if image.bytes is not None else image.url, image.detail]
            for image in record.images
        ],
    }


def _reusable(stored: Answer | None) -> Answer | None:
    """Pass over a stored failure: it is asked again."""
    return stored if stored is not None and stored.status == OK else None


def _refusal(record: Record, *, continues: bool) -> Answer | None:
    """Refuse a row that no model can be asked about; None for the others."""
    parts = sum(part.type == "image" for turn in record.messages for part in turn.content)
    if parts != len(record.images):
        return failed(
            f"images: the prompt shows {parts} pictures, the row holds {len(record.images)}. "
            "Give the dataset itself, not a predictions file."
        )
    if not record.messages or (record.messages[-1].role == "assistant" and not continues):
        return failed(
            "messages: the last turn is the model's own, nothing is asked. "
            "Convert with --view eval, or let it go on with --continue-final-message."
        )
    return None


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
