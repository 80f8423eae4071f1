"""What `mmconvert stats` and `mmconvert.stats` do: know a dataset from one pass over its columns."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import pyarrow as pa

from mmconvert.core.errors import Error, UsageError, take_first_line
from mmconvert.core.notebook import show_html
from mmconvert.core.progress import Done, show_progress
from mmconvert.core.record import LETTERS, list_missing_columns
from mmconvert.curation.count_part import (
    CHOICE,
    COUNTED,
    LIST_FIELDS,
    ROLES,
    SIZE_SHIFT,
    TEXT_FIELDS,
    YES_NO,
    Counts,
    StatsTask,
    count_part,
)
from mmconvert.curation.tallies import Numbers, Repeats, Spread, Values, describe_spread
from mmconvert.curation.token_counts import open_token_counter
from mmconvert.curation.writing_systems import NAMES
from mmconvert.dataset.dataset import Dataset, open_dataset
from mmconvert.io.parquet import open_checked_parquet
from mmconvert.io.parquet_footer import find_bad_footer, read_footer, sum_text_bytes
from mmconvert.pipeline.convert import load_engine
from mmconvert.storage.source_files import open_source, watch_sources

_PART_ROWS = 20_000
"""Rows of a task, at least, where a file has so many: a task costs about as long as a hundred rows."""
_AT_ONCE = 32
"""Tasks whose counts are held at the same time."""
_IMAGE_BYTES = "images.list.element.bytes"
_SIDES = (224, 336, 448, 672, 1024, 2048)
_RATIOS = (0.5, 0.75, 0.95, 1.05, 4 / 3, 2)
"""Upper bounds of the bins of aspect ratios."""


class StatsOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is counted, and where: the options of `mmconvert stats` and the keywords of `stats`."""

    split: str | None = None
    """Count only this split. [default: all]"""
    config_name: str | None = None
    """Configuration of the dataset, if it has several."""
    processor: str | None = None
    """Count tokens as this processor makes them; a folder or a Hub id. No model is loaded."""
    context: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Context length in tokens; samples above it are counted. [default: the maximum length of the tokenizer]"""
    workers: int | None = None
    """Processes that count at the same time. The result is always the same. [default: as many as there are cores]"""
    engine: str = "local"
    """Where the work runs: local, or ray for a Ray cluster."""


class SplitCounts(msgspec.Struct, frozen=True):
    """Size of a split; bytes of its images are None where its files do not say them."""

    samples: int
    images: int
    image_bytes: int | None


class FieldCounts(msgspec.Struct, frozen=True):
    """Samples that have something in a field, those that have not, and their share of all, 0 to 1."""

    filled: int
    missing: int
    missing_share: float


class LetterCounts(msgspec.Struct, frozen=True):
    """How often a letter is an answer, its share of all, and the share if options were right by chance, 0 to 1."""

    count: int
    share: float
    even_share: float


class WritingCounts(msgspec.Struct, frozen=True):
    """Letters of a writing system, samples that have any, and samples in which it is the most frequent."""

    letters: int
    samples: int
    samples_mostly: int


class TokenCounts(msgspec.Struct, frozen=True):
    """Tokens under a processor.

    Attributes:
        processor: Its folder or id.
        sample: Tokens of each sample, text and images.
        text: Tokens of the text of each sample.
        image: Tokens of each image.
        context: The context length; None where none is known.
        above_context: Samples that are longer.
        above_context_share: Their share of all, 0 to 1.
    """

    processor: str
    sample: Spread
    text: Spread
    image: Spread
    context: int | None
    above_context: int
    above_context_share: float


class DatasetStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """What a dataset is like as a whole.

    Attributes:
        dataset: What was counted.
        samples: Samples of all splits.
        images: Images that turns show.
        image_bytes: Their bytes; None where a file does not say them.
        images_without_bytes: Those that are only a URL.
        splits: Split -> its size.
        images_per_sample: Images of each sample.
        image_formats: Format -> images.
        width: Pixels of each image.
        height: Pixels of each image.
        longer_side: Pixels of the longer side of each image.
        aspect_ratio: Width by height of each image.
        turns_per_sample: Turns of each sample.
        roles: Role -> turns.
        characters: Characters of a whole sample's turns (`sample`), of a turn by role, and of the answer.
        writing_systems: Writing system -> letters and samples of it.
        values: Column -> value -> samples; a column with more than 10,000 values is empty.
        answer_letters: Letter -> how often it is the answer, of questions with options.
        yes_no_answers: Answer -> samples, of questions for yes or no.
        fields: Column -> samples with and without a value.
        repeats: Ids, questions, images and samples that stand there twice; samples with the same turns and images.
        tokens: Tokens, None without a processor.
    """

    dataset: str
    samples: int
    images: int
    image_bytes: int | None
    images_without_bytes: int
    splits: dict[str, SplitCounts]
    images_per_sample: Spread
    image_formats: dict[str, int]
    width: Spread
    height: Spread
    longer_side: Spread
    aspect_ratio: Spread
    turns_per_sample: Spread
    roles: dict[str, int]
    characters: dict[str, Spread]
    writing_systems: dict[str, WritingCounts]
    values: dict[str, dict[str, int]]
    answer_letters: dict[str, LetterCounts]
    yes_no_answers: dict[str, int]
    fields: dict[str, FieldCounts]
    repeats: dict[str, Repeats]
    tokens: TokenCounts | None = None

    def __repr__(self) -> str:
        """Say what was counted in one line."""
        return f"<DatasetStatistics {self.dataset!r}, {self.samples:,} samples, {self.images:,} images>"

    def _repr_html_(self) -> str | None:
        return show_html(self)

    def to_json(self) -> dict[str, Any]:
        """Give the object that `mmconvert stats --json` prints."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


