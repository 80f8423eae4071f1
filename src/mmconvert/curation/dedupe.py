"""What `mmconvert dedupe` and `mmconvert.dedupe` do: a dataset without its duplicates."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import pyarrow as pa

from mmconvert.core.option_fields import copy_options
from mmconvert.curation.fingerprints import (
    FingerprintOptions,
    count_states,
    open_fingerprints,
    read_fingerprints,
)
from mmconvert.curation.groups import join_pairs
from mmconvert.curation.near_images import MOST_BITS, ImageIndex
from mmconvert.curation.near_texts import LEAST_SIMILARITY, TextIndex
from mmconvert.curation.numbering import ImageNumbers, TextNumbers, split_lists
from mmconvert.curation.subset import open_output_folder, require_converted, require_outside, write_subset
from mmconvert.dataset.dataset import Dataset, open_dataset
from mmconvert.storage.object_store import find_local
from mmconvert.storage.source_files import watch_sources

_COLUMNS = ("split", "id", "images", "text", "answer")


class DedupeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What counts as a duplicate: the options of `mmconvert dedupe` and the keywords of `dedupe`."""

    near: bool = False
    """Also near duplicates: images encoded again, scaled, recoloured or cut a little; texts with a few other words."""
    by: Literal["image", "text", "both"] = "both"
    """What must be equal: all images of a sample in their order, all its text with the answer, or both."""
    distance: Annotated[int, msgspec.Meta(ge=0, le=64)] = MOST_BITS
    """With --near: bits of 64 in which the hashes of near images may differ."""
    similarity: Annotated[float, msgspec.Meta(gt=0, le=1)] = LEAST_SIMILARITY
    """With --near: share of words and word pairs that near texts have in common (Jaccard index)."""
    workers: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Number of worker processes; one per core where none is given."""
    engine: str = "local"
    """Where workers run: local, or ray for a Ray cluster."""
    overwrite: bool = False
    """Replace the existing dataset."""


class Deduped(msgspec.Struct, frozen=True):
    """What was found, and written.

    Attributes:
        output: The dataset without duplicates.
        rows_read: Samples of the dataset.
        rows_kept: Those that were written.
        groups: Duplicates of each other: the sample that stays, the first in the order of the dataset, and those that
            were left out; each with `split` and `id`.
        images: Images by state; with --near those that are flat or unreadable are compared by their bytes alone.
    """

    output: str
    rows_read: int
    rows_kept: int
    groups: list[dict[str, Any]]
    images: dict[str, int]

    @property
    def rows_removed(self) -> int:
        """Samples that were left out."""
        return self.rows_read - self.rows_kept

    def to_json(self) -> dict[str, Any]:
        """Give the object that `mmconvert dedupe --json` prints."""
        return {**msgspec.structs.asdict(self), "rows_removed": self.rows_removed}


@watch_sources()
def dedupe_dataset(dataset: str | Path, output: str, options: DedupeOptions, *, quiet: bool) -> Deduped:
    """Write a dataset without its duplicates; of each group the first sample stays.

    Args:
        dataset: A converted dataset: its folder, its URL, or its id on the Hub.
        output: Folder that shall appear, or its URL.
        options: What counts as a duplicate.
        quiet: No progress on standard error.

    Raises:
        UsageError: Nothing stands there, the dataset was not created by mmconvert, or the output exists.
        Error: The dataset is damaged.
    """
    found = open_dataset(find_local(dataset))
    require_converted(found)
    with open_output_folder(output, overwrite=options.overwrite) as folder:
        require_outside(folder, found)
        samples = _Samples(found, options, quiet=quiet)
        labels = samples.label()
        kept = labels == np.arange(len(labels))
        facts: dict[str, Any] = {"near": options.near, "by": options.by}
        facts |= {"distance": options.distance, "similarity": options.similarity} if options.near else {}
        about = {"dedupe": {**facts, "rows_read": len(labels)}}
        rows = write_subset(found, folder, kept, about, overwrite=options.overwrite)
    return Deduped(output, len(labels), rows, list(samples.list_groups(labels)), dict(samples.states))


class _Samples:
    """What samples are compared by: numbers of their images and of their texts, equal ones under one number."""

    def __init__(self, dataset: Dataset, options: DedupeOptions, *, quiet: bool) -> None:
        self._options = options
        self._images, self._texts = ImageNumbers(), TextNumbers()
        self._rows: list[tuple[tuple[int, ...], int | None, bytes]] = []
        self._names: list[tuple[str, str]] = []
        self.states = Counter[str]()
        how = copy_options(FingerprintOptions, options)
        # Whoever compares texts alone decodes no image.
        with open_fingerprints(dataset, how, near=options.near and options.by != "text", quiet=quiet) as file:
            for table in read_fingerprints(file, _COLUMNS):
                self._add(table)

    def _add(self, table: pa.Table) -> None:
        self.states.update(count_states(table))
        shown = map(tuple, split_lists(table["images"], self._images.add))
        texts = self._texts.add(table["text"].combine_chunks())
        self._rows += zip(shown, texts, table["answer"].to_pylist(), strict=True)
        self._names += zip(table["split"].to_pylist(), table["id"].to_pylist(), strict=True)

    def label(self) -> Any:
        """Give each sample the number of its group, which is that of its first sample: int64 of shape (rows,)."""
        images = self._join_images() if self._options.near else range(len(self._images))
        texts = self._join_texts() if self._options.near else range(len(self._texts))
        groups: dict[Any, int] = {}
        labels = np.empty(len(self._rows), dtype=np.int64)
        for row, (shown, text, answer) in enumerate(self._rows):
            seen = tuple(images[number] for number in shown)
            said = None if text is None else (texts[text], answer)
            labels[row] = groups.setdefault(self._select(seen, said, row), row)
        return labels

    def _select(self, seen: tuple[int, ...], said: tuple[int, bytes] | None, row: int) -> Any:
        """Give what a sample is compared by; its own row where it has nothing of the kind."""
        if self._options.by == "image":
            return seen or row
        if self._options.by == "text":
            return said or row
        return (seen, said) if seen or said else row

    def _join_images(self) -> Sequence[int]:
        """Give the group of each image: near ones, and what is near to these."""
        whole, bits, sketches = self._images.join()
        owners = np.repeat(whole, bits.shape[1])
        index = ImageIndex(bits.ravel(), sketches.reshape(-1, sketches.shape[-1]))
        pairs = index.find_near(bits[:, 0], sketches[:, 0], self._options.distance, self._options.workers)
        groups: list[int] = join_pairs(
            len(self._images), ((whole[rows], owners[others]) for rows, others, _ in pairs)
        ).tolist()
        return groups

    def _join_texts(self) -> Sequence[int]:
        """Give the group of each text."""
        sketches = self._texts.join()
        pairs = TextIndex(sketches, self._options.similarity).find_near(sketches)
        groups: list[int] = join_pairs(len(self._texts), ((rows, others) for rows, others, _ in pairs)).tolist()
        return groups

    def list_groups(self, labels: Any) -> Iterator[dict[str, Any]]:
        """List the groups of more than one sample, in the order of their first ones."""
        groups: dict[int, list[int]] = {}
        for row in np.flatnonzero(labels != np.arange(len(labels))).tolist():
            groups.setdefault(int(labels[row]), []).append(row)
        for first, others in sorted(groups.items()):
            yield {"kept": self._name(first), "removed": [self._name(row) for row in others]}

    def _name(self, row: int) -> dict[str, str]:
        return dict(zip(("split", "id"), self._names[row], strict=True))
