"""Runs of `mmscore.infer.runner` with a backend that a test writes."""

from collections.abc import Callable, Sequence
from pathlib import Path

from mmconvert.core.record import Record
from mmconvert.dataset.dataset import DatasetWriter, open_dataset
from mmscore.infer.backend import Backend, Generation
from mmscore.infer.job import Job
from mmscore.infer.ledger import Summary
from mmscore.infer.runner import predict
from mmscore.llm.cache_lock import hold
from mmscore.llm.response_cache import Answer, AnswerStore, failed, store_path


class Says:
    """A backend that says what a function says, and keeps what it was asked; None is a failure."""

    name = identity = "says"

    def __init__(self, say: Callable[[Record], str | None], batch_size: int = 4) -> None:
        self.say = say
        self.batch_size = batch_size
        self.asked: list[Record] = []

    def answer(self, records: Sequence[Record]) -> list[Answer]:
        self.asked += records
        texts = [self.say(record) for record in records]
        return [failed("told to") if text is None else Answer(text) for text in texts]


def written(folder: Path, records: Sequence[Record]) -> Path:
    with DatasetWriter(folder, overwrite=folder.exists()) as writer:
        writer.write(records)
    return folder


def asked(folder: Path, output: Path, backend: Backend, *, share: bool = False, **options: object) -> Summary:
    """Predict a dataset of ours."""
    data = open_dataset(folder)
    job = Job(data, output, backend, backend.name, **{"generation": Generation(), **options})
    with hold(store_path(output), share=share) as held, AnswerStore(held, fingerprint=data.fingerprint) as store:
        return predict(job, store, lambda _done: None)


def said(record: Record) -> list[str]:
    """Give the texts of a record's turns, images left out."""
    return ["".join(part.text for part in turn.content) for turn in record.messages]
