"""HallusionBench as VLMEvalKit reports it: right questions, right figures, questions right on every figure.

The index reads `..._..._..._<set>_<figure>_<question>`. Rows of one l2-category, set and figure make
a figure; those of one l2-category, set and question make a question. Either counts when all its rows
are right; with a row that has no answer, and no wrong one, it takes no part.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/yorn.py:Hallusion_rating.
"""

from collections.abc import Mapping, Sequence

from mmconvert.core.errors import Error, RowError, show
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Facts, Item, Metrics, Row
from mmscore.core.table import MISSING, REJECTED, Scored
from mmscore.kits.vlmevalkit.rows import offer_for, read_answer_cell
from mmscore.kits.vlmevalkit.yes_no import COLUMNS, build_yes_no_recipe
from mmscore.metrics.vlmevalkit_yes_no import vlmevalkit_yes_no
from mmscore.scoring.grouping import compute_joint_accuracy, find_undecided

PLACES = {"figure": 4, "joint_question": 5}
"""Column -> its place in the index, counted from 0."""

BENCHMARK, RESULTS = "HallusionBench", "hallusionbench"
"""Name of the benchmark, and format of its own results."""

SET = 3
HEAD = 2
"""Places at the head of the index that name the category and the l2-category."""


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    if (item.id or "").count("_") < max(PLACES.values()):
        raise RowError(
            "id.parts", "id", f"expected set, figure and question {show(item.id)}. Keep the framework's index."
        )
    return {"aAcc": float(vlmevalkit_yes_no(read_answer_cell(item), parsed.value))}


def _adjust_rows(scored: Scored, version: str) -> Scored:
    """Name the figure and the question of every row; one that was never read has its l2-category in the index."""
    indices = [(id or "").split("_") for id in scored.column("id")]
    levels, hits = _list_levels(scored, indices), scored.scores["aAcc"].tolist()
    for column, place in PLACES.items():
        keys = [
            "_".join((level or "", index[SET], index[place])) if len(index) > place else None
            for level, index in zip(levels, indices, strict=True)
        ]
        open_ones = find_undecided(keys, hits)
        scored = scored.with_column(column, [None if key in open_ones else key for key in keys])
    return scored


def _list_levels(scored: Scored, indices: Sequence[Sequence[str]]) -> Sequence[str | None]:
    levels, heads = scored.column("l2_category"), [tuple(index[:HEAD]) for index in indices]
    named = {head: level for head, level in zip(heads, levels, strict=True) if level is not None}
    unread = [status in (MISSING, REJECTED) for status in scored.column("status")]
    return [
        named.get(head) if level is None and without else level
        for head, level, without in zip(heads, levels, unread, strict=True)
    ]


def _reduce(scored: Scored, version: str) -> Metrics:
    estimates = {
        "aAcc": scored.mean("aAcc"),
        "fAcc": compute_joint_accuracy(scored, "figure", "aAcc"),
        "qAcc": compute_joint_accuracy(scored, "joint_question", "aAcc"),
    }
    return {name: estimate.scale(100, "percent") for name, estimate in estimates.items()}


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    """Lay out the framework's table: all rows, then categories, then l2-categories.

    Raises:
        Error: No row has an l2-category.
    """
    parts = [sorted(scored.split(level), key=lambda part: part[0]) for level in ("category", "l2_category")]
    if not parts[1]:
        raise Error("l2_category: no row has one, and the framework needs it to tell figures apart. Fill the column.")
    lines: list[Row] = []
    for name, part in (("Overall", scored), *parts[0], *parts[1]):
        lines.append({"split": name, **{key: e.value for key, e in _reduce(part, version).items()}})
    return lines


def _default_for(facts: Facts) -> str | None:
    if facts.datasets == {BENCHMARK} and facts.formats == {RESULTS}:
        return "HallusionBench's own results; its authors use a judge model, VLMEvalKit compares yes and no"
    return offer_for(BENCHMARK, "Hallusion")(facts)


RECIPE = build_yes_no_recipe(
    "HallusionBench as VLMEvalKit scores it: aAcc, fAcc, qAcc (exact matching)",
    _default_for,
    columns=("id", *COLUMNS),
    metrics=_score_row,
    settle=_adjust_rows,
    reduce=_reduce,
    table=_build_table,
    keep=("figure", "joint_question"),
    groups=("category", "l2_category"),
    joint=tuple(PLACES),
)
