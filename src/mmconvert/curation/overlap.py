"""Samples of benchmarks that a training set holds, by their images and by what they ask: contamination."""

import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mmconvert.core.arrow import build_scalar
from mmconvert.core.errors import UsageError
from mmconvert.core.option_fields import copy_options
from mmconvert.core.record import list_missing_columns
from mmconvert.curation.benchmark_index import BenchmarkIndex
from mmconvert.curation.fingerprints import (
    ABSENT,
    FLAT,
    UNREADABLE,
    FingerprintOptions,
    count_states,
    is_fingerprints,
    name_dataset,
    open_fingerprints,
    read_fingerprints,
)
from mmconvert.curation.near_images import ASKED_AT_ONCE, MOST_BITS
from mmconvert.curation.near_texts import LEAST_SIMILARITY, compare
from mmconvert.curation.numbering import ImageNumbers, TextNumbers, split_lists
from mmconvert.curation.subset import open_output_folder, require_converted, write_subset
from mmconvert.dataset.dataset import Dataset, open_dataset
from mmconvert.dataset.manifest import MANIFEST, find_config_folder
from mmconvert.io.parquet import open_parquet
from mmconvert.pipeline.convert_files import ConvertOptions, convert_files
from mmconvert.storage.object_store import find_local
from mmconvert.storage.source_files import watch_sources
from mmconvert.storage.temporary import build_temporary_prefix
from mmconvert.storage.url_safety import check_allowed_hosts

Way = Literal["image", "near image", "text", "near text"]
WAYS: tuple[Way, ...] = ("image", "near image", "text", "near text")
"""How a sample of a benchmark is found, the surest way first."""
_NEAR: tuple[Way, ...] = ("near image", "near text")
_OTHERS: dict[Way, Way] = {"image": "near image", "near image": "image", "text": "near text", "near text": "text"}
_COLUMNS = ("split", "id", "images", "questions")


class OverlapOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What counts as found: the options of `mmconvert overlap` and the keywords of `overlap`."""

    fingerprints: tuple[Path, ...] = ()
    """File of fingerprints to compare with, as mmconvert fingerprint writes it; repeatable."""
    near: bool = False
    """Find near images and texts too, which is the default."""
    exact: bool = False
    """Find only images of the same bytes and texts of the same words."""
    distance: Annotated[int, msgspec.Meta(ge=0, le=64)] = MOST_BITS
    """Bits of 64 in which the hashes of near images may differ."""
    similarity: Annotated[float, msgspec.Meta(gt=0, le=1)] = LEAST_SIMILARITY
    """Share of words and word pairs that near texts have in common (Jaccard index)."""
    min_words: Annotated[int, msgspec.Meta(ge=1)] = 8
    """Minimum number of words of a text that counts without its image."""
    allow_remote: bool = False
    """Download benchmarks that are named and not here, as convert does."""
    allow_host: tuple[str, ...] = ()
    """With --allow-remote: also allow this host at a private address, such as a mirror; repeatable."""
    html: Path | None = None
    """Page with the pairs, both images side by side."""
    drop: bool = False
    """Write the training set without the found samples to --output."""
    overwrite: bool = False
    """Replace the existing dataset."""
    workers: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Number of worker processes; one per core where none is given."""
    engine: str = "local"
    """Where workers run: local, or ray for a Ray cluster."""

    def __post_init__(self) -> None:
        """Refuse options that exclude each other, and hosts that are none.

        Raises:
            UsageError: They do, or are.
        """
        if self.exact and self.near:
            raise UsageError("--exact and --near exclude each other. Leave one out.")
        check_allowed_hosts(self.allow_host, allow_remote=self.allow_remote)


class Pair(msgspec.Struct, frozen=True):
    """A sample of a benchmark and one of the training set.

    Attributes:
        benchmark: Name of the benchmark.
        id: Its sample.
        train_split: Split of the training set.
        train_id: The sample of the training set.
        way: How they were found alike.
        distance: 0 for equal ones; of near images the bits of 64 that differ, of near texts 1 less the Jaccard index.
        rows: Places of both among the rows of their datasets, that of the benchmark first.
    """

    benchmark: str
    id: str
    train_split: str
    train_id: str
    way: Way
    distance: float
    rows: tuple[int, int]

    def to_json(self) -> dict[str, Any]:
        """Give the pair as `mmconvert overlap --json` lists it."""
        return {name: value for name, value in msgspec.structs.asdict(self).items() if name != "rows"}


