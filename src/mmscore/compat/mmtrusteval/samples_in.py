"""The samples of a task: out of a dataset class or a file, through its method, into a dataset of ours."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from mmconvert.core.errors import Error, RowError, UsageError, show, suggest_spelling
from mmconvert.core.record import Record
from mmconvert.core.text.turns import find_last_user_turn, join_texts, list_last_turn_images
from mmconvert.dataset.dataset import DatasetWriter
from mmconvert.kits.mmtrusteval.datasets import NAMES
from mmconvert.pipeline.convert import Records, read
from mmscore.compat.mmtrusteval.classes import BaseDataset, made_of
from mmscore.compat.mmtrusteval.registry import registry
from mmscore.compat.mmtrusteval.samples import ImageTxtSample, Sample, TxtSample, collate_fn
from mmscore.compat.mmtrusteval.task import Task
from mmscore.infer.adapters.mmtrusteval import write_image
from mmscore.kits.mmtrusteval.rows import FORMAT
from mmscore.kits.mmtrusteval.scored_log import EXTRA, IMAGE_PATH


class Stored(msgspec.Struct, frozen=True):
    """Samples as a dataset of ours.

    Attributes:
        folder: The dataset; the id of a row is the number of its sample.
        samples: What the model and the evaluators are given, as `collate_fn` has it.
        rejected: Samples that could not be stored, each with its reason.
    """

    folder: Path
    samples: Sequence[Mapping[str, Any]]
    rejected: Sequence[str]


class FileDataset(BaseDataset):
    """The samples of a file that `mmconvert` reads, for a dataset without a class.

    Attributes:
        rejected: Rows that are no samples, each with its reason.
    """

    def __init__(self, dataset_id: str, method_hook: Any, records: Records, folder: Path) -> None:
        """Read a file; pictures become files of the folder."""
        self.dataset_ids = (dataset_id,)
        super().__init__(dataset_id, method_hook)
        self.rejected: list[str] = []
        folder.mkdir(parents=True, exist_ok=True)
        for record in records:
            try:
                self.dataset.append(sample_of(record, folder))
            except Error as error:
                self.rejected.append(str(error))
        self.rejected += map(str, records.rejects)


def sample_of(record: Record, folder: Path) -> Sample:
    """Give the last user turn of a record as a sample.

    Args:
        record: The record.
        folder: Where its picture becomes a file.

    Raises:
        Error: The turn shows several pictures, or there is none.
    """
    at, images = find_last_user_turn(record), list_last_turn_images(record)
    if at is None or len(images) > 1:
        raise Error(f"row {record.id}: a sample is one user turn with at most one picture (got {len(images)}).")
    text, target = join_texts(record.messages[at]), None if record.label is None else json.loads(record.label)
    extra = record.extra.get(EXTRA)
    if not images:
        return TxtSample(text, target, extra)
    return ImageTxtSample(write_image(images[0], folder), text, target, extra)


def stored(task: Task, place: Path, source: str | None = None, image_roots: Sequence[Path] = ()) -> Stored:
    """Take all samples of a task, and store them.

    Args:
        task: The task.
        place: Folder for `samples.json` and `dataset`.
        source: File with the samples, for a dataset without a class.
        image_roots: Folders of its pictures; () for its own.

    Raises:
        UsageError: The dataset or the method is unknown, or a setting of it.
        Error: A sample cannot be made, or none can be stored.
    """
    dataset = _dataset(task, place, source, image_roots)
    rejected: list[str] = [*getattr(dataset, "rejected", ())]
    samples = list(_samples(dataset, task.dataset_id, rejected))
    file = place / "samples.json"
    file.write_text(_json(task.dataset_id, samples), encoding="utf-8")
    records = read(file, FORMAT, image_roots=_roots(samples), dataset=task.dataset_id)
    paths = [_path(sample) for sample in samples]
    folder = place / "dataset"
    with DatasetWriter(folder, overwrite=folder.exists(), about={"format": FORMAT}) as writer:
        writer.write(_with_path(record, paths[int(record.id)]) for record in records)
        if len(records.rejects) == len(samples):
            reason = next(iter([*rejected, *records.rejects]), "it is empty")
            raise Error(f"{task.dataset_id}: no sample can be asked about: {reason}")
    return Stored(folder, samples, (*rejected, *map(str, records.rejects)))


def _dataset(task: Task, place: Path, source: str | None, image_roots: Sequence[Path]) -> Any:
    method = None
    for name, settings in task.method_cfg.items():
        method = made_of(registry.get_method_class(name), name, f"method_cfg, {name}", settings or {})
    if source is not None:
        if task.dataset_cfg:
            raise UsageError(f"dataset_cfg: is for a class, and the samples are of {source}. Leave one of them out.")
        records = read(source, image_roots=tuple(image_roots))
        return FileDataset(task.dataset_id, method, records, place / "images")
    known = registry.list_datasets()
    if task.dataset_id not in known:
        hint = suggest_spelling(task.dataset_id, {*known, *NAMES})
        raise UsageError(
            f"dataset_id: no class for {task.dataset_id!r}.{hint} Give the file of its class, --import FILE.py, or "
            "its samples, --input FILE."
        )
    settings = {**task.dataset_cfg, "method_hook": method}
    return made_of(registry.get_dataset_class(task.dataset_id), task.dataset_id, "dataset_cfg", settings)


def _samples(dataset: Any, name: str, rejected: list[str]) -> Iterator[Mapping[str, Any]]:
    """Give the samples in order, but for those that a method refuses."""
    for number in range(len(dataset)):
        try:
            yield collate_fn([dataset[number]])[0]
        except RowError as error:
            rejected.append(f"{name}[{number}]: {error}")
        except UsageError as error:
            raise UsageError(f"{name}[{number}]: {error}") from error


def _path(sample: Mapping[str, Any]) -> str | None:
    content = sample["message"][0]["content"]
    return None if isinstance(content, str) else content[IMAGE_PATH]


def _with_path(record: Record, path: str | None) -> Record:
    # As in a log of the kit, so that ours names the picture too.
    return record if path is None else replace(record, extra={**record.extra, IMAGE_PATH: path})


def _absolute(path: str) -> str:
    return path if "://" in path else os.path.realpath(path)


def _roots(samples: Sequence[Mapping[str, Any]]) -> tuple[Path, ...]:
    files = [_absolute(path) for sample in samples if (path := _path(sample)) is not None and "://" not in path]
    return (Path(os.path.commonpath([os.path.dirname(file) for file in files])),) if files else ()


def _json(name: str, samples: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for sample in samples:
        content, path = sample["message"][0]["content"], _path(sample)
        asked = {"text": content} if path is None else {IMAGE_PATH: _absolute(path), "text": content["text"]}
        extra = {} if sample["extra"] is None else {EXTRA: sample["extra"]}
        rows.append({**asked, "target": sample["target"], **extra})
    try:
        return json.dumps(rows, indent=1, default=_plain)
    except TypeError as error:
        raise Error(f"{name}: a sample holds what JSON cannot say: {error}.") from None


def _plain(value: Any) -> Any:
    if not hasattr(value, "tolist"):
        raise TypeError(show(value))
    return value.tolist()  # a number or an array of NumPy