@watch_sources()
def compute_stats(dataset: str | Path, options: StatsOptions, *, quiet: bool) -> DatasetStatistics:
    """Count a dataset in one pass; images are neither decoded nor read.

    Args:
        dataset: A converted dataset: its folder, its URL or its Hub id; or a predictions file.
        options: What is counted.
        quiet: No progress on standard error.

    Raises:
        UsageError: Nothing is there, a name is unknown, or an option does not fit.
        Error: The dataset is damaged, or was not created by mmconvert.
    """
    if options.context is not None and options.processor is None:
        raise UsageError("--context: tokens are counted under a processor. Add --processor ID, or leave it out.")
    engine = load_engine(options.engine)
    opened = open_dataset(dataset, options.config_name)
    splits = _choose_splits(opened, options.split)
    parts = [part for split in splits for file in opened.files[split] for part in _plan_file(file, split, options)]
    rows = sum(opened.splits[split] for split in splits)
    counts = Counts()
    workers = min(options.workers or engine.cores(), max(len(parts), 1))
    with engine.crew(workers) as run, show_progress("stats", quiet=quiet) as advance:
        for start in range(0, len(parts), _AT_ONCE):
            for counted in run(count_part, parts[start : start + _AT_ONCE]):
                counts.merge(counted)
                advance(Done(counts.sum_total("samples"), total=rows))
    image_bytes = {split: _sum_image_bytes(opened.files[split]) for split in splits}
    return _describe(str(dataset), counts, image_bytes, options)


def _choose_splits(opened: Dataset, split: str | None) -> list[str]:
    if split is None:
        return list(opened.files)
    opened.require_split(split)
    return [split]


def _plan_file(file: Path, split: str, options: StatsOptions) -> Iterator[StatsTask]:
    """Cut a file into parts of whole row groups.

    Raises:
        Error: Its columns are not those of a dataset, or it is damaged.
    """
    try:
        parquet = open_checked_parquet(file)
    except (pa.ArrowException, OSError) as error:
        raise Error(f"{file}: cannot be read as parquet ({take_first_line(error)}). Write it again.") from None
    if missing := list_missing_columns(parquet.schema_arrow.names):
        message = f"{file}: is not a dataset created by mmconvert, it lacks the columns {', '.join(missing)}."
        raise Error(f"{message} Convert it first: mmconvert convert {file} -o DIR.")
    groups: list[int] = []
    first = row = 0
    for group in range(parquet.num_row_groups):
        groups.append(group)
        row += parquet.metadata.row_group(group).num_rows
        if row - first >= _PART_ROWS or group == parquet.num_row_groups - 1:
            yield StatsTask(file, tuple(groups), split, first, options.processor)
            groups, first = [], row


def _sum_image_bytes(files: list[Path]) -> int | None:
    """Add up the bytes of images as the footers of files say them; None where one does not."""
    total = 0
    for file in files:
        schema = open_checked_parquet(file).schema
        leaves = [schema.column(index).path for index in range(len(schema))]
        if _IMAGE_BYTES not in leaves:
            continue
        with open_source(file, 0) as opened:
            footer = read_footer(opened)
        if footer is None or find_bad_footer(footer, schema):
            return None
        size = sum_text_bytes(footer, leaves.index(_IMAGE_BYTES))
        if size is None:
            return None
        total += size
    return total


