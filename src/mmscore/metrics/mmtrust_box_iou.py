"""Share of boxes that overlap their reference by more than half, as MMTrustEval grades grounding."""

import json
import math
from collections.abc import Sequence
from typing import Any

from mmconvert.core.errors import RowError, show

CORNERS = 4
THRESHOLD = 0.5


def mmtrust_box_iou(true: Sequence[Any] | None, said: Sequence[Any]) -> float:
    """Grade boxes read from a judge's response.

    Args:
        true: References, each the JSON text of a list `[x1, y1, x2, y2]`.
        said: Texts such as `[0.1, 0.2, 1/2, 1]`, as many or more.

    Returns:
        Percent, 0 to 100, of references whose overlap (intersection over union) is above one half.

    Raises:
        RowError: There is nothing to grade, a reference is no box, or a response is missing or divides by 0.

    Parity: thu-ml/MMTrustEval@a067801 mmte/evaluators/metrics.py:iou_judge. Exactly one half is a miss, a
    full stop behind the bracket too.

    Example:
        >>> mmtrust_box_iou(["[0, 0, 1, 1]", "[0, 0, 1, 1]"], ["[0, 0, 1, 0.9]", "[0, 0, 1, 1/2]"])
        50.0
    """
    if not true:
        raise RowError("label.missing", "label", "no references, and the metric divides by their number.")
    if len(said) < len(true):
        raise RowError("label.count", "label", f"{len(true)} references for {len(said)} predictions.")
    hits = sum(
        compute_overlap(read_reference_box(t), read_box(s)) > THRESHOLD for t, s in zip(true, said, strict=False)
    )
    return hits / len(true) * 100


def read_reference_box(text: Any) -> list[float]:
    """Read a reference.

    Raises:
        RowError: It is no JSON text of four numbers.
    """
    try:
        box = json.loads(text) if isinstance(text, str) else None
        numbers = [float(x) for x in box if isinstance(x, int | float)] if isinstance(box, list) else []
    except (ValueError, RecursionError, OverflowError):
        box, numbers = None, []
    if not isinstance(box, list) or len(box) != CORNERS or len(numbers) != CORNERS:
        raise RowError("label.box", "label", f"expected the text of a list of four numbers {show(text)}.")
    return numbers


def read_box(text: Any) -> list[float]:
    """Read the numbers of a response; what is none is skipped.

    Args:
        text: Numbers or quotients with commas between them, in brackets or not, in triple quotes or not.

    Returns:
        Every number in order, whatever their count.

    Raises:
        RowError: The response is not a text, or divides by 0.

    Example:
        >>> read_box("'''[0.1, 1/2, x]'''")
        [0.1, 0.5]
    """
    if not isinstance(text, str):
        raise RowError("pred.type", "pred", f"expected a text {show(text)}.")
    parts = text.replace("'''", "").replace("\n", "").strip("[]").split(",")
    numbers = (_read_number(part.strip()) for part in parts)
    return [number for number in numbers if number is not None]


def _read_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        pass
    try:
        over, under = map(float, text.split("/"))
    except ValueError:
        return None
    if not under:
        raise RowError("pred.zero", "pred", f"a number is divided by 0 {show(text)}.")
    return over / under


def compute_overlap(a: Sequence[float], b: Sequence[float]) -> float:
    """Measure how much two boxes overlap.

    Args:
        a: Left, top, right, bottom.
        b: Another box; one that has not four numbers overlaps nothing.

    Returns:
        Intersection over union, 0 to 1; 0 where either is nothing, NaN where a corner is.

    Example:
        >>> compute_overlap([0, 0, 2, 1], [1, 0, 3, 1]), compute_overlap([0, 0, 1, 1], [0, 0, 1])
        (0.3333333333333333, 0.0)
    """
    if len(a) != CORNERS or len(b) != CORNERS:
        return 0.0
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    shared = max(0.0, width) * max(0.0, height)
    whole = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared
    if not shared or not whole:
        return 0.0
    share = shared / whole
    return math.nan if math.isnan(share) else share


METRIC = mmtrust_box_iou
