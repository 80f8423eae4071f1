"""A dataset written again without some of its samples: what stays is stored as it was."""

import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mmconvert.core.errors import UsageError
from mmconvert.core.record import Record, from_arrow
from mmconvert.dataset.card import Origin
from mmconvert.dataset.dataset import Dataset, DatasetWriter, read_shard_batches
from mmconvert.dataset.front_matter import read_front_matter
from mmconvert.dataset.manifest import DATA_FOLDER, DEFAULT_CONFIG, MANIFEST, read_manifest
from mmconvert.dataset.publish import check_free, send
from mmconvert.dataset.shards import ROW_GROUP_BYTES, Shard, ShardWriter
from mmconvert.dataset.views import EVAL, VIEWS, View
from mmconvert.storage.object_store import is_url
from mmconvert.storage.temporary import build_temporary_prefix

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
    view, layout = _find_view(dataset)
    earlier = read_manifest(dataset.path)[1]
    facts: dict[str, Any] = {name: earlier[name] for name in ("format", "input", "options") if name in earlier}
    config = _name_config(dataset)
    writer = DatasetWriter(
        output, overwrite=overwrite, view=view, about={**facts, **about}, origin=_read_origin(dataset.path)
    )
    with writer:
        first = 0
        for split, files in dataset.files.items():
            rows = dataset.splits[split]
            shards = _write_split(files, kept[first : first + rows], layout, writer.make_folder(split, config), split)
            writer.add(shards, split, config)
            first += rows
    return int(kept.sum())


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


def _write_split(files: Collection[Path], kept: Any, view: View, folder: Path, split: str) -> list[Shard]:
    writer = ShardWriter(folder, split, view.schema)
    group: list[pa.RecordBatch] = []
    size = first = 0
    for batch in (batch for file in files for batch in read_shard_batches(file, _ALL_COLUMNS)):
        mask = kept[first : first + batch.num_rows]
        first += batch.num_rows
        if not mask.any():
            continue
        if batch.schema != view.schema:
            # Of an earlier version of the schema.
            batch = view.batch(list(from_arrow(batch)))
        batch = batch.filter(pa.array(mask))
        group.append(batch)
        size += batch.nbytes
        if size >= ROW_GROUP_BYTES:
            writer.write(*group)
            group, size = [], 0
    if group:
        writer.write(*group)
    return writer.close()


def read_rows(dataset: Dataset, rows: Collection[int]) -> dict[int, Record]:
    """Read some records of a dataset by their places among the rows of all splits."""
    found: dict[int, Record] = {}
    wanted = np.zeros(dataset.num_rows + 1, dtype=bool)
    wanted[list(rows)] = True
    first = 0
    for batch in dataset.batches():
        places = np.flatnonzero(wanted[first : first + batch.num_rows])
        found.update(zip((places + first).tolist(), from_arrow(batch.take(pa.array(places))), strict=True))
        first += batch.num_rows
        if len(found) == len(rows):
            break
    return found
