"""Thumbnails of the pictures that rows show, read batch by batch from the dataset."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from mmconvert.core.record import SCHEMA, Image
from mmconvert.dataset.dataset import open_dataset
from mmconvert.pipeline import convert
from mmconvert.viewer.items import Picture
from mmconvert.viewer.thumbnails import Thumbnails
from mmscore.core.predictions.load import list_parquet_files
from mmscore.core.predictions.locate import locate_predictions

_COLUMNS = tuple(SCHEMA.field(name) for name in ("id", "sample", "images", "image_info"))
"""As a dataset of ours has them; in files of others they may be anything, and are not looked at."""
_TOGETHER = 64
"""Rows whose thumbnails are made side by side."""


def thumbnails_of(path: str | Path, shown: Mapping[str, int], made: Thumbnails) -> dict[str, tuple[Picture, ...]]:
    """Make thumbnails of the pictures of some rows; no more than a batch of pictures is held.

    Args:
        path: Dataset or file of a known format.
        shown: Id or sample of a row -> how many pictures its messages show.
        made: The thumbnails of the page.

    Returns:
        By the same names, the pictures of the rows that have as many as their messages show.
    """
    found: dict[str, tuple[Picture, ...]] = {}
    rows = _illustrated(locate_predictions(path).path, pa.array(list(shown), pa.string()))
    fitting = ((names, images) for names, images in rows if any(shown.get(name) == len(images) for name in names))
    while batch := list(islice(fitting, _TOGETHER)):
        made.prepare(image for _, images in batch for image in images)
        for names, images in batch:
            pictures = tuple(made.describe_image(image, image.slot) for image in images)
            found |= {name: pictures for name in names if shown.get(name) == len(images) and name not in found}
    return found


def _illustrated(place: Path, wanted: pa.Array) -> Iterator[tuple[Sequence[str], Sequence[Image]]]:
    """Give the names of each row that has pictures, id and sample, and these."""
    files = list_parquet_files(place)
    if not files:
        for record in convert.read(place):
            if record.images:
                yield (record.id, record.sample), record.images
    for file in files:
        for batch in open_dataset(file).batches([column.name for column in _COLUMNS]):
            if any(column not in batch.schema for column in _COLUMNS):
                break
            hit = pc.or_(*(pc.is_in(batch.column(name), value_set=wanted) for name in ("id", "sample")))
            for row in batch.filter(hit).to_pylist():
                pairs = zip(row["images"], row["image_info"], strict=True)
                images = [Image(bytes=(image or {}).get("bytes"), **info) for image, info in pairs]
                yield (row["id"], row["sample"]), images
