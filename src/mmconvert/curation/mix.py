"""`mmconvert mix`: several datasets into one, by weights, in the order of a hash.

Which rows are taken, and their order, follow from the seed, the source's name and the row's id alone: a source that is
added changes neither the rows of the others nor their order among each other, as long as as many are taken.

Rows are sorted in buckets beside the output, so that memory does not grow with the mixture: each source is read once
from front to back, and each bucket, of `BUCKET_BYTES` or so, is sorted by itself. It takes room for the mixture twice.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace

from mmconvert.core.arrow import build_column, build_scalar, from_numpy
from mmconvert.core.errors import Error, UsageError
from mmconvert.core.progress import Advance, Done, show_progress
from mmconvert.curation.mix_sources import MixSource, find_view, open_sources
from mmconvert.curation.shares import Exhausted, compute_shares, count_taken
from mmconvert.dataset.dataset import DatasetWriter
from mmconvert.dataset.publish import check_free, send
from mmconvert.dataset.shards import ROW_GROUP_BYTES, Shard, ShardWriter
from mmconvert.dataset.views import VIEWS
from mmconvert.io.parquet import open_checked_parquet
from mmconvert.pipeline.sampling import hash_text
from mmconvert.storage.atomic import require_apart
from mmconvert.storage.locks import occupied
from mmconvert.storage.object_store import is_url
from mmconvert.storage.source_files import watch_sources
from mmconvert.storage.temporary import build_temporary_prefix

BUCKET_BYTES = 128 << 20
MOST_BUCKETS = 512
"""Files that are open at once; a mixture that is larger than so many buckets has larger ones."""
_MOST_BUCKET_BYTES = 1 << 30
_ORDER = "order"
"""Column of the bucket files with the place of a row in the mixture."""

_Hashes = npt.NDArray[np.uint64]


class MixOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How datasets are mixed: the options of `mmconvert mix` and the keywords of `mix`."""

    samples: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Number of samples of the mixture. [default: as many as --exhausted allows]"""
    temperature: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    """Sources without a weight are taken in proportion to rows^(1/T): 1 goes by size, a large T takes them equally."""
    exhausted: Exhausted = "stop"
    """When a source has no more rows: stop the mixture, repeat the source until every one was used up, or continue
    with the others, each sample once."""
    split: str | None = None
    """Split to take of each source; not needed for sources with only one."""
    output_split: str = "train"
    """Name of the split of the mixture."""
    seed: int = 0
    """Random seed of choice and order."""
    overwrite: bool = False
    """Replace an existing dataset."""


class MixedSource(msgspec.Struct, frozen=True):
    """What was taken of one source.

    Attributes:
        name: Its name in the mixture.
        path: The dataset.
        rows: Its rows.
        share: Its share of the mixture as asked for, 0 to 1; None where a list of a file says how much is taken.
        taken: Rows of the mixture that are of it.
        repeated: How many of these are repetitions of others.
        renamed: Whether its ids have the name in front, because another source has some of them too.
    """

    name: str
    path: str
    rows: int
    share: float | None
    taken: int
    repeated: int
    renamed: bool


class Mixed(msgspec.Struct, frozen=True):
    """What a mixture is made of.

    Attributes:
        output: The dataset.
        rows: Its rows.
        seed: Seed of choice and order.
        exhausted: What happened when a source ran out.
        sources: What was taken of each.
        asked: Rows that were asked for; None where no number was given.
    """

    output: str
    rows: int
    seed: int
    exhausted: str
    sources: list[MixedSource]
    asked: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Give the object that `mmconvert mix --json` prints."""
        return dict(msgspec.to_builtins(self))


class _ChosenRows(msgspec.Struct, frozen=True):
    """What is taken of one source: how often each row, and the number that orders it."""

    source: MixSource
    hashes: _Hashes
    copies: npt.NDArray[np.int64]
    prefix: str


@watch_sources()
def mix_datasets(inputs: Sequence[str], output: str, options: MixOptions, *, quiet: bool) -> Mixed:
    """Mix datasets into one that is written atomically.

    Args:
        inputs: `[NAME=]DATASET[:WEIGHT]` each, or one file of a mixture as LLaVA-OneVision writes it.
        output: The folder that shall appear, or its URL.
        options: How.
        quiet: No progress.

    Raises:
        UsageError: A source is missing or named twice, weights make no sense, or the output stands already.
        Error: Sources have different layouts, or one is damaged.
    """
    if not is_url(output):
        return _mix(inputs, Path(output), options, quiet=quiet)
    check_free(output, overwrite=options.overwrite)
    with tempfile.TemporaryDirectory(prefix=build_temporary_prefix()) as folder:
        place = Path(folder, output.rstrip("/").rpartition("/")[2])
        mixed = _mix(inputs, place, options, quiet=quiet)
        send(place, output)
    return replace(mixed, output=output)


