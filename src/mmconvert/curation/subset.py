"""A dataset written again without some of its samples, or with other splits: what stays is stored as it was."""

import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mmconvert.core.arrow import from_numpy
from mmconvert.core.errors import UsageError
from mmconvert.core.record import Record, from_arrow
from mmconvert.curation.row_parts import RowsPart
from mmconvert.dataset.card import Origin
from mmconvert.dataset.dataset import Dataset, DatasetWriter, read_shard_batches
from mmconvert.dataset.front_matter import read_front_matter
from mmconvert.dataset.manifest import DATA_FOLDER, DEFAULT_CONFIG, MANIFEST, read_manifest
from mmconvert.dataset.publish import check_free, send
from mmconvert.dataset.shards import ROW_GROUP_BYTES, Shard, ShardWriter
from mmconvert.dataset.views import EVAL, VIEWS, View
from mmconvert.io.parquet import open_checked_parquet
from mmconvert.pipeline.engines import Run
from mmconvert.storage.atomic import require_apart
from mmconvert.storage.locks import occupied
from mmconvert.storage.object_store import is_url
from mmconvert.storage.temporary import build_temporary_prefix

Labels = npt.NDArray[np.int16]
_ALL_COLUMNS = None


@contextmanager
def open_output_folder(output: str, *, overwrite: bool) -> Iterator[Path]:
    """Give the folder to write a dataset into; one for a URL is sent when the context is left well.

    Raises:
        UsageError: Something stands at the URL.
        Error: The store cannot be reached, or refuses.
    """
    if not is_url(output):
        yield Path(output)
        return
    check_free(output, overwrite=overwrite)
    with tempfile.TemporaryDirectory(prefix=build_temporary_prefix()) as folder:
        place = Path(folder, output.rstrip("/").rpartition("/")[2])
        yield place
        send(place, output)


def require_converted(dataset: Dataset) -> None:
    """Refuse a dataset that cannot be written again.

    Raises:
        UsageError: It was not created by mmconvert, or its layout is none of `VIEWS`.
    """
    if not (dataset.path / MANIFEST).is_file():
        path = dataset.path
        raise UsageError(f"{path}: is not a converted dataset. Convert it first: mmconvert convert {path} -o NEW")
    _find_view(dataset)


def _find_view(dataset: Dataset) -> tuple[str, View]:
    view = read_manifest(dataset.path)[1].get("view", EVAL)
    if view not in VIEWS:
        raise UsageError(
            f"{dataset.path}: has the layout {view}, which is not written again. Name a dataset of samples."
        )
    return view, VIEWS[view]


def require_outside(folder: Path, dataset: Dataset) -> None:
    """Refuse to write a dataset over or into the one that is read.

    Raises:
        UsageError: The folder is the dataset, or lies in it.
    """
    require_apart([folder] if folder.exists() else [], [dataset.path])
    if folder.resolve().is_relative_to(str(dataset.path.resolve())):
        raise UsageError(f"{folder}: lies in the dataset that is read. Name a folder beside it.")


def write_subset(dataset: Dataset, output: Path, kept: Any, about: dict[str, Any], *, overwrite: bool = False) -> int:
    """Write the samples of a converted dataset that are kept, split by split and in their order.

    Args:
        dataset: The dataset.
        output: Folder that shall appear.
        kept: bool of shape (rows,), for the rows of all splits one after the other.
        about: JSON values for the manifest, beside those of the dataset.
        overwrite: Replace a dataset that stands there.

    Returns:
        How many were written.

    Raises:
        UsageError: Something stands there, or as `require_converted`.
        Error: A shard is damaged.
    """
    config, layout = _name_config(dataset), _find_view(dataset)[1]
    first = 0
    with _open_writer(dataset, output, about, overwrite=overwrite) as writer:
        for split in dataset.files:
            rows = _RowWriter(writer.make_folder(split, config), split, layout)
            for batch in dataset.batches(_ALL_COLUMNS, split):
                rows.add(batch, kept[first : first + batch.num_rows])
                first += batch.num_rows
            writer.add(rows.close(), split, config)
    return int(kept.sum())


