"""What VLMEvalKit's multiple-choice recipes share: reading a row, and the accuracy tables."""

import math
from collections.abc import Callable, Mapping
from string import ascii_uppercase
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mmconvert.core.arrow import build_column, build_scalar, from_numpy, to_numpy
from mmconvert.core.errors import Error, RowError
from mmconvert.core.record import LETTERS
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Columnar, Facts, Item, Recipe, Row, ScoredColumns, read_label
from mmscore.core.table import Scored, build_parsed_columns, list_values
from mmscore.kits.vlmevalkit.rows import RESULTS, has_shared_rule
from mmscore.parsers.vlmevalkit_option import REFUSAL, infer_option, infer_option_text, vlmevalkit_option

KIT = "VLMEvalKit (exact matching)"
VERSIONS: Mapping[str, str] = {
    "v3": "since 2026-06-17 (open-compass/VLMEvalKit@e8e78f05)",
    "v2": "2025-08-04 to 2026-06-16 (ms-vlmeval 0.0.20)",
    "v1": "until 2025-08-03",
}
COLUMNS = ("options", "answer", "label", "dataset")
FORMATS = frozenset(("lmudata", "vlmevalkit_predictions", "mmbench"))
CIRCULAR_NAMES = ("mmbench", "ccbench", "circular", "mmcr")
"""A benchmark whose name contains one of these, in any case, is scored in circular groups."""

NO_OPTIONS = "MMMU"
"""A benchmark whose name contains this may hold open questions, which get two made-up options."""

NO_SPLIT = "NaN"
OTHER_ANSWERS = "Other Answers"
LEVELS = ("l2_category", "category")

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/multiple_choice.py, MMB_abbrs
ABBREVIATIONS = {
    "coarse_perception": "CP",
    "finegrained_perception (instance-level)": "FP-S",
    "finegrained_perception (cross-instance)": "FP-C",
    "logic_reasoning": "LR",
    "relation_reasoning": "RR",
    "attribute_reasoning": "AR",
}

_REFUSED, _NO, _NONE = build_scalar(REFUSAL), build_scalar(False), build_column([0], pa.int32())[0]
_KINDS = len(LETTERS) + 1
_NAMELESS = [dict.fromkeys(LETTERS[:count], "") for count in range(_KINDS)]
"""Options by their number, where only their letters matter."""


def is_from_kit(facts: Facts) -> bool:
    """Tell whether a file holds multiple-choice rows of the framework and nothing else."""
    return facts.tasks == {"multiple_choice"} and has_shared_rule(facts, FORMATS)


def is_circular(facts: Facts) -> bool:
    """Tell whether the framework, or a transform of ours, shows each question with its options rotated.

    Rows of the framework's tables share a group only where `g_index` names the unrotated row.
    """
    named = any(part in name.lower() for name in facts.datasets for part in CIRCULAR_NAMES)
    return named or facts.circular or facts.grouped


def parse(item: Item, version: str) -> Parsed:
    """Read the choice; see `vlmevalkit_option`."""
    return vlmevalkit_option(item.prediction, list_options(item), version)  # type: ignore[arg-type]