def _mix(inputs: Sequence[str], output: Path, options: MixOptions, *, quiet: bool) -> Mixed:
    sources = open_sources(inputs, options.split)
    require_apart([output], [str(source.dataset.path) for source in sources])
    view = find_view(sources)
    listed = [source.strategy is not None for source in sources]
    if any(listed) and (options.samples is not None or options.temperature != 1):
        raise UsageError("--samples and --temperature: the file of the mixture says how much is taken. Leave them out.")
    rows = [source.rows for source in sources]
    shares: list[float | None] = [None] * len(sources)
    if any(listed):
        taken = [source.count_listed() for source in sources]
    else:
        known = compute_shares(rows, [source.weight for source in sources], options.temperature)
        taken, shares = count_taken(rows, known, options.samples, options.exhausted), [*known]
    if not sum(taken):
        raise UsageError("the mixture has no row: a source has too few for its share. Change weights or --exhausted.")
    with occupied(output) as held, show_progress("mix", quiet=quiet) as advance:
        plans = _plan_rows(sources, taken, options.seed)
        mixed = Mixed(
            str(output),
            sum(taken),
            options.seed,
            "listed" if any(listed) else options.exhausted,
            [
                MixedSource(
                    plan.source.name,
                    str(plan.source.dataset.path),
                    plan.source.rows,
                    share,
                    int(plan.copies.sum()),
                    int(np.maximum(plan.copies - 1, 0).sum()),
                    bool(plan.prefix),
                )
                for plan, share in zip(plans, shares, strict=True)
            ],
            options.samples,
        )
        formats = sorted({name for source in sources for name in source.formats})
        about = {"format": ", ".join(formats), "mix": msgspec.to_builtins(mixed)}
        with DatasetWriter(output, overwrite=options.overwrite, view=view, about=about) as writer:
            folder = writer.make_folder(options.output_split)
            writer.add(
                _write_rows(plans, folder, options.output_split, VIEWS[view].schema, advance), options.output_split
            )
            held.check()
    return mixed


def _plan_rows(sources: Sequence[MixSource], taken: Sequence[int], seed: int) -> list[_ChosenRows]:
    """Choose the rows of each source, and find those whose ids another source has too."""
    ids, kin = zip(*map(_hash_ids, sources), strict=True)
    keys, counts = np.unique(np.concatenate(kin), return_counts=True)
    shared = keys[counts > 1]
    plans = []
    for source, hashes, names, count in zip(sources, ids, kin, taken, strict=True):
        ordered = scramble(hashes ^ np.uint64(hash_text(f"{seed} {source.name}")))
        prefix = f"{source.name}-" if np.isin(names, shared).any() else ""
        plans.append(_ChosenRows(source, ordered, _choose_rows(source, ordered, count), prefix))
    return plans


def _hash_ids(source: MixSource) -> tuple[_Hashes, _Hashes]:
    """Hash the id of each row, and once each id, sample and group of all rows."""
    hashes: list[int] = []
    others: set[int] = set()
    for batch in source.dataset.batches(["id", "sample", "group"], source.split):
        names = {name: batch.column(name).to_pylist() for name in batch.schema.names}
        hashes += map(hash_text, names["id"])
        for id, *kin in zip(*names.values(), strict=True):
            others.update(hash_text(one) for one in kin if one is not None and one != id)
    found = np.array(hashes, np.uint64)
    return found, np.unique(np.concatenate([found, np.fromiter(others, np.uint64, len(others))]))


