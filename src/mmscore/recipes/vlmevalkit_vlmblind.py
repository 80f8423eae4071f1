"""VLMBlind as VLMEvalKit scores it: a rule for each task, accuracy by task.

The first text in braces on one line must be the answer; of two tasks the answer must be contained, of one
whatever the case; of the two with grids the numbers of rows and columns must be the answer's. A task that is none of
these is never right.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_mcq.py:VLMBlind.evaluate, extract_content_in_braces,
compare_string_with_values. Not kept: a blank response, at which the framework stops, is wrong; answers are texts even
where all of a file are numbers, which the framework then compares with texts; a failed inference is no answer here and
counts apart.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item, Recipe, Row, parse_whole_response
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.rows import (
    KIT,
    RESULTS,
    VERSIONS,
    offer_for_names,
    read_answer_cell,
    read_other_cells,
    require_cell,
)

TASK = "task"
PAIR = re.compile(r"\((\d+),\s*(\d+)\)")
BRACES = re.compile(r"([{}])")
DIGITS = re.compile(r"\d+")
ROW, COLUMN = re.compile("[Rr]ow"), re.compile("[Cc]olumn")
Rule = Callable[[str, str], bool]


def _is_in_braces(text: str, answer: str) -> bool:
    for line in text.split("\n"):
        _, opening, rest = line.partition("{")
        inner, closing, _ = rest.partition("}")
        if opening and closing:
            return inner == answer
    return answer == ""


def _is_contained(text: str, answer: str) -> bool:
    return answer in text


def _is_contained_in_any_case(text: str, answer: str) -> bool:
    return answer.lower() in text.lower()


def _are_rows_and_columns(text: str, answer: str) -> bool:
    try:
        wanted = [int(number.strip()) for number in answer.split(",")]
    except ValueError:
        return False
    rows, columns = (_find_braced_number(text, word) for word in (ROW, COLUMN))
    if rows is not None and columns is not None:
        return wanted == [rows, columns]
    pair = PAIR.search(text)
    return pair is not None and wanted == [int(pair[1]), int(pair[2])]


def _find_braced_number(text: str, word: re.Pattern[str]) -> int | None:
    """Find the first number in braces that follows a word, no other brace between them."""
    pieces = BRACES.split(text)
    for before, opening, inner, closing in zip(pieces[::2], pieces[1::2], pieces[2::2], pieces[3::2], strict=False):
        if opening == "{" and closing == "}" and DIGITS.fullmatch(inner) and word.search(before):
            return int(inner)
    return None


# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_mcq.py:VLMBlind.evaluate
RULES: Mapping[str, Rule] = {
    **dict.fromkeys(
        ("Subway Connections", "Nested Squares", "Line Plot Intersections", "Circled Letter"), _is_in_braces
    ),
    "Touching Circles": _is_contained_in_any_case,
    **dict.fromkeys(("Counting Grid - Word Grids", "Counting Grid - Blank Grids"), _are_rows_and_columns),
    **dict.fromkeys(("Olympic Counting - Pentagons", "Olympic Counting - Circles"), _is_contained),
}


def _score(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    rule = RULES.get(require_cell(read_other_cells(item), TASK))
    return {"accuracy": float(rule is not None and rule(item.prediction, read_answer_cell(item)))}


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    return [{task: rows.mean("accuracy").value for task, rows in sorted(scored.split(f"extra.{TASK}"))}]


RECIPE = Recipe(
    "VLMBlind as VLMEvalKit scores it: a rule and an accuracy for each task",
    KIT,
    VERSIONS,
    columns=("answer", "label", "extra"),
    parse=parse_whole_response,
    metrics=_score,
    default_for=offer_for_names("VLMBlind", frozenset(("VLMBlind",))),
    table=_build_table,
    keep=(f"extra.{TASK}",),
    groups=(f"extra.{TASK}",),
    results=RESULTS,
)
