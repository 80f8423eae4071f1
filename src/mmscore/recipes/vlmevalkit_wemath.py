"""WeMath as VLMEvalKit scores it without a judge: what its steps say of a problem's answer, strict and loose.

`key` names the row of a problem: `2steps_1`, `2steps_2`, `2steps_multi`, or the same with three steps; rows of one `ID`
and number of steps belong together. A problem is one of four: all steps right and it is right (complete mastery) or
wrong (inadequate generalization, half a point); a step wrong and it is wrong (insufficient knowledge) or right (rote
memorization; counted loosely, one right step makes it complete mastery). Scores are means over problems; the table has
the framework's texts, whose percentages are of the 525 problems of the benchmark.

The letter is the first character behind the last `Answer`, white space and `<`, `>`, `:`, `.` left out.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_mcq.py:WeMath.evaluate (with `exact_matching`),
vlmeval/dataset/utils/wemath.py:wemath_evaluate_models, wemath_accuracy. Not kept: a blank response, or a file without
complete mastery and rote memorization, at which the framework stops; the empty column `Model`; a failed inference is no
answer here and counts apart.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from mmconvert.core.arrow import build_column
from mmscore.core.parsed import UNPARSED, Parsed
from mmscore.core.recipe import Item, Recipe, Row
from mmscore.core.table import CLUSTER, Scored
from mmscore.kits.vlmevalkit.rows import KIT, RESULTS, VERSIONS, offer_for_names, read_answer_cell

MARKER, LETTERS = "Answer", "ABCDEFGH"
MARKS = re.compile(r"[<>:.]")
KEY, PROBLEM, CONCEPT = "extra.key", "extra.ID", "extra.knowledge concept"
STEPS, WHOLE = (2, 3), "multi"
PROBLEMS = 525

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/wemath.py, knowledge_structure_nodes
CONCEPTS: Mapping[str, Sequence[str]] = {
    "Understanding and Conversion of Units": (
        "Conversion Rates and Calculations Between Area Units",
        "Conversion Rates and Calculations Between Volume Units (Including Liters and Milliliters)",
        "Conversion Rates and Calculations Between Length Units",
    ),
    "Angles and Length": ("Understanding Angles (Using a Protractor)", "Understanding Length (Using a Ruler)"),
    "Calculation of Solid Figures": (
        "Surface Area of Cylinders", "Surface Area of Rectangular Cuboids", "Surface Area of Cubes",
        "Volume and Capacity of Cylinders", "Volume and Capacity of Cones",
        "Volume and Capacity of Rectangular Cuboids", "Volume and Capacity of Cubes",
    ),
    "Understanding of Solid Figures": (
        "Expanded View of Cylinders", "Expanded View of Rectangular Cuboids", "Expanded View of Cubes",
        "Properties of Cylinders", "Properties of Cones", "Properties and Understanding of Rectangular Cuboids",
        "Properties and Understanding of Cubes", "Observing Objects",
    ),
    "Calculation of Plane Figures": (
        "Sum of Interior Angles of Other Polygons", "Sum of Interior Angles of Triangles",
        "Calculation and Comparison of Angles", "Area of Parallelograms", "Area of Triangles", "Area of Sectors",
        "Area of Trapezoids", "Area of Circles", "Area of Rectangles", "Area of Squares", "Perimeter of Parallelograms",
        "Perimeter of Triangles", "Perimeter of Trapezoids", "Circumference of Circles", "Perimeter of Rectangles",
        "Perimeter of Squares",
    ),
    "Understanding of Plane Figures": (
        "Properties and Understanding of Parallelograms", "Properties and Understanding of Triangles",
        "Properties and Understanding of Trapezoids", "Properties and Understanding of Rectangles",
        "Properties and Understanding of Squares", "Understanding Triangular Rulers",
        "Understanding and Representing Angles", "Distance Between Two Points",
        "Understanding Line Segments, Lines, and Rays", "perpendicularity", "Parallel", "Understanding Sectors",
        "Understanding Circles", "Observing Figures",
    ),
    "Basic Transformations of Figures": ("Axial Symmetry", "Translation", "Rotation"),
    "Cutting and Combining of Figures": (
        "Combining and Dividing Solids", "Division of Plane Figures", "Combining Plane Figures",
        "Tessellation of Figures", "Folding Problems of Figures",
    ),
    "Direction": (
        "Southeast, Southwest, Northeast, Northwest Directions", "Cardinal Directions (East, South, West, North)",
    ),
    "Route Map": (
        "Determining the Positions of Objects Based on Direction, Angle, and Distance",
        "Describing Simple Routes Based on Direction and Distance",
    ),
    "Correspondence of Coordinates and Positions": (
        "Representing Positions Using Ordered Pairs", "Finding Positions Based on Ordered Pairs",
    ),
    "Position": ("Front-Back Position", "Up-Down Position", "Left-Right Position"),
}  # fmt: skip

MASTERY, ROTE = "CompleteMastery", "RoteMemorization"
GENERALIZATION, KNOWLEDGE = "InadequateGeneralization", "InsufficientKnowledge"
CREDIT = {MASTERY: 1.0, GENERALIZATION: 0.5, ROTE: 0.0, KNOWLEDGE: 0.0}


class Problem(NamedTuple):
    """What is known of a problem: True, False, or None where a row has no score or is not there.

    Attributes:
        row: Number of the row of the first step.
        steps: Each step and the concept that it asks for.
        whole: The problem itself.
    """

    row: int
    steps: Sequence[tuple[bool | None, str | None]]
    whole: bool | None

    def classify(self, *, strict: bool) -> str | None:
        """Name which of the four the problem is; None where a row that decides is missing."""
        steps = [right for right, _ in self.steps]
        sound = all(right is True for right in steps)
        if self.whole is False:
            return GENERALIZATION if sound else KNOWLEDGE if False in steps else None
        if self.whole is None:
            return None
        if strict:
            return MASTERY if sound else ROTE if False in steps else None
        return MASTERY if True in steps else ROTE if all(right is False for right in steps) else None


def _parse(item: Item, version: str) -> Parsed:
    said = MARKS.sub("", item.prediction.rpartition(MARKER)[2].strip()).strip()
    return Parsed(said[0], "first character") if said and said[0] in LETTERS else UNPARSED


def _score(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    return {"accuracy": float(parsed.value is not None and parsed.value == read_answer_cell(item))}


def _score_problems(scored: Scored, version: str) -> Scored:
    """Add the scores of each problem at the row of its first step."""
    scores = {f"{name}_score": np.full(len(scored), math.nan) for name in ("strict", "loose")}
    for steps in STEPS:
        for problem in _list_problems(scored, steps):
            for name in ("strict", "loose"):
                kind = problem.classify(strict=name == "strict")
                scores[f"{name}_score"][problem.row] = math.nan if kind is None else CREDIT[kind]
    keys = [(key or "").partition("_")[0] for key in scored.column(KEY)]
    names = build_column([f"{key} {id}" for key, id in zip(keys, scored.column(PROBLEM), strict=True)], pa.string())
    clusters = names.dictionary_encode().indices.cast(pa.int64())
    return scored.with_scores(**scores).with_array(CLUSTER, clusters)


def _list_problems(scored: Scored, steps: int) -> list[Problem]:
    """Join the rows of each problem with so many steps, in order of their first steps."""
    columns = (scored.column(KEY), scored.column(PROBLEM), scored.column(CONCEPT), scored.scores["accuracy"].tolist())
    heads: list[tuple[int, str | None]] = []
    found: dict[tuple[str | None, str | None], tuple[bool | None, str | None]] = {}
    for row, (key, id, concept, hit) in enumerate(zip(*columns, strict=True)):
        found[key, id] = (None if math.isnan(hit) else hit == 1.0, concept)
        if key == f"{steps}steps_1":
            heads.append((row, id))
    nothing = (None, None)
    return [
        Problem(
            row,
            [found.get((f"{steps}steps_{step}", id), nothing) for step in range(1, steps + 1)],
            found.get((f"{steps}steps_{WHOLE}", id), nothing)[0],
        )
        for row, id in heads
    ]


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    problems = {steps: _list_problems(scored, steps) for steps in STEPS}
    line: dict[str, str] = {}
    for label in ("Strict", "Loose"):
        kinds = [problem.classify(strict=label == "Strict") for some in problems.values() for problem in some]
        counts = {kind: kinds.count(kind) for kind in CREDIT}
        lost = 0.5 * counts[GENERALIZATION] + counts[ROTE] + counts[KNOWLEDGE]
        line[f"Score ({label})"] = f"{(PROBLEMS - lost) / PROBLEMS:.2%}"
        for kind in (KNOWLEDGE, GENERALIZATION, MASTERY, ROTE):
            whole = counts[MASTERY] + counts[ROTE] if kind == ROTE else PROBLEMS
            line[f"{kind} ({label})"] = f"{counts[kind] / whole if whole else math.nan:.2%} ({counts[kind]})"
    steps = [step for some in problems.values() for problem in some for step in problem.steps]
    line["One-step(S1)"] = _format_share([right for right, _ in steps])
    line["Two-step(S2)"], line["Three-step(S3)"] = (
        _format_share([problem.whole for problem in problems[count]]) for count in STEPS
    )
    by_concept: dict[str | None, list[bool | None]] = {}
    for right, concept in steps:
        by_concept.setdefault(concept, []).append(right)
    shares = {concept: _compute_share(rights) for concept, rights in by_concept.items()}
    for area, concepts in CONCEPTS.items():
        known = [shares[concept] for concept in concepts if not math.isnan(shares.get(concept, math.nan))]
        line[area] = f"{math.fsum(known) / len(known) if known else math.nan:.2%}"
    return [line]


def _compute_share(rights: Sequence[bool | None]) -> float:
    known = [right for right in rights if right is not None]
    return sum(known) / len(known) if known else math.nan


def _format_share(rights: Sequence[bool | None]) -> str:
    return f"{_compute_share(rights):.2%}"


RECIPE = Recipe(
    "WeMath as VLMEvalKit scores it: four kinds of problems by their steps, strict and loose (exact matching)",
    KIT,
    VERSIONS,
    columns=("answer", "label"),
    parse=_parse,
    metrics=_score,
    settle=_score_problems,
    default_for=offer_for_names("WeMath", frozenset(("WeMath", "WeMath_COT"))),
    table=_build_table,
    keep=(KEY, PROBLEM, CONCEPT),
    groups=(KEY,),
    results=RESULTS,
)