def score_choice(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    """Give a row its `accuracy`: 1.0 where the choice is the reference's letter.

    A response that nothing was read from counts as the refusal letter, and a reference that is no
    letter (an option's text, a small letter) is never met.
    """
    reference = _read_answer_cell(item)
    if item.dataset is not None and NO_OPTIONS in item.dataset and reference is not None:
        reference = reference if len(reference) == 1 and reference in ascii_uppercase else "A"
    return {"accuracy": float((parsed.value or REFUSAL) == reference)}


def list_options(item: Item) -> dict[str, str]:
    """Give the texts of a row's options by letter, absent ones left out; two are made up for an open question."""
    options: dict[str, Any] = dict(zip(LETTERS, item.options, strict=False))
    if None in item.options:
        options = {letter: text for letter, text in options.items() if text is not None}
    if item.dataset is not None and NO_OPTIONS in item.dataset and "A" not in options:
        options |= {"A": _read_answer_cell(item) or "", "B": OTHER_ANSWERS}
    return options


def _read_answer_cell(item: Item) -> str | None:
    """Give the answer cell as the source wrote it; only a text can be met."""
    if item.label is None:
        return item.answer
    value = read_label(item)
    return value if isinstance(value, str) else item.label


def score_columns(rows: pa.RecordBatch, version: str, name: str = "accuracy") -> ScoredColumns:
    """Give what `parse` and `score_choice` give, for many rows at once.

    A response is searched for a letter once for each number of options that it comes with, and for the texts of
    options only where it names no letter. Rows are left undecided that have a gap among their options or a label that
    cannot be read, or are of a benchmark with open questions.

    Args:
        rows: Their columns, of which all but `prediction` may be absent.
        version: One of `VERSIONS`.
        name: What the score is called.
    """
    references, readable = _list_references(rows)
    decided = _find_plain_rows(rows) & readable
    responses = rows.column("prediction").dictionary_encode()
    texts, codes = responses.dictionary.to_pylist(), to_numpy(responses.indices)
    kinds, kind_of = np.unique(codes.astype(np.int64) * _KINDS + _count_options(rows), return_inverse=True)
    found = [infer_option(texts[kind // _KINDS], _NAMELESS[kind % _KINDS], version) for kind in kinds.tolist()]  # type: ignore[arg-type]
    wordy = np.array([parsed.value is None for parsed in found], bool)[kind_of] & decided
    if wordy.any() and "options" in rows.schema.names:
        numbers, named = np.flatnonzero(wordy), list_values(rows.column("options").filter(from_numpy(wordy)))
        for number, options in zip(numbers.tolist(), named, strict=True):
            by_letter = dict(zip(LETTERS, options or (), strict=False))
            found.append(infer_option_text(texts[codes[number]], by_letter, version))  # type: ignore[arg-type]
        kind_of[numbers] = np.arange(len(kinds), len(found))
    parsed = build_parsed_columns(found).take(from_numpy(kind_of))
    hits = pc.fill_null(pc.equal(pc.fill_null(parsed.column("value"), _REFUSED), references), _NO)
    return ScoredColumns(decided, parsed, {name: to_numpy(hits).astype(np.float64)})


def _find_plain_rows(rows: pa.RecordBatch) -> npt.NDArray[np.bool_]:
    """Find the rows of which every option is there and that are of no benchmark with open questions."""
    plain = np.ones(len(rows), bool)
    if "dataset" in rows.schema.names:
        named = pc.fill_null(pc.match_substring(rows.column("dataset"), NO_OPTIONS), _NO)
        plain &= ~to_numpy(named)
    if "options" in rows.schema.names:
        options = rows.column("options")
        absent = to_numpy(pc.list_flatten(options).is_null())
        if absent.any():
            plain[to_numpy(pc.list_parent_indices(options))[absent]] = False
    return plain


def _list_references(rows: pa.RecordBatch) -> tuple[pa.Array, npt.NDArray[np.bool_]]:
    """Give the answer cells as `_read_answer_cell` does, and which rows have one that can be read."""
    answers = rows.column("answer") if "answer" in rows.schema.names else pa.nulls(len(rows), pa.string())
    if "label" not in rows.schema.names:
        return answers, np.ones(len(rows), bool)
    labels = rows.column("label").dictionary_encode()
    cells: list[str | None] = []
    for label in labels.dictionary.to_pylist():
        try:
            cells.append(_read_answer_cell(Item(label=label)))
        except RowError:
            cells.append(None)
    labelled = build_column(cells, pa.string()).take(labels.indices)
    readable = to_numpy(pc.or_(labels.indices.is_null(), labelled.is_valid()))
    return pc.coalesce(labelled, answers), readable


def _count_options(rows: pa.RecordBatch) -> npt.NDArray[np.int64] | int:
    if "options" not in rows.schema.names:
        return 0
    lengths = pc.fill_null(pc.list_value_length(rows.column("options")), _NONE)
    counts: npt.NDArray[np.int64] = to_numpy(lengths).astype(np.int64)
    return np.minimum(counts, len(LETTERS))


def build_choice_recipe(summary: str, default_for: Callable[[Facts], str | None], **others: Any) -> Recipe:
    """Make a recipe for multiple choice; `others` are further fields of `Recipe`, or other than here."""
    levels = ("split", *LEVELS)
    columnar = Columnar(parse, score_choice, score_columns)
    own = {"columns": COLUMNS, "parse": parse, "metrics": score_choice, "columnar": columnar}
    fields = {**own, "keep": levels, "groups": levels, **others}
    fields |= {"judges": ("vlmevalkit_option",), "has_options": lambda item: bool(list_options(item))}
    return Recipe(summary, KIT, VERSIONS, default_for=default_for, results=RESULTS, **fields)


def build_accuracy_table(scored: Scored, score: str) -> list[Row]:
    """Lay out accuracies as the framework does: a line for each split, columns for levels and categories.

    Args:
        scored: Rows with the columns `split`, `l2_category`, `category`.
        score: The score to average; rows without it do not take part.

    Returns:
        Lines in order of first appearance of their split, `none` where there are no splits. Values
        0-1; NaN where a split has no row of a category. Where a category has the name of an
        l2-category, the category's value stands.

    Raises:
        Error: Some rows have a category and others none, which the framework cannot sort.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/multiple_choice.py:report_acc.
    """
    scored = keep_scored_rows(scored, score)
    names = {level: sorted(list_categories(scored, level)) for level in LEVELS}
    lines: list[Row] = []
    for split, part in split_rows(scored):
        line: dict[str, object] = {"split": split, "Overall": part.mean(score).value}
        for level in LEVELS:
            values = average_groups(part, level, score)
            line |= {ABBREVIATIONS.get(name, name): values.get(name, math.nan) for name in names[level]}
        lines.append(line)
    return lines


def keep_scored_rows(scored: Scored, score: str) -> Scored:
    """Keep the rows that have a score, and of their columns those that tables use."""
    return scored.only(["id", "split", *LEVELS]).where(~np.isnan(scored.scores[score]))


def list_categories(scored: Scored, level: str) -> set[str]:
    """Collect the names of one level; none where no row has one.

    Raises:
        Error: Some rows have one and others none.
    """
    values = set(pc.unique(scored.rows[level]).to_pylist())
    if None in values and len(values) > 1:
        raise Error(f"{level}: some rows have none, and the framework cannot sort its table then. Fill the column.")
    return {value for value in values if value is not None}


def split_rows(scored: Scored) -> list[tuple[str, Scored]]:
    """Cut the rows by split, in order of first appearance; one part `none` without splits.

    Where some rows have none, the last part is `NaN` and empty: the framework looks for a split that equals NaN.
    """
    parts = list(scored.split("split"))
    if parts and scored.rows["split"].null_count:
        parts.append((NO_SPLIT, scored.where(np.zeros(len(scored), bool))))
    return parts or [("none", scored)]


def average_groups(scored: Scored, level: str, score: str) -> dict[str, float]:
    """Average a score over the rows of each category."""
    return {name: rows.mean(score).value for name, rows in scored.split(level)}
