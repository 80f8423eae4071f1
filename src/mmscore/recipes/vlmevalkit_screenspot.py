"""ScreenSpot, ScreenSpot_v2, ScreenSpot_Pro and OSWorld_G as VLMEvalKit scores them: the clicked point in the box.

A response names its point as `x=0.5, y=0.25`; one that names none clicks at 0, 0. Points are fractions of the image, or
pixels where a number is above 1; of OSWorld_G always thousandths. Boxes are pixels: left, top, width and height, of
ScreenSpot_Pro left, top, right and bottom. The size of an image is that of the dataset which the predictions were made
of (`--answers`, `--benchmark`), for a result file holds no images.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/GUI/screenspot.py, screenspot_pro.py,
osworld_g.py: evaluate_point. Kept on purpose: in Text, Icon and a category's accuracy each group of equal category and
type counts as often as it has rows, so that larger groups weigh more than their share; right and bottom of a
ScreenSpot box are one pixel further in. Not kept: the framework breaks off at a box outside its image, here the row
has no score; a failed inference counts apart, the framework scores its failure text.
"""

import math
from collections.abc import Mapping, Sequence

from mmconvert.core.errors import RowError, show
from mmconvert.core.text.literals import parse_short_literal
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item, Metrics, NoReferenceError, Recipe, Row
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.rows import RESULTS, VERSIONS, offer_for_names, read_other_cells, require_cell
from mmscore.parsers.vlmevalkit_click import NO_NUMBER, read_point, vlmevalkit_click

CORNERS = 4
THOUSANDTHS = 1000
OSWORLD = "OSWorld_G"
PRO = frozenset(f"ScreenSpot_Pro_{part}" for part in ("Development", "Creative", "CAD", "Scientific", "Office", "OS"))
NAMES = frozenset(
    (
        OSWORLD,
        *PRO,
        *(f"ScreenSpot_{version}{part}" for version in ("", "v2_") for part in ("Mobile", "Desktop", "Web")),
    )
)
TYPES = ("extra.data_type", "extra.ui_type")
"""Columns that say whether text or an icon is to be clicked at: of ScreenSpot, and of the others."""

HIT, BROKEN = "accuracy", "format_error"
TABLE = (("Text_Accuracy", "text"), ("Icon_Accuracy", "icon"))


def _parse(item: Item, version: str) -> Parsed:
    return vlmevalkit_click(item.prediction)


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    """Tell whether the point of a response lies in the box.

    Raises:
        NoReferenceError: The size of the image is not known.
        RowError: There is no box, or it does not lie inside the image.
    """
    size = [float(image.get(name) or 0) for image in item.image_info[:1] for name in ("width", "height")]
    if not size or not all(size):
        raise NoReferenceError("image_info")
    box = _read_box(item, size)
    if parsed.how == NO_NUMBER:
        return {HIT: 0.0, BROKEN: 1.0}
    point = read_point(parsed)
    if item.dataset == OSWORLD:
        point = tuple(number / THOUSANDTHS for number in point)
    elif max(point) > 1:
        point = tuple(number / length for number, length in zip(point, size, strict=True))
    inside = all(box[side] <= number <= box[side + 2] for side, number in enumerate(point))
    return {HIT: float(inside), BROKEN: 0.0}


def _read_box(item: Item, size: Sequence[float]) -> Sequence[float]:
    """Read the box of a row as fractions of its image: left, top, right, bottom."""
    cell = require_cell(read_other_cells(item), "bbox")
    try:
        box = parse_short_literal(cell)
    except RowError:
        box = None
    if not isinstance(box, list | tuple) or len(box) != CORNERS or not all(isinstance(n, int | float) for n in box):
        raise RowError("extra.bbox", "extra.bbox", f"expected a list of four numbers {show(cell)}.")
    x1, y1, x2, y2 = box
    if item.dataset not in PRO:
        inwards = 0 if item.dataset == OSWORLD else 1
        x2, y2 = x1 + x2 - inwards, y1 + y2 - inwards
    # The framework takes -1 for the edge of the image.
    fractions = [(0 if n == -1 else n) / size[place % 2] for place, n in enumerate((x1, y1, x2, y2))]
    if item.dataset != OSWORLD and not all(0 <= number <= 1 for number in fractions):
        raise RowError("extra.bbox", "extra.bbox", f"the box does not lie inside its image {show(cell)}.")
    return fractions


def _reduce(scored: Scored, version: str) -> Metrics:
    return {name: scored.mean(name).scale(100, "percent") for name in (HIT, BROKEN)}


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    types = [str(one or other) for one, other in zip(*map(scored.column, TYPES), strict=True)]
    categories = scored.column("category")
    groups: dict[tuple[str | None, str], list[float]] = {}
    for category, type, hit in zip(categories, types, scored.scores[HIT].tolist(), strict=True):
        groups.setdefault((category, type), []).append(hit)
    counts = {":".join(filter(None, group)) + ":cnt": len(hits) for group, hits in groups.items()}
    overall, broken = (estimate.value for estimate in _reduce(scored, version).values())
    by_type = {name: _weigh([hits for (_, t), hits in groups.items() if t == type]) for name, type in TABLE}
    by_category = {
        f"{name}_Accuracy": _weigh([hits for (category, _), hits in groups.items() if category == name])
        for name in dict.fromkeys(filter(None, categories))
    }
    return [{**counts, "Overall_Accuracy": overall, "Format_Err_Rate": broken, **by_type, **by_category}]


def _weigh(groups: Sequence[Sequence[float]]) -> float:
    """Average hits in percent, each group as often as it has rows; NaN without groups."""
    total = sum(len(hits) ** 2 for hits in groups)
    return sum(len(hits) * sum(hits) for hits in groups) / total * 100 if total else math.nan


RECIPE = Recipe(
    summary="ScreenSpot, ScreenSpot_v2, ScreenSpot_Pro and OSWorld_G as VLMEvalKit scores them: clicks in boxes",
    parity="VLMEvalKit",
    versions=VERSIONS,
    columns=("extra", "dataset"),
    optional=("image_info",),
    parse=_parse,
    metrics=_score_row,
    reduce=_reduce,
    table=_build_table,
    keep=("category", *TYPES),
    groups=("category", *TYPES),
    results=RESULTS,
    default_for=offer_for_names("ScreenSpot", NAMES),
)
