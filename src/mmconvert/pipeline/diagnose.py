"""What else is wrong with a row that was refused, found by mending the place that was named.

A format stops at the first fault of a row. Here another value is put there, of a good row of the file or one that is
right in many places, and the row is read again, until nothing is wrong with it any more. What the mending may have
caused itself is not named.
"""

import base64
import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from mmconvert.core.record import encode_json
from mmconvert.core.rows import Rejected, Row
from mmconvert.core.text.field_path import Way, find_value, parse_field_path, replace_value

MOST = 100
"""Most problems that are named of one row."""

_PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgYGAAAAAEAAH2FzhVAAAAAElFTkSuQmCC")
_BASE64 = base64.b64encode(_PNG).decode()
_ADDRESS = f"data:image/png;base64,{_BASE64}"
_CELL = {"bytes": _PNG, "path": None}
_SAID, _TURNED = {"role": "user", "content": "1"}, {"from": "human", "value": "1"}
_STAND_INS = (
    *(None, "1", "user", "yes", "A", 1, ["1", "2"], {"type": "text", "text": "1"}),
    *(_SAID, _TURNED, [_SAID], [_TURNED], _ADDRESS),
)
"""Values of which one is right in most places."""
_TYPED = (".json", ".jsonl", ".parquet")
"""Suffixes of files whose fields may hold more than texts."""

_IMAGES = ("image.", "remote.")
_APART = ("id.", "index.", "answer.", "answers.", "prediction.", "response.", "label.", "extra.")
"""Codes of faults whose mending touches neither images nor what the text says of them."""
_OF_IMAGES = ("placeholder.", "messages.images", "image.names", "image.absent", "ratings.")
"""Codes of faults between the images and the text."""
_OPTIONS = re.compile(r"[A-Z]|.*option.*|.*choice.*|index2ans")
_OF_OPTIONS = ("options.", "option.", "answer.not_an_option", "answer.range", "prediction.range")
"""Columns that say what the options are; codes of faults between them and others."""


@dataclass(slots=True)
class _Repairs:
    """What was fixed so far, and what of it others may be measured by."""

    places: set[str]
    images: bool = False
    options: bool = False

    def may_have_caused(self, problem: Rejected) -> bool:
        by_images = self.images and problem.code.startswith(_OF_IMAGES)
        return by_images or (self.options and problem.code.startswith(_OF_OPTIONS))


def find_further_problems(
    row: Row, first: Rejected, good: Mapping[str, Any], read: Callable[[Row], Rejected | None]
) -> Iterator[Rejected]:
    """Look for more problems of a refused row.

    Args:
        row: The row.
        first: Why it was refused.
        good: Fields of a row that was not; {} where the file has none.
        read: Gives why a row is refused, None for a good one.

    Yields:
        Problems at other places, one a place; after `MOST` of them one that says so.

    Example:
        >>> from mmconvert.io import Where
        >>> where = Where("a.jsonl", 0, 1)
        >>> def read(row):
        ...     wrong = next((name for name, value in row.fields.items() if value == "?"), None)
        ...     return None if wrong is None else Rejected(where, "text.type", "is none.", wrong)
        >>> row = Row({"question": "?", "id": "7", "answer": "?"}, where)
        >>> [str(problem) for problem in find_further_problems(row, read(row), {}, read)]
        ['a.jsonl:1 answer: is none. Write it so, or leave the row out.']
    """
    mended = _Repairs(set())
    problem: Rejected | None = first
    found = 0
    while problem is not None:
        mended.places.add(problem.field)
        # A value that is right here may be wrong for a place that was named before.
        attempts = _try_values(row, problem, good, read)
        attempt = next((one for one in attempts if one.problem is None or one.problem.field not in mended.places), None)
        if attempt is None:
            return
        row, problem = attempt.row, attempt.problem
        mended.images |= attempt.images
        mended.options |= attempt.options
        if problem is None or mended.may_have_caused(problem):
            continue
        if found == MOST:
            yield Rejected(problem.where, "row.problems", f"more than {MOST} problems. Correct these, and check again.")
            return
        found += 1
        yield problem


class _Attempt(msgspec.Struct, frozen=True):
    """A row without the problem that it had, the next one, and whether images or options are others now."""

    row: Row
    problem: Rejected | None
    images: bool
    options: bool


def _try_values(
    row: Row, problem: Rejected, good: Mapping[str, Any], read: Callable[[Row], Rejected | None]
) -> Iterator[_Attempt]:
    """Try values at the place of a problem, then for its whole column, and give the attempts that fix it."""
    found = parse_field_path(problem.field, {**good, **row.fields})
    if found is None:
        return
    column, way = found
    shows = problem.code.startswith(_IMAGES)
    for inwards in (way, ()) if way else ((),):
        place = problem.field if inwards == way else problem.field.partition("[")[0].partition(".")[0]
        typed = Path(row.where.file).suffix.lower() in _TYPED
        for new in _list_replacements(row.fields.get(column), good.get(column), inwards, shows, typed):
            if not inwards and not typed:
                new = new if new is None or isinstance(new, str) else encode_json(new)
            try:
                fields = {**row.fields, column: replace_value(row.fields.get(column), inwards, new)}
            except LookupError:
                break
            trial = Row(fields, row.where)
            after = read(trial)
            if after is None or not (after.field == place or after.field.startswith((f"{place}.", f"{place}["))):
                same = shows and problem.code not in _OF_IMAGES and inwards == way
                images = not same and not problem.code.startswith(_APART)
                yield _Attempt(trial, after, images, not inwards and _OPTIONS.fullmatch(column) is not None)


def _list_replacements(value: Any, good: Any, way: Way, shows: bool, typed: bool) -> Iterator[Any]:
    """Give what may be right at a place: an image like the one there, what a good row has there, then anything."""
    if shows:
        # A text holds no bytes, neither the cell of a table of texts nor a list that is written as one.
        has_bytes = typed and not (way and isinstance(value, str))
        try:
            there = find_value(value, way)
        except LookupError:
            there = None
        if isinstance(there, dict) and ("url" in there or has_bytes):
            yield {**there, "url": _ADDRESS} if "url" in there else {**there, **_CELL}
        yield from (_PNG, _ADDRESS) if isinstance(there, bytes) else (_ADDRESS, _BASE64)
        if has_bytes and not isinstance(there, bytes):
            yield _CELL
    with contextlib.suppress(LookupError):
        yield find_value(good, way)
    yield from _STAND_INS


def list_texts(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[set[str], set[str]]:
    """Give the plain values of a row as texts: those that stayed, and those that were put there."""
    own: set[str] = set()
    put: set[str] = set()
    for name, value in after.items():
        if isinstance(value, str | int):
            (own if value is before.get(name) else put).add(str(value).strip())
    return own, put


def find_swallowed_rows(row: Row) -> Iterator[str]:
    """Remark on cells that look as if they held other rows."""
    if Path(row.where.file).suffix.lower() == ".tsv":
        for name, value in row.fields.items():
            if isinstance(value, str) and "\t" in value and "\n" in value:
                yield (
                    f"line {row.where.line} {name}: tabs and line breaks are inside quotes; is a closing quote missing?"
                )
