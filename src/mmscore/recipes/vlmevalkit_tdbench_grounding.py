"""TDBench's grounding as VLMEvalKit reports it: the centre of the box that the response names is in the right one.

Of response and reference the only four numbers in a row, commas between them, are the box: each of one digit at most in
front of its dot.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_vqa.py:TDBenchGrounding.evaluate (`centroid`, its
default), vlmeval/dataset/utils/tdbench.py:extract_bbox_from_string, calculate_centroid_containment. Not kept: the table
over four rotations, which the framework gathers from other files; a failed inference is no answer here and counts
apart.
"""

import re
from collections.abc import Mapping, Sequence

from mmscore.core.parsed import UNPARSED, Parsed
from mmscore.core.recipe import Item, Recipe, Row
from mmscore.core.table import SCORED, Scored
from mmscore.kits.vlmevalkit.rows import KIT, RESULTS, VERSIONS, offer_for_names, read_answer_cell

PART = r"(\d?(?:\.\d+)?)"
BOX = re.compile(",\\s?".join([PART] * 4))


def _parse(item: Item, version: str) -> Parsed:
    box = _read_box(item.prediction)
    return UNPARSED if box is None else Parsed(", ".join(map(str, box)), "four numbers")


def _score(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    said, right = _read_box(item.prediction), _read_box(read_answer_cell(item))
    if said is None or right is None:
        return {"accuracy": 0.0}
    x, y = ((said[place] + said[place + 2]) / 2 for place in (0, 1))
    return {"accuracy": float(right[0] <= x <= right[2] and right[1] <= y <= right[3])}


def _read_box(text: str) -> list[float] | None:
    found = BOX.findall(text.replace("\n", ""))
    return [*map(float, found[0])] if len(found) == 1 and all(found[0]) else None


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    return [
        {
            "Average Centroid Containment": scored.mean("accuracy").value,
            "Total Samples": len(scored.with_status(SCORED)),
        }
    ]


RECIPE = Recipe(
    "TDBench's grounding as VLMEvalKit scores it: centres of boxes in the right box",
    KIT,
    VERSIONS,
    columns=("answer", "label"),
    parse=_parse,
    metrics=_score,
    default_for=offer_for_names(
        "TDBench's grounding", frozenset(f"tdbench_grounding_rot{angle}" for angle in (0, 90, 180, 270))
    ),
    table=_build_table,
    results=RESULTS,
)
