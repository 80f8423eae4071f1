"""`mmconvert mix`: several datasets into one, by weights, in the order of a hash.

Which rows are taken, and their order, follow from the seed, the source's name and the row's id alone: a source that is
added changes neither the rows of the others nor their order among each other, as long as as many are taken.

Rows are sorted in files beside the output (`mix_rows`), which takes room for the mixture twice.
"""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec.structs import replace

from mmconvert.core.errors import UsageError
from mmconvert.core.progress import Advance, Done, show_progress
from mmconvert.curation.mix_rows import (
    Hashes,
    TakenPart,
    hash_ids,
    list_source_parts,
    plan_shards,
    scramble,
    sort_part,
    write_shard,
)
from mmconvert.curation.mix_sources import MixSource, find_view, open_sources
from mmconvert.curation.row_parts import RowsPart
from mmconvert.curation.shares import Exhausted, compute_shares, count_taken
from mmconvert.dataset.dataset import DatasetWriter
from mmconvert.dataset.publish import check_free, send
from mmconvert.dataset.shards import Shard
from mmconvert.dataset.views import VIEWS
from mmconvert.pipeline.convert import load_engine
from mmconvert.pipeline.engines import Run
from mmconvert.pipeline.sampling import hash_text
from mmconvert.storage.atomic import require_apart
from mmconvert.storage.locks import occupied
from mmconvert.storage.object_store import is_url
from mmconvert.storage.source_files import watch_sources
from mmconvert.storage.temporary import build_temporary_prefix


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
    workers: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Number of worker processes; one per core where none is given. The result is always the same."""
    engine: str = "local"
    """Where workers run: local, or ray for a Ray cluster."""
    overwrite: bool = False
    """Replace an existing dataset."""


class MixKeywords(TypedDict, total=False):
    """Keywords of `mix`: the fields of `MixOptions`."""

    samples: int | None
    temperature: float
    exhausted: Exhausted
    split: str | None
    output_split: str
    seed: int
    workers: int | None
    engine: str
    overwrite: bool


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
    """What is taken of one source: how often each row, part by part too, and whether ids get its name in front."""

    source: MixSource
    copies: npt.NDArray[np.int64]
    renamed: bool
    parts: list[TakenPart]


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
    engine = load_engine(options.engine)
    parts = [list(list_source_parts(source)) for source in sources]
    workers = min(options.workers or engine.cores(), sum(map(len, parts)))
    # Children are forked where this process has no thread yet, and showing progress takes one.
    with occupied(output) as held, engine.crew(workers) as run, show_progress("mix", quiet=quiet) as advance:
        hashed = run(hash_ids, [part for some in parts for part in some])
        plans = _plan_rows(sources, parts, hashed, taken, options.seed)
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
                    plan.renamed,
                )
                for plan, share in zip(plans, shares, strict=True)
            ],
            options.samples,
        )
        formats = sorted({name for source in sources for name in source.formats})
        about = {"format": ", ".join(formats), "mix": msgspec.to_builtins(mixed)}
        with DatasetWriter(output, overwrite=options.overwrite, view=view, about=about) as writer:
            folder = writer.make_folder(options.output_split)
            shards = _write_rows(plans, folder, options.output_split, VIEWS[view].schema, run, advance)
            writer.add(shards, options.output_split)
            held.check()
    return mixed


def _plan_rows(
    sources: Sequence[MixSource],
    parts: Sequence[Sequence[RowsPart]],
    hashed: Iterator[tuple[Hashes, Hashes]],
    taken: Sequence[int],
    seed: int,
) -> list[_ChosenRows]:
    """Choose the rows of each source, and find those whose ids another source has too."""
    found = [[next(hashed) for _ in some] for some in parts]
    kin = [np.unique(np.concatenate([others for _, others in some])) for some in found]
    keys, counts = np.unique(np.concatenate(kin), return_counts=True)
    shared = keys[counts > 1]
    plans = []
    for source, some, own, names, count in zip(sources, parts, found, kin, taken, strict=True):
        hashes = np.concatenate([one for one, _ in own])
        ordered = scramble(hashes ^ np.uint64(hash_text(f"{seed} {source.name}")))
        prefix = f"{source.name}-" if np.isin(names, shared).any() else ""
        copies = _choose_rows(source, ordered, count)
        plans.append(
            _ChosenRows(
                source,
                copies,
                bool(prefix),
                [TakenPart(part, ordered[slice(*part.rows)], copies[slice(*part.rows)], prefix) for part in some],
            )
        )
    return plans


def _choose_rows(source: MixSource, hashes: Hashes, count: int) -> npt.NDArray[np.int64]:
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
    plans: Sequence[_ChosenRows], folder: Path, split: str, schema: pa.Schema, run: Run, advance: Advance
) -> list[Shard]:
    total, done = sum(int(plan.copies.sum()) for plan in plans), 0
    shards: list[Shard] = []
    with tempfile.TemporaryDirectory(dir=folder.parent) as buckets:
        parts = [part for plan in plans for part in plan.parts]
        sorts, tasks = plan_shards(parts, Path(buckets), folder, split, schema)
        for rows in run(sort_part, sorts):
            done += rows
            advance(Done(done, total=2 * total))
        for made in run(write_shard, tasks):
            shards += made
            done += sum(shard.rows for shard in made)
            advance(Done(done, total=2 * total))
    return shards
