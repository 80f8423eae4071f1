"""MME as VLMEvalKit reports it: points for perception and reasoning.

An image's first two questions count together; a category has 100 times its accuracy, and again
its share of images with both right. The table needs every category, as the framework does since 2025;
the totals beside it add up the categories that there are.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/yorn.py:MME_rating.
"""

from collections.abc import Sequence

from mmconvert.core.errors import Error, show
from mmscore.core.recipe import Row
from mmscore.core.table import Scored
from mmscore.kits.mme.points import COGNITION, PAIR, PERCEPTION, build_points_line, compute_mme_metrics, score_pairs
from mmscore.kits.vlmevalkit.rows import offer_for
from mmscore.kits.vlmevalkit.yes_no import build_yes_no_recipe

VERSIONS = {
    "2": "open-compass/VLMEvalKit@e8e78f05; refuses a table that lacks a category",
    "1": "ms-vlmeval 0.0.20; adds up the categories that there are",
}
TOTALS = dict.fromkeys(PERCEPTION, "perception") | dict.fromkeys(COGNITION, "reasoning")


def _adjust_rows(scored: Scored, version: str) -> Scored:
    """Pair the rows of an image.

    Raises:
        Error: No row says which image it is about.
    """
    categories, images = scored.column("category"), scored.column("group")
    if not any(images):
        raise Error("group: no row names its image, and MME counts pairs of questions about one. Fill the column.")
    keys = [image and (category, image) for category, image in zip(categories, images, strict=True)]
    return score_pairs(scored, keys)


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    """Lay out the framework's one line.

    Raises:
        Error: An image has a single question, or a category has none.
    """
    parts = dict(scored.split("category"))
    if version == "2" and (missing := [name for name in TOTALS if name not in parts]):
        raise Error(f"category: no question of {', '.join(missing)}. Score the full set, or ask for version 1.")
    for part in parts.values():
        alone = [image for image, rows in part.split("group") if len(rows) < PAIR]
        if alone:
            raise Error(f"group: an image has a single answered question {show(alone[0])}. MME asks two.")
    return [build_points_line(parts, TOTALS.get)]


RECIPE = build_yes_no_recipe(
    "MME as VLMEvalKit scores it, in points (exact matching)",
    offer_for("MME"),
    versions=VERSIONS,
    settle=_adjust_rows,
    reduce=lambda scored, version: compute_mme_metrics(scored, TOTALS.get),
    table=_build_table,
    keep=("category", "group"),
    groups=("category",),
    additive=True,
)
