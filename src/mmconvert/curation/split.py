"""`mmconvert split`: a dataset divided into splits that share no image.

Rows that belong together are found first, in one pass over a few columns: those that show one image, and those of one
`sample` or `group`, directly or by others between them. Each such group goes whole to the split that a hash of the
seed and of its smallest member says. So nothing depends on the order of rows, and rows that are added move no others,
unless they join two groups that were apart or bring a group an image of a smaller digest.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mmconvert.core.arrow import list_texts
from mmconvert.core.errors import UsageError
from mmconvert.core.progress import Done, show_progress
from mmconvert.curation.batch_columns import read_digests, read_list, read_texts
from mmconvert.curation.groups import join_pairs
from mmconvert.curation.mix_rows import scramble
from mmconvert.curation.ratios import parse_ratios
from mmconvert.curation.row_parts import RowsPart, list_parts
from mmconvert.curation.subset import open_output_folder, require_converted, require_outside, write_divided
from mmconvert.dataset.dataset import Dataset, open_dataset, read_shard_batches
from mmconvert.pipeline.convert import load_engine
from mmconvert.pipeline.sampling import hash_text
from mmconvert.storage.object_store import find_local
from mmconvert.storage.source_files import watch_sources

GroupBy = Literal["image", "group", "sample"]

_IMAGE, _GROUP, _SAMPLE = 0, 1, 2
_KINDS: dict[int, GroupBy] = {_IMAGE: "image", _GROUP: "group", _SAMPLE: "sample"}
_JOINED = {"image": (_IMAGE, _GROUP, _SAMPLE), "group": (_GROUP, _SAMPLE), "sample": (_SAMPLE,)}
"""What rows must not have in common to be in different splits."""
_COLUMNS = ("sample", "group", "image_info", "attachments")
_PART_BYTES = 256 << 20
"""Bytes of a part, uncompressed; about the size of the largest shard that it gives."""
_KIND_SHIFT = 62
"""Bits of a key below its kind: of a hash, so that rows are as good as never taken to have what they have not."""
_DIGEST = 64
"""Digits of a SHA-256 digest."""

_Integers = npt.NDArray[np.int64]
_Keys = npt.NDArray[np.uint64]


class SplitOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a dataset is divided: the options of `mmconvert split` and the keywords of `split`."""

    split_ratio: str
    """Splits to write and the share of rows of each: train=0.98,val=0.02. One without a number gets the rest."""
    group_by: GroupBy = "image"
    """What stays in one split: rows with an image in common, or with the same `group`, or with the same `sample`.
    Rows of one image stay together with those of one group, and these with those of one sample."""
    split: str | None = None
    """Split to divide; not needed for a dataset with only one."""
    seed: int = 0
    """Random seed of the choice."""
    workers: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Number of worker processes; one per core where none is given. The result is the same for any number."""
    engine: str = "local"
    """Where workers run: local, or ray for a Ray cluster."""
    overwrite: bool = False
    """Replace an existing dataset."""


class SplitKeywords(TypedDict, total=False):
    """Keywords of `split` beside `split_ratio`: the fields of `SplitOptions`."""

    group_by: GroupBy
    split: str | None
    seed: int
    workers: int | None
    engine: str
    overwrite: bool


class SplitPart(msgspec.Struct, frozen=True):
    """One of the splits that were written.

    Attributes:
        name: Its name.
        rows: Its rows.
        groups: Groups of rows that belong together.
        images: Its different images.
        share: Its share of the rows, 0 to 1.
        asked: The share that was asked for.
    """

    name: str
    rows: int
    groups: int
    images: int
    share: float
    asked: float


class LargestGroup(msgspec.Struct, frozen=True):
    """The largest group of rows that belong together.

    Attributes:
        rows: Its rows.
        split: The split that it went to.
        by: What most of its rows have in common: an image, a group or a sample.
        value: Which one: the SHA-256 digest or the URL of the image, or the name of the group or sample.
        shared_by: Rows that have it.
    """

    rows: int
    split: str
    by: GroupBy
    value: str
    shared_by: int


class SplitResult(msgspec.Struct, frozen=True):
    """How a dataset was divided.

    Attributes:
        output: The dataset that was written.
        rows: Its rows, all of the split that was divided.
        groups: Groups of rows that belong together.
        group_by: What they have in common.
        seed: Seed of the choice.
        splits: What each split has.
        images_shared: Images that are in several splits; 0 where groups are made by image.
        largest: The largest group.
        not_read: Splits of the dataset that were not divided and are not in the output.
    """

    output: str
    rows: int
    groups: int
    group_by: GroupBy
    seed: int
    splits: list[SplitPart]
    images_shared: int
    largest: LargestGroup
    not_read: list[str]

    @property
    def is_coarse(self) -> bool:
        """Whether the largest group has more rows than the smallest split was to have, so that shares are off."""
        return self.largest.rows > self.rows * min(part.asked for part in self.splits)

    def to_json(self) -> dict[str, Any]:
        """Give the object that `mmconvert split --json` prints."""
        return {**msgspec.to_builtins(self), "is_coarse": self.is_coarse}


@watch_sources()
def split_dataset(dataset: str | Path, output: str, options: SplitOptions, *, quiet: bool) -> SplitResult:
    """Divide a dataset into splits; it is written atomically.

    Args:
        dataset: A converted dataset: its folder, its URL, or its id on the Hub.
        output: The folder that shall appear, or its URL.
        options: Into what.
        quiet: No progress on standard error.

    Raises:
        UsageError: Ratios or names make no sense, the dataset was not created by mmconvert or has several splits of
            which none is named, a split gets no row, or the output exists.
        Error: The dataset is damaged.
    """
    ratios = parse_ratios(options.split_ratio)
    found = open_dataset(find_local(dataset))
    require_converted(found)
    split = _choose_split(found, options.split)
    engine = load_engine(options.engine)
    parts = list(list_parts(found.files[split], _PART_BYTES))
    workers = min(options.workers or engine.cores(), len(parts))
    total = 2 * found.splits[split]
    with open_output_folder(output, overwrite=options.overwrite) as folder:
        require_outside(folder, found)
        # Children are forked where this process has no thread yet, and showing progress takes one.
        with engine.crew(workers) as run, show_progress("split", quiet=quiet) as advance:
            groups = _Groups(options.group_by)
            for part, keys in zip(parts, run(_list_part_keys, parts), strict=True):
                groups.add(part, *keys)
                advance(Done(groups.rows, total=total))
            groups.join(ratios, options.seed)
            result = _describe(groups, found, output, ratios, options, split)
            write_divided(
                found,
                parts,
                folder,
                [*ratios],
                groups.labels.astype(np.int16),
                {"split": {"ratios": ratios, "group_by": options.group_by, "seed": options.seed, "of": split}},
                run,
                overwrite=options.overwrite,
                tell=lambda rows: advance(Done(groups.rows + rows, total=total)),
            )
    return result


def _choose_split(dataset: Dataset, split: str | None) -> str:
    if split is None and len(dataset.splits) > 1:
        names = " or --split ".join(dataset.splits)
        raise UsageError(f"{dataset.path}: holds several splits. Name the one to divide: --split {names}.")
    chosen = next(iter(dataset.splits)) if split is None else split
    dataset.require_split(chosen)
    if not dataset.splits[chosen]:
        raise UsageError(f"{dataset.path}: split {chosen!r} has no rows to divide.")
    return chosen


class _Groups:
    """Rows that belong together.

    Attributes:
        rows: Rows that were added.
        group_of: After `join`: the number of each row's group.
        part_of: After `join`: the place of each group's split among the ratios.
    """

    def __init__(self, group_by: GroupBy) -> None:
        self._joined = _JOINED[group_by]
        self._found: list[tuple[_Integers, _Keys]] = []
        self.rows = 0
        self.group_of = self.part_of = np.empty(0, np.int64)

    def add(self, part: RowsPart, rows: _Integers, keys: _Keys) -> None:
        """Add the next part, with what `_list_part_keys` gives of it."""
        self._found.append((rows + part.rows[0], keys))
        self.rows = part.rows[1]

    def join(self, ratios: dict[str, float], seed: int) -> None:
        """Find out what belongs together, and which split it goes to."""
        # An edge says that a row has a key; keys are numbered in ascending order, images first.
        self._row_of, keys = (np.concatenate(arrays) for arrays in zip(*self._found, strict=True))
        self._found = []
        self._keys, self._key_of = np.unique(keys, return_inverse=True)
        rows, numbers = (ends[self._is_joining] for ends in (self._row_of, self._key_of))
        # Rows are numbered behind the keys, so that the smallest thing of a group is its smallest key.
        first = len(self._keys)
        roots = join_pairs(first + self.rows, [(numbers, first + rows)])[first:]
        self._smallest, self.group_of = np.unique(roots, return_inverse=True)
        places = scramble(self._keys[self._smallest] ^ np.uint64(hash_text(str(seed))))
        bounds = [int(bound * 2.0**64) for bound in itertools.accumulate(ratios.values())][:-1]
        self.part_of = np.searchsorted(np.array(bounds, np.uint64), places, side="right")

    @property
    def _is_joining(self) -> npt.NDArray[np.bool_]:
        """Which edges hold rows together."""
        joining: npt.NDArray[np.bool_] = np.isin(self._keys >> _KIND_SHIFT, self._joined)[self._key_of]
        return joining

    @property
    def labels(self) -> _Integers:
        """The place of each row's split."""
        return self.part_of[self.group_of]

    def count_images(self, parts: int) -> tuple[list[int], int]:
        """Count the different images of each split, and those that are in several."""
        shown = self._keys[self._key_of] >> _KIND_SHIFT == _IMAGE
        pairs = np.unique(self._key_of[shown] * parts + self.labels[self._row_of[shown]])
        several = np.count_nonzero(np.bincount(pairs // parts) > 1)
        return np.bincount(pairs % parts, minlength=parts).tolist(), int(several)

    def find_largest(self) -> tuple[int, int, int, int, int]:
        """Find the largest group.

        Returns:
            Its number and its rows; the key that most of them have, how many do, and the first of these.
        """
        sizes = np.bincount(self.group_of)
        largest = np.flatnonzero(sizes == sizes.max())
        group = int(largest[np.argmin(self._smallest[largest])])
        mine = self._is_joining & (self.group_of[self._row_of] == group)
        # A row may show an image twice.
        numbers, rows = np.unique(np.stack([self._key_of[mine], self._row_of[mine]]), axis=1)
        counts = np.bincount(numbers)
        most = int(counts.argmax())
        return group, int(sizes[group]), int(self._keys[most]), int(counts[most]), int(rows[numbers == most][0])


def _list_part_keys(part: RowsPart) -> tuple[_Integers, _Keys]:
    """List what the rows of a part have: row numbers in the part, and keys."""
    found: list[tuple[_Integers, _Keys]] = [(np.empty(0, np.int64), np.empty(0, np.uint64))]
    first = 0
    for batch in read_shard_batches(part.file, _COLUMNS, groups=range(*part.groups)):
        found += [(rows + first, keys) for rows, keys in _list_keys(batch)]
        first += batch.num_rows
    rows, keys = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    return rows, keys


def _list_keys(batch: pa.RecordBatch) -> Iterator[tuple[_Integers, _Keys]]:
    """List what the rows of a batch have: row numbers and keys."""
    everyone = np.arange(batch.num_rows)
    samples, groups = (list_texts(batch.column(name)) for name in ("sample", "group"))
    yield everyone, np.array([_build_key(_SAMPLE, hash_text(text or "")) for text in samples], np.uint64)
    named = [row for row, text in enumerate(groups) if text is not None]
    yield everyone[named], np.array([_build_key(_GROUP, hash_text(groups[row])) for row in named], np.uint64)
    for infos, ends in _list_images(batch):
        places, found = _list_image_keys(infos)
        yield np.repeat(everyone, np.diff(ends))[places], found


def _list_image_keys(infos: pa.StructArray) -> tuple[_Integers, _Keys]:
    """Give the places of images that have bytes or a URL, and their keys: of the digest, or of the URL."""
    digests, urls = read_texts(infos.field("sha256")), list_texts(infos.field("url"))
    known = np.diff(digests.ends) == _DIGEST
    addressed = [place for place in np.flatnonzero(~known).tolist() if urls[place]]
    keys = np.array([_build_key(_IMAGE, hash_text(urls[place])) for place in addressed], np.uint64)
    places = np.concatenate([np.flatnonzero(known), np.array(addressed, np.int64)])
    return places, np.concatenate([read_digests(digests) >> np.uint64(64 - _KIND_SHIFT), keys])


def _list_images(batch: pa.RecordBatch) -> Iterator[tuple[pa.StructArray, _Integers]]:
    """Give what is known of the images of a batch, and where those of each row begin."""
    ends, infos = read_list(batch.column("image_info"))
    yield infos, ends
    ends, attachments = read_list(batch.column("attachments"))
    yield attachments.field("info"), ends


def _build_key(kind: int, number: int) -> int:
    return kind << _KIND_SHIFT | number >> 64 - _KIND_SHIFT


def _describe(
    groups: _Groups, dataset: Dataset, output: str, ratios: dict[str, float], options: SplitOptions, split: str
) -> SplitResult:
    """Say what every split gets.

    Raises:
        UsageError: One gets nothing.
    """
    rows = np.bincount(groups.labels, minlength=len(ratios)).tolist()
    counts = np.bincount(groups.part_of, minlength=len(ratios)).tolist()
    images, several = groups.count_images(len(ratios))
    parts = [
        SplitPart(name, rows[number], counts[number], images[number], rows[number] / groups.rows, ratio)
        for number, (name, ratio) in enumerate(ratios.items())
    ]
    group, size, key, shared_by, row = groups.find_largest()
    by, value = _name_key(key, dataset, split, row)
    largest = LargestGroup(size, parts[groups.part_of[group]].name, by, value, shared_by)
    for part in parts:
        if not part.rows:
            what = f"the {groups.rows:,} rows make {len(groups.part_of):,} groups by {options.group_by}"
            large = f", the largest with {size:,} rows of the {by} {value}" if size > 1 else ""
            raise UsageError(
                f"{dataset.path}: split {part.name!r} gets no row: {what}{large}. "
                "Give it a larger share, or take another --seed."
            )
    left = [name for name in dataset.splits if name != split]
    return SplitResult(
        output, groups.rows, len(groups.part_of), options.group_by, options.seed, parts, several, largest, left
    )


def _name_key(key: int, dataset: Dataset, split: str, row: int) -> tuple[GroupBy, str]:
    """Say in words what a key stands for, by a row that has it."""
    batch = next(dataset.batches(_COLUMNS, split, first=row)).slice(0, 1)
    kind = _KINDS[key >> _KIND_SHIFT]
    if kind != "image":
        return kind, str(batch.column(kind)[0])
    found = (
        (infos[place.item()], keys)
        for infos, _ in _list_images(batch)
        for place, keys in zip(*_list_image_keys(infos), strict=True)
    )
    shown = next(info.as_py() for info, one in found if one == key)
    return kind, str(shown["sha256"] or shown["url"])