class BenchmarkOverlap(msgspec.Struct, frozen=True):
    """What was found of one benchmark, in samples of it.

    Attributes:
        samples: All of them.
        found: Those that were found in any way.
        image: Those with an equal image.
        near_image: Those with a near image and no equal one.
        text: Those with an equal or near text.
        both: Those of which one training sample has the image and the text.
        rejected: Rows of the benchmark's file that could not be converted, and were not looked for.
    """

    samples: int
    found: int
    image: int
    near_image: int
    text: int
    both: int
    rejected: int = 0


class Overlap(msgspec.Struct, frozen=True):
    """What was found.

    Attributes:
        train: The training set.
        train_samples: Its samples.
        train_found: Those of them that are in a pair.
        benchmarks: What was found of each benchmark.
        pairs: All pairs, by benchmark, its sample, and the training sample.
        unhashed: Images that can only be found by their bytes, by state: flat, unreadable, absent.
        output: The training set without the found samples; None where it was not asked for.
    """

    train: str
    train_samples: int
    train_found: int
    benchmarks: dict[str, BenchmarkOverlap]
    pairs: list[Pair]
    unhashed: dict[str, int]
    output: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Give the object that `mmconvert overlap --json` prints."""
        counts = {name: msgspec.structs.asdict(one) for name, one in self.benchmarks.items()}
        return {**msgspec.structs.asdict(self), "benchmarks": counts, "pairs": [pair.to_json() for pair in self.pairs]}


@watch_sources()
def find_overlap(
    train: str | Path,
    benchmarks: Sequence[str | Path],
    output: str | None,
    options: OverlapOptions,
    *,
    quiet: bool,
    show: Callable[[Overlap, Dataset, Mapping[str, Dataset]], None] = lambda found, train, benchmarks: None,
) -> Overlap:
    """Find the samples of benchmarks that a training set holds.

    Args:
        train: A converted dataset: its folder, its URL, or its id on the Hub.
        benchmarks: Datasets likewise, files of fingerprints, or whatever `convert` reads, such as names of its
            catalogue.
        output: With `drop`: folder that shall appear, or its URL.
        options: What counts as found.
        quiet: No progress on standard error.
        show: Called with what was found, the training set, and those benchmarks that are more than fingerprints.

    Raises:
        UsageError: A dataset is missing, two benchmarks have one name, or options do not fit.
        Error: A dataset is damaged.
    """
    names = [*map(str, benchmarks), *map(str, options.fingerprints)]
    if not names:
        raise UsageError("nothing to compare with. Name a benchmark: --with BENCHMARK, or --fingerprints FILE.")
    if options.drop != (output is not None):
        raise UsageError(
            "--drop and an output belong together: without the found samples, TRAIN is written there. Give both."
        )
    how = copy_options(FingerprintOptions, options)
    opened = open_dataset(find_local(train))
    if options.drop:
        require_converted(opened)
    with ExitStack() as stack:
        index, states = BenchmarkIndex(), Counter[str]()
        sources: dict[str, Dataset] = {}
        rejected = Counter[str]()
        for name in names:
            source, dropped = stack.enter_context(_open_benchmark(name, options, quiet=quiet))
            added = _add_benchmark(index, source, how, states, near=not options.exact, quiet=quiet)
            if repeated := [one for one in added if one in rejected]:
                raise UsageError(f"two benchmarks are called {repeated[0]}. Rename the folder of one.")
            rejected.update(dict.fromkeys(added, dropped))
            if isinstance(source, Dataset):
                sources[added[0]] = source
        index.finish(options.min_words, options.similarity, near=not options.exact)
        pairs, hit = _search(opened, index, options, how, states, quiet=quiet)
        unhashed = {state: states[state] for state in (FLAT, UNREADABLE, ABSENT) if states[state]}
        counts = {name: _count(name, index, pairs, rejected[name]) for name in rejected}
        found = Overlap(str(train), opened.num_rows, int(hit.sum()), counts, pairs, unhashed, output)
        show(found, opened, sources)
        if output is not None:
            with open_output_folder(output, overwrite=options.overwrite) as folder:
                about = {"overlap": {"benchmarks": list(counts), "rows_read": opened.num_rows}}
                write_subset(opened, folder, ~hit, about, overwrite=options.overwrite)
    return found


@contextmanager
def _open_benchmark(name: str, options: OverlapOptions, *, quiet: bool) -> Iterator[tuple[Dataset | Path, int]]:
    """Give a benchmark as a dataset or a file of fingerprints, and how many of its rows could not be converted."""
    place = find_local(name)
    if is_fingerprints(place):
        yield place, 0
    elif (place / MANIFEST).is_file() or find_config_folder(place) is not None or _is_ours(place):
        yield open_dataset(place), 0
    else:
        with tempfile.TemporaryDirectory(prefix=build_temporary_prefix()) as folder:
            target = Path(folder, Path(name).stem.rpartition(":")[2] or "benchmark")
            how = copy_options(ConvertOptions, options, engine="local")  # what it writes is on this machine alone
            done = convert_files([name], str(target), how, quiet=quiet)
            yield open_dataset(target), done.rows_rejected


def _is_ours(place: Path) -> bool:
    """Tell whether a file is one of the parquet files of a converted dataset."""
    if place.suffix.lower() != ".parquet" or not place.is_file():
        return False
    return not list_missing_columns(open_parquet(place).schema_arrow.names)


def _add_benchmark(
    index: BenchmarkIndex,
    source: Dataset | Path,
    how: FingerprintOptions,
    states: Counter[str],
    *,
    near: bool,
    quiet: bool,
) -> list[str]:
    """Add a benchmark, or those that a file of fingerprints holds; give their names."""
    opened = nullcontext(source) if isinstance(source, Path) else open_fingerprints(source, how, near=near, quiet=quiet)
    added = Counter[str]()
    with opened as file:
        for table in read_fingerprints(file, ("dataset", *_COLUMNS)):
            states.update(count_states(table))
            for name in table["dataset"].unique().to_pylist():
                rows = table.filter(pc.equal(table["dataset"], build_scalar(name)))
                index.add(rows, name, added[name])
                added[name] += rows.num_rows
    return list(added) or [name_dataset(source) if isinstance(source, Dataset) else source.stem]


def _search(
    train: Dataset,
    index: BenchmarkIndex,
    options: OverlapOptions,
    how: FingerprintOptions,
    states: Counter[str],
    *,
    quiet: bool,
) -> tuple[list[Pair], Any]:
    """Look the samples of a training set up; give the pairs in order, and which rows of it are in one."""
    pairs: list[tuple[int, Pair]] = []
    hit = np.zeros(train.num_rows, dtype=bool)
    first = 0
    with open_fingerprints(train, how, near=not options.exact, quiet=quiet) as file:
        near = {} if options.exact else _find_near_images(file, index, options)
        for table in read_fingerprints(file, _COLUMNS):
            states.update(count_states(table))
            names = list(zip(table["split"].to_pylist(), table["id"].to_pylist(), strict=True))
            for way, known in _Search(table, first, index, near, options).ways.items():
                for (row, number), distance in known.items():
                    sample = index.samples[number]
                    rows = (sample.row, first + row)
                    pairs.append((number, Pair(sample.benchmark, sample.id, *names[row], way, distance, rows)))
                    hit[first + row] = True
            first += table.num_rows
    pairs.sort(key=lambda one: (one[0], one[1].rows, WAYS.index(one[1].way)))
    return [pair for _, pair in pairs], hit


def _find_near_images(
    file: Path, index: BenchmarkIndex, options: OverlapOptions
) -> dict[int, list[tuple[Sequence[int], int]]]:
    """Look up all images of a training set: row -> samples of the index with a near image, and bits that differ."""
    found: dict[int, list[tuple[Sequence[int], int]]] = defaultdict(list)
    first = 0
    for images, shown in _read_images(file):
        rows = _invert(shown)
        numbers, bits, sketches = images.join()
        for place, image, distance in index.find_near_images(bits, sketches, options.distance, options.workers):
            for row in rows[int(numbers[place])]:
                found[first + row].append((index.image_samples[image], distance))
        first += len(shown)
    return found


def _read_images(file: Path) -> Iterator[tuple[ImageNumbers, list[list[int]]]]:
    """Read images from fingerprints, as many at a time as are looked up together, and the numbers of each sample's."""
    images, shown = ImageNumbers(), list[list[int]]()
    for table in read_fingerprints(file, ("images",)):
        shown += split_lists(table["images"], images.add)
        if max(len(images), len(shown)) >= ASKED_AT_ONCE:
            yield images, shown
            images, shown = ImageNumbers(), []
    yield images, shown


