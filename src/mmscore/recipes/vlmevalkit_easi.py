"""Spatial benchmarks of EASI as VLMEvalKit scores them: the letter that a response ends with, accuracy by group.

The answer is read by the same rule as the response, so that a row of which neither gives a letter is right. The table
is the framework's summary: `overall` and the accuracy of each group, in percent. Which column names the groups depends
on the benchmark. Of Spatial-DISE and SpatialViz only the groups that the framework lists are shown, of OmniSpatial
none.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/spatial_bench/cal_scores.py:eval_mcq_score,
compute_mcq_score, called by `evaluate` of the benchmark's class with `exact_matching`. Kept on purpose: OmniSpatial's
groups are looked for under other names than they have, and so missing. Not kept: the two texts that repeat the summary;
a failed inference is no answer here and counts apart; the framework scores its failure text as wrong.
"""

from collections.abc import Mapping, Sequence

from mmscore.core.recipe import Recipe, Row
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.rows import KIT, RESULTS, VERSIONS, offer_for_names
from mmscore.kits.vlmevalkit.spatial import parse_choice, score_choice

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/spatial_dise.py, spatialvizbench.py
DISE_GROUPS = {
    "category": (
        "3D Combination", "3D Rotation", "3D Folding", "3D Projection", "3D Shape Finding", "2D Combination",
        "2D Rotation", "2D Folding", "2D Shape Finding", "Fold and Punch",
    ),
    "extra.difficulty": ("easy", "medium", "hard"),
    "extra.dise_category": ("Intrinsic-Static", "Intrinsic-Dynamic", "Extrinsic-Static", "Extrinsic-Dynamic"),
}  # fmt: skip
VIZ_GROUPS = {
    "category": ("MentalRotation", "MentalFolding", "VisualPenetration", "MentalAnimation"),
    "extra.task": (
        "2DRotation", "3DRotation", "3ViewProjection", "PaperFolding", "CubeUnfolding", "CubeReconstruction",
        "CrossSection", "CubeCounting", "CubeAssembly", "ArrowMoving", "BlockMoving", "MechanicalSystem",
    ),
}  # fmt: skip

Groups = Mapping[str, Sequence[str] | None]
"""Column -> the groups that are shown; None shows all that there are."""

BY_CATEGORY: Groups = {"category": None}
REPORTS: Mapping[str, Groups] = {
    **dict.fromkeys(("MMSIBench_wo_circular", "MindCubeBench_raw_qa", "MindCubeBench_tiny_raw_qa"), BY_CATEGORY),
    "ViewSpatialBench": {"extra.question_type": None},
    "EmbSpatialBench": {"extra.data_source": None},
    "ERIQ": {"extra.task_type": None},
    **{f"OmniSpatialBench{kind}": {} for kind in ("", "_default", "_zeroshot_cot", "_manual_cot")},
    **{
        f"Spatial-DISE{part}{kind}": DISE_GROUPS
        for part in ("", "_BENCH", "_TEST", "_VAL", "_TRAIN")
        for kind in ("", "_MERGE", "_SEPARATE")
    },
    **{f"SpatialVizBench{kind}": VIZ_GROUPS for kind in ("", "_CoT")},
}
COLUMNS = tuple(dict.fromkeys(column for groups in REPORTS.values() for column in groups))


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    parts = list(scored.split("dataset")) or [("", scored)]
    return [_build_line(part, REPORTS.get(name, BY_CATEGORY)) for name, part in parts]


def _build_line(scored: Scored, shown: Groups) -> Row:
    line = {"overall": scored.mean("accuracy").value * 100}
    for column, names in shown.items():
        for name, rows in scored.split(column):
            if names is None or name in names:
                line[f"{name}_accuracy"] = rows.mean("accuracy").value * 100
    return line


RECIPE = Recipe(
    "Spatial benchmarks of EASI as VLMEvalKit scores them: accuracy by group (exact matching)",
    KIT,
    VERSIONS,
    columns=("answer", "label"),
    parse=parse_choice,
    metrics=score_choice,
    default_for=offer_for_names("spatial benchmarks", frozenset(REPORTS)),
    table=_build_table,
    keep=("dataset", *COLUMNS),
    groups=COLUMNS,
    results=RESULTS,
)
