"""Thumbnails of the images of samples, read batch by batch from the dataset that holds them."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from mmconvert.core.errors import Error, quote_value
from mmconvert.core.record import SCHEMA, Image
from mmconvert.dataset.dataset import read_shard_batches
from mmconvert.pipeline import convert
from mmconvert.viewer.items import PageImage
from mmconvert.viewer.thumbnails import Thumbnails
from mmscore.core.predictions.join import join
from mmscore.core.predictions.load import Rows, list_parquet_files, open_rows
from mmscore.core.predictions.locate import locate_predictions

_COLUMNS = tuple(SCHEMA.field(name) for name in ("id", "sample", "images", "image_info"))
"""As a dataset of ours has them; in files of others they may be anything, and are not looked at."""
_TOGETHER = 64
"""Samples whose thumbnails are made side by side."""
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


def build_thumbnails(path: str | Path, wanted: Sequence[str], made: Thumbnails) -> dict[str, tuple[PageImage, ...]]:
    """Make thumbnails of the images of some samples; no more than two batches of images are held.

    Args:
        path: Dataset or file of a known format.
        wanted: Ids or samples.
        made: The thumbnails of the page.

    Returns:
        By the same names, the images of the samples that have any.
    """
    known = set(wanted)
    found: dict[str, tuple[PageImage, ...]] = {}
    rows = _list_illustrated(locate_predictions(path).path, pa.array(sorted(known), pa.string()))
    fitting = ((names, images) for names, images in rows if known.intersection(names) and images)
    batch = list(islice(fitting, _TOGETHER))
    while batch:
        with made.start(image for _, images in batch for image in images):
            following = list(islice(fitting, _TOGETHER))
        for names, images in batch:
            described = tuple(made.describe_image(image, image.slot) for image in images)
            found |= {name: described for name in names if name in known and name not in found}
        batch = following
    return found


def _list_illustrated(place: Path, wanted: pa.Array) -> Iterator[tuple[Sequence[str], Sequence[Image]]]:
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
            for row in batch.filter(hit).to_pylist():
                pairs = zip(row["images"], row["image_info"], strict=True)
                images = [Image(bytes=(image or {}).get("bytes"), **info) for image, info in pairs]
                yield (row["id"], row["sample"]), images