class _Search:
    """Some samples of a training set, looked up in an index.

    Attributes:
        ways: Way -> (row, sample of the index) -> distance.
    """

    def __init__(
        self,
        table: pa.Table,
        first: int,
        index: BenchmarkIndex,
        near_images: Mapping[int, Sequence[tuple[Sequence[int], int]]],
        options: OverlapOptions,
    ) -> None:
        self._index, self._options = index, options
        self._images, self._texts = ImageNumbers(), TextNumbers()
        shown = split_lists(table["images"], self._images.add)
        self._asked = split_lists(table["questions"], self._texts.add)
        self.ways: dict[Way, dict[tuple[int, int], float]] = {way: {} for way in WAYS}
        image_rows, text_rows = _invert(shown), _invert(self._asked)
        self._find_equal_images(image_rows)
        self._find_equal_texts(text_rows)
        if not options.exact:
            for row in range(table.num_rows):
                for samples, distance in near_images.get(first + row, ()):
                    self._add("near image", [row], samples, distance)
            self._find_near_texts(text_rows)
        self._compare_texts_of_images()

    def _add(self, way: Way, rows: Iterable[int], samples: Iterable[int], distance: float) -> None:
        known, other = self.ways[way], self.ways[_OTHERS[way]]
        for pair in product(rows, samples):
            # What is equal is not near besides.
            if way in _NEAR and pair in other:
                continue
            known[pair] = min(distance, known.get(pair, distance))
            other.pop(pair, None)

    def _find_equal_images(self, rows: Mapping[int, Sequence[int]]) -> None:
        for number, digest in enumerate(self._images.list_digests()):
            if isinstance(digest, bytes) and (image := self._index.images.find(digest)) is not None:
                self._add("image", rows[number], self._index.image_samples[image], 0)

    def _find_equal_texts(self, rows: Mapping[int, Sequence[int]]) -> None:
        for number, key in enumerate(self._texts.list_keys()):
            text = self._index.texts.find(key)
            if text is not None and self._index.tells[text]:
                self._add("text", rows[number], self._index.text_samples[text], 0)

    def _find_near_texts(self, rows: Mapping[int, Sequence[int]]) -> None:
        for numbers, texts, likeness in self._index.near_texts.find_near(self._texts.join()):
            for number, text, alike in zip(numbers.tolist(), texts.tolist(), likeness.tolist(), strict=True):
                samples = self._index.text_samples[int(self._index.telling[text])]
                self._add("near text", rows[number], samples, round(1 - alike, 3))

    def _compare_texts_of_images(self) -> None:
        """Compare the texts of samples that have an image in common: any text counts there."""
        pairs = [*self.ways["image"], *self.ways["near image"]]
        asked = [
            (pair, one, other)
            for pair in pairs
            for one, other in product(self._asked[pair[0]], self._index.sample_texts[pair[1]])
        ]
        if not asked:
            return
        keys = self._texts.list_keys()
        left = []
        for pair, one, other in asked:
            if self._index.texts.find(keys[one]) == other:
                self._add("text", pair[:1], pair[1:], 0)
            else:
                left.append((pair, one, other))
        if self._options.exact or not left:
            return
        sketches, rows = self._texts.join(), np.array([one[1] for one in left])
        likeness = compare(sketches, rows, self._index.sketches, np.array([one[2] for one in left]))
        for (pair, _, _), alike in zip(left, likeness.tolist(), strict=True):
            if alike >= self._options.similarity:
                self._add("near text", pair[:1], pair[1:], round(1 - alike, 3))