def write_divided(
    dataset: Dataset,
    parts: Sequence[RowsPart],
    output: Path,
    names: Sequence[str],
    labels: Labels,
    about: dict[str, Any],
    run: Run,
    *,
    overwrite: bool,
    tell: Callable[[int], None],
) -> None:
    """Write the samples of one split of a converted dataset into several, each in the order in which they are.

    Args:
        dataset: The dataset.
        parts: All parts of the split, in order; each gives a shard of every split that has rows of it.
        output: Folder that shall appear.
        names: Splits that are written.
        labels: The place of each row's split in `names`.
        about: JSON values for the manifest, beside those of the dataset.
        run: Runs parts, in any process.
        overwrite: Replace a dataset that stands there.
        tell: Called now and then with the number of rows that are written.

    Raises:
        UsageError: Something stands there, or as `require_converted`.
        Error: A shard is damaged, or another process is writing there.
    """
    config, (view, _) = _name_config(dataset), _find_view(dataset)
    with occupied(output) as held, _open_writer(dataset, output, about, overwrite=overwrite) as writer:
        folders = [writer.make_folder(name, config) for name in names]
        targets = [*zip(folders, names, strict=True)]
        tasks = [
            _DividedPart(part, labels[slice(*part.rows)], number, targets, view) for number, part in enumerate(parts)
        ]
        for part, made in zip(parts, run(_divide_part, tasks), strict=True):
            for name, shards in zip(names, made, strict=True):
                writer.add(shards, name, config)
            tell(part.rows[1])
        held.check()


class _DividedPart(msgspec.Struct, frozen=True):
    """A part, and the split of each of its rows."""

    part: RowsPart
    labels: Labels
    number: int
    targets: Sequence[tuple[Path, str]]
    view: str


def _divide_part(task: _DividedPart) -> list[list[Shard]]:
    """Write the rows of a part into a shard of each split; give the shards of each."""
    rows = [_RowWriter(folder, f"{name}-part{task.number:05d}", VIEWS[task.view]) for folder, name in task.targets]
    first = 0
    for batch in read_shard_batches(task.part.file, _ALL_COLUMNS, groups=range(*task.part.groups)):
        labels = task.labels[first : first + batch.num_rows]
        for number, mine in enumerate(rows):
            mine.add(batch, labels == number)
        first += batch.num_rows
    return [mine.close() for mine in rows]


def _open_writer(dataset: Dataset, output: Path, about: dict[str, Any], *, overwrite: bool) -> DatasetWriter:
    """Prepare to write a dataset again, with its layout, its card's facts and what its manifest says of its source."""
    earlier = read_manifest(dataset.path)[1]
    facts: dict[str, Any] = {name: earlier[name] for name in ("format", "input", "options") if name in earlier}
    view, origin = _find_view(dataset)[0], _read_origin(dataset.path)
    return DatasetWriter(output, overwrite=overwrite, view=view, about={**facts, **about}, origin=origin)


def _name_config(dataset: Dataset) -> str:
    folder = next(file.parent.name for files in dataset.files.values() for file in files)
    return DEFAULT_CONFIG if folder == DATA_FOLDER else folder


def _read_origin(path: Path) -> Origin:
    """Take the licence and the source from the card of a dataset, where they can be taken over."""
    card = path / "README.md"
    front = read_front_matter(card.read_text("utf-8", errors="replace")) if card.is_file() else {}
    sources = front.get("source_datasets")
    source = front.get("source_url") or (sources[0] if isinstance(sources, list) and sources else None)
    try:
        return Origin(front.get("license"), source)
    except (UsageError, TypeError):
        return Origin()


class _RowWriter:
    """Writes rows of one split as they are stored; a row group goes to disk as soon as it is full."""

    def __init__(self, folder: Path, split: str, view: View) -> None:
        self._writer, self._view = ShardWriter(folder, split, view.schema), view
        self._group: list[pa.RecordBatch] = []
        self._bytes = 0

    def add(self, batch: pa.RecordBatch, mask: npt.NDArray[np.bool_]) -> None:
        """Append the rows of a batch of which the mask is true."""
        if not mask.any():
            return
        if batch.schema != self._view.schema:
            # Of an earlier version of the schema.
            batch = self._view.batch(list(from_arrow(batch)))
        batch = batch.filter(from_numpy(mask))
        self._group.append(batch)
        self._bytes += batch.nbytes
        if self._bytes >= ROW_GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._group:
            self._writer.write(*self._group)
        self._group, self._bytes = [], 0

    def close(self) -> list[Shard]:
        """Write the rest, and give the shards."""
        self._flush()
        return self._writer.close()


def read_rows(dataset: Dataset, rows: Collection[int]) -> dict[int, Record]:
    """Read some records of a dataset by their places among the rows of all splits; row groups without any are left."""
    found: dict[int, Record] = {}
    wanted = np.zeros(dataset.num_rows + 1, dtype=bool)
    wanted[list(rows)] = True
    first = 0
    for file in (file for files in dataset.files.values() for file in files):
        metadata = open_checked_parquet(file).metadata
        for group in range(metadata.num_row_groups):
            if not wanted[first : first + metadata.row_group(group).num_rows].any():
                first += metadata.row_group(group).num_rows
                continue
            for batch in read_shard_batches(file, _ALL_COLUMNS, groups=[group]):
                places = np.flatnonzero(wanted[first : first + batch.num_rows])
                found.update(zip((places + first).tolist(), from_arrow(batch.take(pa.array(places))), strict=True))
                first += batch.num_rows
    return found
