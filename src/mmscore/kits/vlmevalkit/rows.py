"""What VLMEvalKit's recipes beside multiple choice share: which files are theirs, and the answer cell."""

import json
from collections.abc import Callable, Iterator, Mapping

from mmconvert.core.errors import Error, RowError, show
from mmconvert.core.record import encode_json
from mmconvert.io.pandas_dtypes import read_cells
from mmconvert.kits.vlmevalkit.benchmarks import OWN_RULES
from mmconvert.kits.vlmevalkit.datasets import NAMES
from mmscore.core.recipe import Facts, Item, OwnResults, read_label
from mmscore.core.table import Scored

KIT = "VLMEvalKit (exact matching)"
JUDGED_KIT = "VLMEvalKit"
"""The framework where a judge has the last word."""

VERSIONS: Mapping[str, str] = {"1": "open-compass/VLMEvalKit@e8e78f05"}
FORMATS = frozenset(("lmudata", "vlmevalkit_predictions"))
"""Formats that the framework reads or writes."""

EMPTY = "nan"
"""How the framework prints an empty cell."""

RESULTS = OwnResults(frozenset(("vlmevalkit_predictions",)), reading="vlmevalkit", failure="Failed to obtain answer")
"""Result files are read by pandas with all defaults (vlmeval/smp/file.py:load), and failures scored as text."""


def has_shared_rule(facts: Facts, formats: frozenset[str] = FORMATS) -> bool:
    """Tell whether a file holds rows of the framework's tables alone, of benchmarks without a rule of their own.

    Args:
        facts: What the file says.
        formats: Those of the framework's tables.

    Example:
        >>> table = Facts(frozenset(["MME"]), formats=frozenset(["lmudata"]))
        >>> has_shared_rule(table), has_shared_rule(Facts(frozenset(["MME-RealWorld"]), formats=table.formats))
        (True, False)
    """
    theirs = bool(facts.formats) and facts.formats <= formats
    return theirs and not facts.list_known_names(NAMES.__contains__) & OWN_RULES


def is_from_kit(facts: Facts, *parts: str) -> bool:
    """Tell whether a file is a table of the framework without choices whose benchmark's name contains a text.

    Example:
        >>> is_from_kit(Facts(frozenset(["MME"]), formats=frozenset(["lmudata"])), "MME")
        True
        >>> is_from_kit(Facts(frozenset(["MME"]), formats=frozenset(["predictions"])), "MME")
        False
    """
    named = bool(facts.datasets) and all(any(part in name for part in parts) for name in facts.datasets)
    choices = "multiple_choice" in facts.tasks
    return named and not choices and has_shared_rule(facts)


def offer_for(benchmark: str, *parts: str) -> Callable[[Facts], str | None]:
    """Let a recipe offer itself for tables of a benchmark; `parts` as in `is_from_kit` where names differ."""
    reason, parts = f"rows of {benchmark} from a VLMEvalKit table", parts or (benchmark,)
    return lambda facts: reason if is_from_kit(facts, *parts) else None


def offer_for_names(benchmark: str, names: frozenset[str]) -> Callable[[Facts], str | None]:
    """Let a recipe offer itself for tables of benchmarks that the framework scores by a rule of their own.

    Args:
        benchmark: What they are called together, for the reason that is shown.
        names: Each of them as the framework spells it.
    """

    def offer(facts: Facts) -> str | None:
        theirs = bool(facts.formats) and facts.formats <= FORMATS
        known = facts.list_known_names(NAMES.__contains__)
        return f"rows of {benchmark} from a VLMEvalKit table" if theirs and known and known <= names else None

    return offer


def require_column(scored: Scored, name: str) -> list[str]:
    """Give a further column of the framework's table, which its report needs.

    Raises:
        Error: A row has no value there.
    """
    values = scored.column(name)
    if None in values:
        raise Error(f"{name}: a row has none. Keep this column of the framework's table.")
    return values


def read_answer_cell(item: Item) -> str:
    """Give the answer cell as text, `nan` where the row has none.

    Example:
        >>> read_answer_cell(Item(label='"Yes"')), read_answer_cell(Item(label="3")), read_answer_cell(Item())
        ('Yes', '3', 'nan')
    """
    if item.label is None:
        return EMPTY if item.answer is None else item.answer
    label = read_label(item)
    return label if isinstance(label, str) else item.label


def split_cells(scored: Scored, column: str) -> Iterator[tuple[str, Scored]]:
    """Cut the rows by the cells of a column as the framework does: those that are empty are the group `nan`.

    Where all are empty, the framework makes each row a group of that name, of which the last one stays.
    """
    named = [EMPTY if value is None else value for value in scored.column(column)]
    return scored.with_column(column, named).split(column)


def read_other_cells(item: Item) -> Mapping[str, str]:
    """Give the cells of the framework's columns that have no place of their own, by name; empty ones are left out.

    Raises:
        RowError: `extra` is no JSON object.

    Example:
        >>> read_other_cells(Item(extra='{"caption": "A cat.", "gpt4_ans": null, "n": 2}'))
        {'caption': 'A cat.', 'n': '2'}
    """
    try:
        fields = json.loads(item.extra)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise RowError("extra.json", "extra", f"expected a JSON object {show(item.extra)}. Write the column as one.")
    present = {name: value for name, value in fields.items() if value is not None}
    return {name: value if isinstance(value, str) else encode_json(value) for name, value in present.items()}


def require_cell(cells: Mapping[str, str], name: str) -> str:
    """Give one of `read_other_cells`.

    Raises:
        RowError: The row has no such cell.
    """
    if name not in cells:
        raise RowError("extra.missing", f"extra.{name}", "is missing. Keep this column of the framework's table.")
    return cells[name]


def read_stored_text(text: str) -> str:
    """Give a text as the framework reads it again from a table that it wrote, where it stands among other texts.

    Not kept: where all cells of the column are numbers, the framework reads numbers.

    Example:
        >>> read_stored_text("12.50"), read_stored_text("None"), read_stored_text("")
        ('12.50', 'nan', 'nan')
    """
    cell = read_cells({"cell": [text, "a text"]}, sheet=True)["cell"][0]
    return EMPTY if cell is None else str(cell)