def scramble(values: _Hashes) -> _Hashes:
    """Turn numbers into others that look like chance, each into another one (the end of SplitMix64)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _choose_rows(source: MixSource, hashes: _Hashes, count: int) -> npt.NDArray[np.int64]:
    """Say how often each row is taken: all as often as they fit, and those with the smallest hashes once more."""
    whole, rest = divmod(count, len(hashes))
    copies = np.full(len(hashes), whole, np.int64)
    if source.strategy is not None and source.strategy[0] in ("first", "end"):
        copies[:rest] += source.strategy[0] == "first"
        copies[len(hashes) - rest :] += source.strategy[0] == "end"
        return copies
    copies[np.argsort(hashes, kind="stable")[:rest]] += 1
    return copies


def _write_rows(
    plans: Sequence[_ChosenRows], folder: Path, split: str, schema: pa.Schema, advance: Advance
) -> Sequence[Shard]:
    size = sum(map(_estimate_bytes, plans))
    bits = min(MOST_BUCKETS, max(1, -(-size // BUCKET_BYTES)) * 2 - 1).bit_length() - 1
    if size >> bits > _MOST_BUCKET_BYTES:
        raise Error(f"the mixture has {size / 1e9:,.0f} GB, more than are sorted at once. Mix parts of it (--samples).")
    writer = ShardWriter(folder, split, schema)
    total, done = sum(int(plan.copies.sum()) for plan in plans), 0
    with _Buckets(folder.parent, bits, schema) as buckets:
        for rows in (rows for plan in plans for rows in _read_rows(plan, schema)):
            buckets.add(rows)
            done += len(rows)
            advance(Done(done, total=2 * total))
        for table in buckets.read():
            order = pc.sort_indices(table[_ORDER])
            table = table.drop_columns([_ORDER])
            step = max(1, len(table) * ROW_GROUP_BYTES // max(1, table.nbytes))
            for start in range(0, len(table), step):
                group = table.take(order.slice(start, step)).combine_chunks()
                writer.write(*group.to_batches())
                done += len(group)
                advance(Done(done, total=2 * total))
    return writer.close()


def _estimate_bytes(plan: _ChosenRows) -> int:
    sizes = 0
    for file in plan.source.dataset.files[plan.source.split]:
        metadata = open_checked_parquet(file).metadata
        sizes += sum(metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))
    return sizes * int(plan.copies.sum()) // max(1, plan.source.rows)


def _read_rows(plan: _ChosenRows, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Read the rows that are taken of a source, as often as they are, with their order."""
    start = 0
    for batch in plan.source.dataset.batches(schema.names, plan.source.split):
        copies = plan.copies[start : start + len(batch)]
        hashes = plan.hashes[start : start + len(batch)]
        start += len(batch)
        if not copies.any():
            continue
        places = np.repeat(np.arange(len(batch)), copies)
        ends = np.cumsum(copies)
        numbers = np.arange(len(places)) - np.repeat(ends - copies, copies)
        # A second hash: by the first one, all of a source of which little is taken would stand in front.
        order = scramble(scramble(hashes[places]) + numbers.astype(np.uint64))
        rows = _rename(batch.take(from_numpy(places)), plan.prefix, numbers)
        try:
            rows = pa.RecordBatch.from_arrays([rows.column(name) for name in schema.names], schema=schema)
        except (KeyError, pa.ArrowException, TypeError, ValueError):
            path = plan.source.dataset.path
            raise Error(f"{path}: has not the columns of this version. Convert it again: mmconvert convert.") from None
        yield rows.append_column(_ORDER, from_numpy(order))


def _rename(rows: pa.RecordBatch, prefix: str, numbers: npt.NDArray[np.int64]) -> pa.RecordBatch:
    """Put the source's name in front of ids, and the number of a repetition behind them."""
    ends = build_column([f"#repeat{number}" if number else "" for number in numbers.tolist()], pa.string())
    for name in ("id", "sample", "group") if prefix or numbers.any() else ():
        texts = [build_scalar(prefix), rows.column(name), *([ends] if name == "id" else [])]
        place = rows.schema.get_field_index(name)
        rows = rows.set_column(place, name, pc.binary_join_element_wise(*texts, build_scalar("")))
    return rows


class _Buckets:
    """Rows by the first bits of their order: in memory where there is one bucket, else in files."""

    def __init__(self, folder: Path, bits: int, schema: pa.Schema) -> None:
        self._folder, self._bits = folder, bits
        self._schema = schema.append(pa.field(_ORDER, pa.uint64()))
        self._held: list[pa.RecordBatch] = []
        self._stack = ExitStack()
        self._files: dict[int, tuple[Path, pa.RecordBatchStreamWriter]] = {}

    def __enter__(self) -> "_Buckets":
        if self._bits:
            self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(dir=self._folder)))
        return self

    def __exit__(self, *_: object) -> None:
        for _path, writer in self._files.values():
            writer.close()
        self._stack.close()

    def add(self, rows: pa.RecordBatch) -> None:
        if not self._bits:
            self._held.append(rows)
            return
        numbers = rows.column(_ORDER).to_numpy() >> np.uint64(64 - self._bits)
        for number in np.unique(numbers).tolist():
            self._open(number).write_batch(rows.take(from_numpy(np.flatnonzero(numbers == number))))

    def _open(self, number: int) -> pa.RecordBatchStreamWriter:
        if number not in self._files:
            path = self._folder / f"{number:04d}.arrow"
            self._files[number] = path, pa.ipc.new_stream(str(path), self._schema)
        return self._files[number][1]

    def read(self) -> Iterator[pa.Table]:
        """Give the rows of each bucket, the buckets in order."""
        if not self._bits:
            yield pa.Table.from_batches(self._held, self._schema).combine_chunks()
        for _number, (path, writer) in sorted(self._files.items()):
            writer.close()
            with pa.OSFile(str(path)) as file:
                yield pa.ipc.open_stream(file).read_all().combine_chunks()
            path.unlink()
