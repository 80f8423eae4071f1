"""TreeBench as VLMEvalKit reports it: the first capital A to E, and how well the boxes of the reasoning overlap.

`box_iou` is the mean over the row's `target_instances` of the best IoU that a box of the response reaches; boxes are
`<box>[x1,y1,x2,y2]</box>` inside `<think>` tags, or anywhere where there are none. Without a box it is 0; with one and
no target it is 1.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_mcq.py:TreeBench.evaluate, evaluate_box_iou,
vlmeval/dataset/utils/treebench.py:get_dimension_rating. Kept on purpose: a response of which nothing is left is an A; a
subtask without rows has the accuracy 0; a box with spaces between its numbers is none. Not kept: a blank response, at
which the framework stops, is wrong, and a category that it does not know costs the table alone; a failed inference is
no answer here and counts apart.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from mmconvert.core.errors import Error, RowError, in_field, show
from mmconvert.core.text.literals import parse_list
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item, Recipe, Row
from mmscore.core.table import SCORED, Scored
from mmscore.kits.vlmevalkit.rows import (
    KIT,
    RESULTS,
    VERSIONS,
    offer_for_names,
    read_answer_cell,
    read_other_cells,
    require_cell,
)
from mmscore.metrics.mmtrust_box_iou import CORNERS, compute_overlap
from mmscore.parsers.vlmevalkit_first_capital import vlmevalkit_first_capital

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/treebench.py:get_dimension_rating
SUBTASKS = {
    "Perception": ("Attributes", "Material", "Physical State", "Object Retrieval", "OCR"),
    "Reasoning": (
        "Perspective Transform", "Ordering", "Contact and Occlusion", "Spatial Containment", "Comparison",
    ),
}  # fmt: skip
TARGETS = "target_instances"
BOX = re.compile(r"\[(\d+),(\d+),(\d+),(\d+)\]")


def _parse(item: Item, version: str) -> Parsed:
    return vlmevalkit_first_capital(item.prediction)


def _score(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    targets = _read_targets(require_cell(read_other_cells(item), TARGETS))
    reasoning = next(_list_tagged(item.prediction, "think"), item.prediction)
    boxes = [box for text in _list_tagged(reasoning, "box") if (box := _read_box(text))]
    right = float(parsed.value == read_answer_cell(item))
    return {"accuracy": right, "box_iou": _average_overlaps(targets, boxes)}


def _read_targets(text: str) -> list[list[float]]:
    """Read the boxes of a row.

    Raises:
        RowError: It is no list of lists of four numbers.
    """
    with in_field(f"extra.{TARGETS}"):
        targets = parse_list(text)
    for target in targets:
        if not isinstance(target, list) or [type(x) in (int, float) for x in target] != [True] * CORNERS:
            message = f"expected a list of boxes [x1, y1, x2, y2] {show(text)}. Keep the framework's column."
            raise RowError("extra.box", f"extra.{TARGETS}", message)
    return targets


def _list_tagged(text: str, tag: str) -> Iterator[str]:
    """List what stands between an opening and the next closing tag."""
    opening, closing = f"<{tag}>", f"</{tag}>"
    start = text.find(opening)
    while start >= 0 and (end := text.find(closing, start)) >= 0:
        yield text[start + len(opening) : end].strip()
        start = text.find(opening, end)


def _read_box(text: str) -> list[int] | None:
    found = BOX.match(text)
    box = [int(number) for number in found.groups()] if found else []
    return box if box and box[0] < box[2] and box[1] < box[3] else None


def _average_overlaps(targets: Sequence[Sequence[float]], boxes: Sequence[Sequence[float]]) -> float:
    if not boxes or not targets:
        return float(bool(boxes))
    return sum(max(compute_overlap(target, box) for box in boxes) for target in targets) / len(targets)


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    """Lay out the framework's rating.

    Raises:
        Error: A row has no category, or one that the benchmark does not have.
    """
    scored = scored.with_status(SCORED)
    scored = scored.with_column("#place", [_read_place(name) for name in scored.column("category")])
    values = {place: rows.mean("accuracy").value for place, rows in scored.split("#place")}
    places = [(task, subtask) for task, subtasks in SUBTASKS.items() for subtask in subtasks]
    return [
        {"task": "Overall", "subtask": "", "value": scored.mean("accuracy").value},
        *({"task": task, "subtask": name, "value": values.get(f"{task}/{name}", 0.0)} for task, name in places),
        {"task": "mIoU", "subtask": "", "value": scored.mean("box_iou").value},
    ]


def _read_place(category: str | None) -> str:
    task, subtask, *_ = [*(category or "").split("/"), "", ""]
    if subtask not in SUBTASKS.get(task, ()):
        raise Error(f"category: expected Task/Subtask of TreeBench {show(category)}. Keep the framework's column.")
    return f"{task}/{subtask}"


RECIPE = Recipe(
    "TreeBench as VLMEvalKit scores it: accuracy by task and subtask, IoU of boxes",
    KIT,
    VERSIONS,
    columns=("answer", "label", "extra"),
    parse=_parse,
    metrics=_score,
    default_for=offer_for_names("TreeBench", frozenset(("TreeBench",))),
    table=_build_table,
    keep=("category",),
    groups=("category",),
    results=RESULTS,
)
