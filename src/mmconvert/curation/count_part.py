"""What is counted of one part of a dataset: the columns of some row groups, without the bytes of images."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mmconvert.core.arrow import to_numpy
from mmconvert.core.errors import Error, take_first_line
from mmconvert.core.record import LETTERS
from mmconvert.curation.batch_columns import (
    Turns,
    encode_texts,
    hash_rows,
    read_digests,
    read_list,
    read_texts,
    read_turns,
    sum_within,
)
from mmconvert.curation.tallies import Integers, Keys, Numbers, Values
from mmconvert.curation.token_counts import TokenCounter, open_token_counter
from mmconvert.curation.writing_systems import NAMES, find_writing_systems
from mmconvert.io.parquet import open_checked_parquet, read_batches

TURN_COLUMNS = ("messages", "prompt", "completion", "chosen", "rejected")
"""Columns that hold turns, in one layout or another."""
COUNTED = ("task", "dataset", "subset", "category", "l2_category")
"""Columns whose values are counted."""
TEXT_FIELDS = ("question", "answer", "label", "hint", "instruction", *COUNTED[1:], "group", "solution", "prediction")
LIST_FIELDS = ("options", "answers", "image_info")
"""Columns of which it is counted how many rows have something in them."""
_OTHERS = ("id", "task", "preference", "source", "extra")
COLUMNS = tuple(dict.fromkeys((*TURN_COLUMNS, *TEXT_FIELDS, *LIST_FIELDS, *_OTHERS)))
"""All columns that are read."""

ROLES = ("system", "user", "assistant", "tool")
SIZE_SHIFT = 32
"""Bits between width and height of a size that is one number."""
CHOICE, YES_NO = "multiple_choice", "yes_no"

_BATCH_ROWS = 8_192
_EMPTY_JSON = "{}"


class StatsTask(msgspec.Struct, frozen=True):
    """What one task counts.

    Attributes:
        file: A file of the dataset.
        groups: Row groups of it.
        split: The split it belongs to.
        first: Number of its first row in the file.
        processor: Folder or Hub id of a processor that counts tokens; None for no tokens.
    """

    file: Path
    groups: tuple[int, ...]
    split: str
    first: int
    processor: str | None = None


class Counts(msgspec.Struct):
    """All that is counted, by name; counts of several parts add up.

    Attributes:
        totals: Rows, images and what else is one number, by split and name.
        numbers: Lengths, sizes and other numbers a row, turn or image.
        values: Texts of columns with few of them.
        keys: Hashes that tell what stands there twice.
    """

    totals: Counter[tuple[str, str]] = msgspec.field(default_factory=Counter)
    numbers: defaultdict[str, Numbers] = msgspec.field(default_factory=lambda: defaultdict(Numbers))
    values: defaultdict[str, Values] = msgspec.field(default_factory=lambda: defaultdict(Values))
    keys: defaultdict[str, Keys] = msgspec.field(default_factory=lambda: defaultdict(Keys))

    def merge(self, other: "Counts") -> None:
        """Add what another part has counted."""
        self.totals.update(other.totals)
        for name, numbers in other.numbers.items():
            self.numbers[name].merge(numbers)
        for name, values in other.values.items():
            self.values[name].merge(values)
        for name, keys in other.keys.items():
            self.keys[name].merge(keys)

    def sum_total(self, name: str) -> int:
        """Add up a total over the splits."""
        return sum(count for (_, key), count in self.totals.items() if key == name)


def count_part(part: StatsTask) -> Counts:
    """Count one part.

    Raises:
        Error: The file is damaged, or a text is not UTF-8.
    """
    counts = Counts()
    counter = None if part.processor is None else open_token_counter(part.processor)
    row = part.first
    try:
        for batch in read_batches(part.file, list_columns(part.file), groups=part.groups, most_rows=_BATCH_ROWS):
            _count_batch(batch, counts, part, row, counter)
            row += batch.num_rows
    except UnicodeDecodeError:
        message = f"{part.file}: a text in rows {row:,} to {row + _BATCH_ROWS - 1:,} is not UTF-8."
        raise Error(f"{message} Convert the dataset again from its source.") from None
    except (pa.ArrowException, OSError) as error:
        raise Error(f"{part.file}: cannot be read as parquet ({take_first_line(error)}). Write it again.") from None
    return counts


def _count_batch(
    batch: pa.RecordBatch, counts: Counts, part: StatsTask, row: int, counter: TokenCounter | None
) -> None:
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    talks = {name: read_turns(column) for name, column in _list_turn_columns(columns)}
    images = _Images(columns.get("image_info"), batch.num_rows)
    counts.totals[part.split, "samples"] += batch.num_rows
    _count_fields(columns, counts, part.split)
    _count_turns([*talks.values()], counts, batch.num_rows)
    images.count(counts, part.split)
    _count_answers(columns, counts)
    spans = [span for turns in talks.values() for span in (
        (turns.texts.data, turns.texts.ends[turns.row_part_ends]), (turns.build_forms(), turns.row_part_ends)
    )]  # fmt: skip
    counts.keys["sample"].add(part.split, hash_rows([*spans, *images.spans]))
    _count_writing([*talks.values()], counts, batch.num_rows)
    if counter is not None:
        _count_tokens(batch, images, counts, counter, f"{part.file}: row {row:,}")


def _list_turn_columns(columns: dict[str, pa.Array]) -> Iterator[tuple[str, pa.Array]]:
    for name in TURN_COLUMNS:
        if name in columns:
            yield name, columns[name]
    pairs = columns.get("preference")
    if pairs is not None and pairs.null_count < len(pairs):
        yield from ((name, pairs.field(name)) for name in ("chosen", "rejected") if name not in columns)


def _count_fields(columns: dict[str, pa.Array], counts: Counts, split: str) -> None:
    for name in TEXT_FIELDS:
        if name in columns:
            texts = read_texts(columns[name])
            counts.totals[split, f"with {name}"] += int(np.count_nonzero(np.diff(texts.ends)))
    for name in LIST_FIELDS:
        if name in columns:
            counts.totals[split, f"with {name}"] += int(np.count_nonzero(np.diff(read_list(columns[name])[0])))
    if "preference" in columns:
        pairs = columns["preference"]
        counts.totals[split, "with preference"] += len(pairs) - pairs.null_count
    if "extra" in columns:
        names, rows = encode_texts(columns["extra"])
        empty = [n for n, text in enumerate(names) if text in ("", _EMPTY_JSON)]
        counts.totals[split, "with extra"] += len(rows) - int(np.isin(rows, empty).sum())
    for name in COUNTED:
        if name in columns:
            counts.values[name].add(_count_values(columns[name]))
    if "source" in columns:
        counts.values["source_format"].add(_count_values(columns["source"].field("format")))
    for name in ("id", "question"):
        texts = read_texts(columns[name])
        filled = np.diff(texts.ends) > 0
        counts.keys[name].add(split, hash_rows([(texts.data, texts.ends)])[filled])


def _count_values(column: pa.Array) -> dict[str, int]:
    """Count the different texts of a column; missing ones are left out."""
    names, rows = encode_texts(column)
    found = np.bincount(rows, minlength=len(names)).tolist()
    counted: Counter[str] = Counter()
    for name, count in zip(names, found, strict=True):
        if name:
            counted[name] += count
    return counted


def _count_turns(talks: Sequence[Turns], counts: Counts, rows: int) -> None:
    turns_of, characters_of = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    for turns in talks:
        turns_of += np.diff(turns.ends)
        lengths = sum_within(turns.texts.lengths, turns.part_ends)
        characters_of += sum_within(lengths, turns.ends)
        found = np.bincount(turns.roles, minlength=len(turns.role_names)).tolist()
        counts.values["role"].add(dict(zip(turns.role_names, found, strict=True)))
        for number, role in enumerate(turns.role_names):
            counts.numbers[f"{role if role in ROLES else 'other'} turn"].add(lengths[turns.roles == number])
    counts.numbers["turns"].add(turns_of)
    counts.numbers["sample"].add(characters_of)


class _Images:
    """The images of a batch: their facts, and which row each belongs to."""

    def __init__(self, column: pa.Array | None, rows: int) -> None:
        self.ends: Integers = np.zeros(rows + 1, np.int64)
        self.sizes: Integers = np.empty(0, np.int64)
        self.spans: list[tuple[npt.NDArray[Any], Integers]] = []
        self._formats: dict[str, int] = {}
        self._keys = np.empty(0, np.uint64)
        self._kept = 0
        if column is None:
            return
        self.ends, images = read_list(column)
        digests, urls = read_texts(images.field("sha256")), read_texts(images.field("url"))
        self.spans = [(digests.data, digests.ends[self.ends]), (urls.data, urls.ends[self.ends])]
        self._keys = read_digests(digests)
        self._formats = _count_values(images.field("format"))
        widths, heights = (_read_numbers(images.field(name)) for name in ("width", "height"))
        self.sizes = widths << SIZE_SHIFT | heights
        self._kept = int(np.count_nonzero(np.diff(digests.ends) == 0))

    @property
    def per_row(self) -> Integers:
        """How many images each row has."""
        return np.diff(self.ends)

    def count(self, counts: Counts, split: str) -> None:
        """Count what is known of them."""
        counts.totals[split, "images"] += len(self.sizes)
        counts.totals[split, "images without bytes"] += self._kept
        counts.numbers["images"].add(self.per_row)
        counts.numbers["size"].add(self.sizes[self.sizes > 0])
        counts.values["image_format"].add(self._formats)
        counts.keys["image"].add(split, self._keys)


def _read_numbers(column: pa.Array) -> Integers:
    """Give numbers, 0 where one is missing."""
    if column.null_count:
        return np.array([value or 0 for value in column.to_pylist()], np.int64)
    return to_numpy(column).astype(np.int64)


def _count_answers(columns: dict[str, pa.Array], counts: Counts) -> None:
    """Count answers of questions with options or yes and no, and the options of those that have an answer."""
    if "answer" not in columns or "task" not in columns:
        return
    tasks, task_of = encode_texts(columns["task"])
    answers, answer_of = encode_texts(columns["answer"])
    lengths = read_texts(columns["answer"]).lengths
    counts.numbers["answer"].add(lengths[lengths > 0])
    letters = [n for n, text in enumerate(answers) if text and set(text) <= set(LETTERS)]
    for task in (CHOICE, YES_NO):
        if task not in tasks:
            continue
        rows = task_of == tasks.index(task)
        if task == CHOICE:
            rows &= np.isin(answer_of, letters)
            counts.numbers["options"].add(np.diff(read_list(columns["options"])[0])[rows])
        found = np.bincount(answer_of[rows], minlength=len(answers)).tolist()
        counts.values[task].add({text: count for text, count in zip(answers, found, strict=True) if text and count})


def _count_writing(talks: Sequence[Turns], counts: Counts, rows: int) -> None:
    """Count letters by writing system: all of them, samples that have any, samples that have the most of one."""
    letters = np.zeros((len(NAMES) + 1, rows), np.int64)
    for turns in talks:
        systems = find_writing_systems(turns.texts.characters)
        ends = turns.texts.point_ends[turns.row_part_ends]
        for number in np.flatnonzero(np.bincount(systems, minlength=len(NAMES) + 1)).tolist():
            letters[number] += sum_within(systems == number, ends)
    letters[0] = 0
    mostly = np.bincount(letters.argmax(axis=0), minlength=len(NAMES) + 1).tolist()
    for number, name in enumerate(NAMES, 1):
        if found := int(letters[number].sum()):
            counts.totals["letters", name] += found
            counts.totals["samples with", name] += int(np.count_nonzero(letters[number]))
            counts.totals["samples mostly", name] += mostly[number]


def _count_tokens(batch: pa.RecordBatch, images: _Images, counts: Counts, counter: TokenCounter, where: str) -> None:
    counted = counter.count_tokens(batch.to_pylist(), images.sizes.tolist(), images.ends.tolist(), where)
    counts.numbers["text tokens"].add(counted.text)
    counts.numbers["image tokens"].add(counted.image)
    counts.numbers["tokens"].add(counted.sample)


def list_columns(file: Path) -> list[str]:
    """List the columns of a file that are read."""
    names = open_checked_parquet(file).schema_arrow.names
    return [name for name in COLUMNS if name in names]
