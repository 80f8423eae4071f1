"""RefCOCO, RefCOCO+ and RefCOCOg as VLMEvalKit scores them: boxes that overlap the reference by half or more.

A line for each split: precision in percent, the mean overlap (intersection over union) as a fraction. Average weighs
the eight splits of the three benchmarks alike; without one of them, every row. A response's box is taken as fractions
of the image up to 1.5, as thousandths up to 1000, else as pixels.

References are the columns `bbox_x1` ... `bbox_y2` of the framework's result files, in pixels. In its table of
questions they are the answer, as fractions where no number of the whole table is above 1.5, else as pixels.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/refcoco.py:RefCOCODataset.evaluate, load_data. Kept on
purpose: an image without width or height is one pixel wide or high. Not kept: a row without a box to compare with is
refused, the framework counts it as wrong; a failed inference counts apart, the framework scores its failure text.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from mmscore.core.estimates import compute_macro
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item, Metrics, NoReferenceError, Recipe, Row
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.rows import (
    RESULTS,
    VERSIONS,
    offer_for_names,
    read_answer_cell,
    read_other_cells,
    split_cells,
)
from mmscore.parsers.vlmevalkit_box import vlmevalkit_box

Box = Sequence[float]

NAME = "RefCOCO"
SPLITS = (
    "RefCOCO_val", "RefCOCO_testA", "RefCOCO_testB", "RefCOCO+_val", "RefCOCO+_testA", "RefCOCO+_testB",
    "RefCOCOg_val", "RefCOCOg_test",
)  # fmt: skip
_SUFFIXES = {"val": "val", "test": "test", "testa": "testA", "testb": "testB"}
CORNERS = ("bbox_x1", "bbox_y1", "bbox_x2", "bbox_y2")
PRECISION, OVERLAP = "precision", "iou"
THRESHOLD = 0.5
LARGEST_FRACTION = 1.5
LARGEST_THOUSANDTH = 1000.0

_OF_FRACTIONS, _LARGEST = "iou_of_fractions", "largest"
"""Scores of rows whose reference says no unit, until all rows are known."""


def _parse(item: Item, version: str) -> Parsed:
    return vlmevalkit_box(item.prediction)


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    """Compare the box of a response with that of a row.

    Raises:
        NoReferenceError: The row has no box.
    """
    cells = read_other_cells(item)
    size = tuple(_read_length(cells.get(name)) for name in ("width", "height"))
    said = None if parsed.value is None else _scale_to_pixels(json.loads(parsed.value), size)
    corners = [_read_number(cells.get(name)) for name in CORNERS]
    if not any(map(math.isnan, corners)):
        return {OVERLAP: _compute_overlap(said, corners)}
    answer = vlmevalkit_box(read_answer_cell(item)).value
    if answer is None:
        raise NoReferenceError("extra.bbox_x1")
    box = json.loads(answer)
    fractions = _multiply(box, size)
    found = {_OF_FRACTIONS: _compute_overlap(said, fractions), _LARGEST: max(map(abs, box))}
    return {OVERLAP: _compute_overlap(said, box), **found}


def _read_number(cell: str | None) -> float:
    try:
        return math.nan if cell is None else float(cell)
    except ValueError:
        return math.nan


def _read_length(cell: str | None) -> float:
    length = _read_number(cell)
    return length if length > 0 else 1.0


def _multiply(box: Box, size: Sequence[float]) -> Box:
    return [number * size[place % 2] for place, number in enumerate(box)]


def _scale_to_pixels(box: Box, size: Sequence[float]) -> Box:
    """Give the box of a response in pixels, inside the image, its corners in order."""
    largest = max(map(abs, box))
    if largest <= LARGEST_FRACTION:
        box = _multiply(box, size)
    elif largest <= LARGEST_THOUSANDTH:
        box = _multiply([number / LARGEST_THOUSANDTH for number in box], size)
    x1, y1, x2, y2 = (min(max(number, 0.0), size[place % 2]) for place, number in enumerate(box))
    return (min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2))


def _compute_overlap(said: Box | None, wanted: Box) -> float:
    if said is None:
        return 0.0
    width, height = (min(said[n + 2], wanted[n + 2]) - max(said[n], wanted[n]) for n in range(2))
    if width <= 0 or height <= 0:
        return 0.0
    areas = [max(box[2] - box[0], 0.0) * max(box[3] - box[1], 0.0) for box in (said, wanted)]
    union = sum(areas) - width * height
    return width * height / union if union > 0 else 0.0


def _settle(scored: Scored, version: str) -> Scored:
    """Decide the unit of references by all of them, and name the splits."""
    scores = dict(scored.scores)
    fractions, largest = (scores.pop(name, np.full(len(scored), np.nan)) for name in (_OF_FRACTIONS, _LARGEST))
    overlap = scores[OVERLAP]
    known = largest[~np.isnan(largest)]
    if len(known) and known.max() <= LARGEST_FRACTION:
        overlap = np.where(np.isnan(largest), overlap, fractions)
    hits = np.where(np.isnan(overlap), np.nan, overlap >= THRESHOLD)
    named = zip(scored.column("split"), scored.column("category"), strict=True)
    splits = [split or _name_split(category) for split, category in named]
    return Scored(scored.with_column("split", splits).rows, {PRECISION: hits, OVERLAP: overlap})


def _name_split(category: str | None) -> str:
    """Name the split that a category such as `RefCOCO+ test A` stands for."""
    if category is None or not category.strip():
        return NAME
    benchmark, *rest = category.strip().split(None, 1)
    if not rest:
        return benchmark
    suffix = _SUFFIXES.get(re.sub(r"[\s_-]+", "", rest[0].lower()))
    return f"{benchmark}_{suffix or rest[0].replace(' ', '_').replace('-', '_')}"


def _list_parts(scored: Scored) -> Iterator[tuple[str, Scored]]:
    """Give the rows of each split, known ones first and in the framework's order."""
    parts = dict(split_cells(scored, "split"))
    yield from ((name, parts.pop(name)) for name in SPLITS if name in parts)
    yield from sorted(parts.items(), key=lambda part: part[0])


def _reduce(scored: Scored, version: str) -> Metrics:
    parts = [rows for name, rows in _list_parts(scored) if name in SPLITS] or [scored]
    averages = {name: compute_macro(rows.mean(name) for rows in parts) for name in (PRECISION, OVERLAP)}
    return {PRECISION: averages[PRECISION].scale(100, "percent"), OVERLAP: averages[OVERLAP]}


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    parts = list(_list_parts(scored))
    known = [rows for name, rows in parts if name in SPLITS] or [scored]
    lines = [(name, rows.mean(PRECISION).value * 100, rows.mean(OVERLAP).value, len(rows)) for name, rows in parts]
    average = (estimate.value for estimate in _reduce(scored, version).values())
    names = ("Split", "Precision@1", "Average IoU", "Samples")
    return [dict(zip(names, line, strict=True)) for line in (*lines, ("Average", *average, sum(map(len, known))))]


RECIPE = Recipe(
    summary="RefCOCO, RefCOCO+ and RefCOCOg as VLMEvalKit scores them: boxes with an overlap of half or more",
    parity="VLMEvalKit",
    versions=VERSIONS,
    columns=("extra",),
    optional=("answer", "label"),
    parse=_parse,
    metrics=_score_row,
    settle=_settle,
    reduce=_reduce,
    table=_build_table,
    keep=("split", "category"),
    groups=("split",),
    results=RESULTS,
    default_for=offer_for_names("RefCOCO", frozenset((NAME,))),
)