def _invert(lists: Sequence[Sequence[int]]) -> dict[int, list[int]]:
    """Give the rows of each number."""
    rows: dict[int, list[int]] = {}
    for row, numbers in enumerate(lists):
        for number in dict.fromkeys(numbers):
            rows.setdefault(number, []).append(row)
    return rows


def _count(name: str, index: BenchmarkIndex, pairs: Sequence[Pair], rejected: int) -> BenchmarkOverlap:
    """Count the samples of a benchmark that were found."""
    ways: dict[int, set[Way]] = {}
    of_pair: dict[tuple[int, int], set[Way]] = {}
    for pair in pairs:
        if pair.benchmark == name:
            ways.setdefault(pair.rows[0], set()).add(pair.way)
            of_pair.setdefault(pair.rows, set()).add(pair.way)
    seen, read = {"image", "near image"}, {"text", "near text"}
    return BenchmarkOverlap(
        samples=sum(sample.benchmark == name for sample in index.samples),
        found=len(ways),
        image=sum("image" in found for found in ways.values()),
        near_image=sum("near image" in found and "image" not in found for found in ways.values()),
        text=sum(bool(found & read) for found in ways.values()),
        both=len({rows[0] for rows, found in of_pair.items() if found & seen and found & read}),
        rejected=rejected,
    )
