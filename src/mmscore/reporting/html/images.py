"""Thumbnails of the images of samples, read batch by batch from the dataset that holds them."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from mmconvert.core.arrow import build_column
from mmconvert.core.errors import Error, quote_value
from mmconvert.core.multiprocess import count_usable_cores
from mmconvert.core.record import SCHEMA, Image
from mmconvert.dataset.dataset import read_shard_batches
from mmconvert.pipeline import convert
from mmconvert.pipeline.engines.local import open_children
from mmconvert.viewer.items import PageImage
from mmconvert.viewer.thumbnails import Makers, Thumbnails, open_threads
from mmscore.core.predictions.join import join
from mmscore.core.predictions.load import Rows, list_parquet_files, open_rows
from mmscore.core.predictions.locate import locate_predictions

_COLUMNS = tuple(SCHEMA.field(name) for name in ("id", "sample", "images", "image_info"))
"""As a dataset of ours has them; in files of others they may be anything, and are not looked at."""
Illustrated = tuple[Sequence[str], Sequence[Image]]
"""Names of a sample, and its images."""
_TOGETHER, _TOGETHER_BYTES = 32, 4 << 20
"""Images that are begun at once and go to one process, unless they are large."""
_AHEAD = 6
"""So many times those are under way, for a process to have its next ones before it ends; they do not know what the
others take of the page's room, and the page is the same whatever the machine."""
_MANY = 500
"""Fewer thumbnails are made before a process has begun."""
_NAMED = 3
"""Ids of each side that an error names."""


def match_samples(rows: Rows, dataset: str | Path) -> dict[str, str]:
    """Find the sample of a dataset that each prediction is about, as `--answers` does.

    Args:
        rows: The predictions, joined with their references or not.
        dataset: The dataset that holds the images.

    Returns:
        Id of a prediction -> sample of the dataset.

    Raises:
        UsageError: Nothing stands there.
        Error: No prediction is about a sample of the dataset, or its samples ask something else.
    """
    predictions, *references = rows.sides or (rows,)
    if references and references[0].path == str(dataset):
        joined = rows
    else:
        joined = _join_samples(predictions, open_rows(dataset, required=("id",)))
    if "sample" not in joined.names:
        return {id: id for id in joined.identity["id"].to_pylist() if id is not None}
    pairs: dict[str, str] = {}
    for batch in joined.read(["id", "sample"]):
        ids, samples_of = (batch.column(name).to_pylist() for name in ("id", "sample"))
        pairs |= {id: sample or id for id, sample in zip(ids, samples_of, strict=True) if id is not None}
    return pairs


def _join_samples(predictions: Rows, samples: Rows) -> Rows:
    """Join predictions and the samples that hold their images.

    Raises:
        Error: They share no sample, with the ids of both sides; or the samples ask something else.
    """
    fix = "Fix: --html-pictures DATASET, the dataset that the predictions are about."
    try:
        return join(predictions, samples)
    except Error as error:
        try:
            join(predictions, samples, allow_mismatch=True)
        except Error:
            sides = (one.identity["id"].slice(0, _NAMED).to_pylist() for one in (predictions, samples))
            named = [", ".join(map(quote_value, ids)) for ids in sides]
            raise Error(
                f"{samples.path}: holds none of the samples of {predictions.path}. Ids of the predictions: "
                f"{named[0]}; ids of the dataset: {named[1]}. {fix}"
            ) from error
        raise Error(f"{str(error).partition(' Give the dataset')[0]} {fix}") from error


class SampleImages:
    """The images of some samples with their thumbnails, which are made while others of them are looked up."""

    def __init__(self, samples: Iterator[Illustrated], made: Thumbnails, makers: Makers) -> None:
        """Begin with the first.

        Args:
            samples: As `list_illustrated` gives them; what it raises is raised here or by `find`.
            made: The thumbnails of the page.
            makers: Make them; see `open_makers`.
        """
        self._batches = _group(samples)
        self._made, self._makers = made, makers
        self._found: dict[str, tuple[PageImage, ...]] = {}
        self._under_way: deque[tuple[Sequence[Illustrated], Callable[[], None]]] = deque()
        self._begin_next()

    def find(self, names: Sequence[str]) -> tuple[PageImage, ...]:
        """Give the images of the sample that has the first of some names, else the next; () where none has images."""
        for name in names:
            while name not in self._found and self._take():
                pass
            if name in self._found:
                return self._found[name]
        return ()

    def has_any(self) -> bool:
        """Tell whether some sample has images."""
        return bool(self._found) or self._take()

    def _begin_next(self) -> None:
        for batch in islice(self._batches, _AHEAD - len(self._under_way)):
            images = [image for _, several in batch for image in several]
            self._under_way.append((batch, self._made.begin(images, self._makers)))

    def _take(self) -> bool:
        """Keep what was begun first; tell whether there was anything."""
        if not self._under_way:
            return False
        batch, finish = self._under_way.popleft()
        finish()
        for names, images in batch:
            described = tuple(self._made.describe_image(image, image.slot) for image in images)
            self._found |= {name: described for name in names if name not in self._found}
        self._begin_next()
        return True


@contextmanager
def open_makers(count: int, workers: int | None = None) -> Iterator[Makers]:
    """Have threads for a few thumbnails, or processes, which take time to begin but do not wait for this one.

    Args:
        count: How many thumbnails.
        workers: Most processes; None for one a core.
    """
    workers = workers or count_usable_cores()
    if workers == 1 or count < _MANY:
        with open_threads() as makers:
            yield makers
    else:
        with open_children(workers) as begin:
            yield Makers(begin, _TOGETHER)


def _group(rows: Iterable[Illustrated]) -> Iterator[list[Illustrated]]:
    """Put samples together whose images are begun at once."""
    batch: list[Illustrated] = []
    number = size = 0
    for row in rows:
        batch.append(row)
        number += len(row[1])
        size += sum(len(image.bytes or b"") for image in row[1])
        if number >= _TOGETHER or size >= _TOGETHER_BYTES:
            yield batch
            batch, number, size = [], 0, 0
    if batch:
        yield batch


def list_illustrated(path: str | Path, wanted: Iterable[str]) -> Iterator[Illustrated]:
    """Find the samples of a dataset that have images.

    Args:
        path: Dataset or file of a known format.
        wanted: Ids or samples.

    Yields:
        Those of the names of each, id and sample, that are wanted, and its images.

    Raises:
        UsageError: Nothing stands there.
        Error: It is damaged.
    """
    known = set(wanted)
    for names, images in _read_illustrated(locate_predictions(path).path, build_column(sorted(known), pa.string())):
        if images and (found := known.intersection(names)):
            yield [*found], images


def _read_illustrated(place: Path, wanted: pa.Array) -> Iterator[Illustrated]:
    """Give the names of each sample that has images, id and sample, and these."""
    files = list_parquet_files(place)
    if not files:
        for record in convert.read(place):
            if record.images:
                yield (record.id, record.sample), record.images
    for file in files:
        for batch in read_shard_batches(file, [column.name for column in _COLUMNS]):
            if any(column not in batch.schema for column in _COLUMNS):
                break
            hit = pc.or_(*(pc.is_in(batch.column(name), value_set=wanted) for name in ("id", "sample")))
            # Filtering copies images, and most often all are wanted.
            for row in (batch if hit.true_count == len(batch) else batch.filter(hit)).to_pylist():
                pairs = zip(row["images"], row["image_info"], strict=True)
                images = [Image(bytes=(image or {}).get("bytes"), **info) for image, info in pairs]
                yield (row["id"], row["sample"]), images