def _describe(
    dataset: str, counts: Counts, image_bytes: dict[str, int | None], options: StatsOptions
) -> DatasetStatistics:
    samples, totals = counts.sum_total("samples"), counts.totals
    known = [size for size in image_bytes.values() if size is not None]
    lengths = {
        name: counts.numbers[name] for name in ("sample", *(f"{role} turn" for role in (*ROLES, "other")), "answer")
    }
    return DatasetStatistics(
        dataset=dataset,
        samples=samples,
        images=counts.sum_total("images"),
        image_bytes=sum(known) if len(known) == len(image_bytes) else None,
        images_without_bytes=counts.sum_total("images without bytes"),
        splits={
            split: SplitCounts(totals[split, "samples"], totals[split, "images"], size)
            for split, size in image_bytes.items()
        },
        images_per_sample=counts.numbers["images"].describe(),
        image_formats=counts.values["image_format"].list_sorted(),
        **_describe_sizes(counts.numbers["size"]),
        turns_per_sample=counts.numbers["turns"].describe(),
        roles=counts.values["role"].list_sorted(),
        characters={name: numbers.describe() for name, numbers in lengths.items() if len(numbers.values)},
        writing_systems=_describe_writing(counts),
        values={name: found for name in (*COUNTED, "source_format") if (found := counts.values[name].list_sorted())},
        answer_letters=_describe_letters(counts.values[CHOICE], counts.numbers["options"]),
        yes_no_answers=counts.values[YES_NO].list_sorted(),
        fields=_describe_fields(counts, samples),
        repeats={name: counts.keys[name].describe() for name in ("id", "question", "image", "sample")},
        tokens=_describe_tokens(counts, samples, options),
    )


def _describe_sizes(sizes: Numbers) -> dict[str, Spread]:
    widths, heights = sizes.values >> SIZE_SHIFT, sizes.values & (1 << SIZE_SHIFT) - 1
    measured = {
        "width": (widths, _SIDES),
        "height": (heights, _SIDES),
        "longer_side": (np.maximum(widths, heights), _SIDES),
        "aspect_ratio": (widths / np.maximum(heights, 1), _RATIOS),
    }
    found = {}
    for name, (values, bounds) in measured.items():
        distinct, places = np.unique(values, return_inverse=True)
        together = np.zeros(len(distinct), np.int64)
        np.add.at(together, places, sizes.counts)
        found[name] = describe_spread(distinct, together, bounds)
    return found


def _describe_writing(counts: Counts) -> dict[str, WritingCounts]:
    found = {
        name: WritingCounts(*(counts.totals[kind, name] for kind in ("letters", "samples with", "samples mostly")))
        for name in NAMES
        if counts.totals["letters", name]
    }
    return dict(sorted(found.items(), key=lambda pair: -pair[1].letters))


def _describe_letters(answers: Values, options: Numbers) -> dict[str, LetterCounts]:
    """Count letters, of answers with several each one; options that nobody names have a count of 0."""
    found = dict.fromkeys(LETTERS, 0)
    for answer, count in answers.counts.items():
        for letter in answer:
            found[letter] += count
    total, rows = sum(found.values()), int(options.counts.sum())
    described = {}
    for place, (letter, count) in enumerate(found.items()):
        offered = options.values > place
        if count or offered.any():
            even = (options.counts[offered] / options.values[offered]).sum().item() / rows
            described[letter] = LetterCounts(count, count / total, even)
    return described


def _describe_fields(counts: Counts, samples: int) -> dict[str, FieldCounts]:
    found = {}
    for name in (*TEXT_FIELDS, *LIST_FIELDS, "preference", "extra"):
        if any(key == f"with {name}" for _, key in counts.totals):
            filled = counts.sum_total(f"with {name}")
            shown = "images" if name == "image_info" else name
            found[shown] = FieldCounts(filled, samples - filled, (samples - filled) / max(samples, 1))
    return found


def _describe_tokens(counts: Counts, samples: int, options: StatsOptions) -> TokenCounts | None:
    if options.processor is None:
        return None
    context = options.context or open_token_counter(options.processor).context
    above = 0 if context is None else counts.numbers["tokens"].count_above(context)
    spreads = {name: counts.numbers[key].describe() for name, key in _TOKENS.items()}
    return TokenCounts(
        options.processor, **spreads, context=context, above_context=above, above_context_share=above / max(samples, 1)
    )


_TOKENS = {"sample": "tokens", "text": "text tokens", "image": "image tokens"}
