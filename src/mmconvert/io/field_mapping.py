"""Which column holds which field of a table that has no framework's names: `--map FIELD=COLUMN`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mmconvert.core.errors import RowError, UsageError, show, suggest_spelling
from mmconvert.core.record import LETTERS
from mmconvert.core.text.json import parse_json

FIELDS = (
    *("id", "image", "video", "question", "options", "answer", "answer_index", "answer_number"),
    *("prediction", "reply"),
    *("hint", "category", "l2_category", "split", "group"),
)
"""Fields that a column may be named for, beside A, B, C, ... for options in columns of their own."""

_SEVERAL = ("image", "video")
"""Fields that several columns may hold."""

CONSTANT = ":"
"""Stands before a text that is the same in every row."""

_HOW = "Write FIELD=COLUMN, or FIELD=:TEXT for one text in every row."


def parse_mapping(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Read what `--map` says.

    Args:
        texts: `FIELD=COLUMN` each; a dotted COLUMN reaches into objects, `:TEXT` is a constant.

    Returns:
        Field and column, in order; `image` and `video` may stand several times.

    Raises:
        UsageError: A text of another form, a field that does not exist, or one that appears twice.

    Example:
        >>> parse_mapping(["image=filename", "answer=meta.gold", "split=:val"])
        (('image', 'filename'), ('answer', 'meta.gold'), ('split', ':val'))
    """
    found: list[tuple[str, str]] = []
    for text in texts:
        field, equals, column = text.partition("=")
        if not equals or column in ("", CONSTANT):
            raise UsageError(f"--map: expected a field and its column {show(text)}. {_HOW}")
        if field not in FIELDS and (len(field) != 1 or field not in LETTERS):
            hint = suggest_spelling(field, FIELDS)
            raise UsageError(f"--map {text}: no field {field!r}.{hint} Known: {', '.join(FIELDS)}, A, B, C, ...")
        if field not in _SEVERAL and any(field == known for known, _ in found):
            raise UsageError(f"--map: {field} appears twice. Name one column.")
        found.append((field, column))
    return tuple(found)


def check_mapping(mapping: Iterable[tuple[str, str]], columns: Sequence[str], file: object) -> None:
    """Refuse columns that a file's first rows do not have.

    Args:
        mapping: As `parse_mapping` gives it.
        columns: Names of columns, of the first rows where rows have their own.
        file: The file, for the message.

    Raises:
        UsageError: A column is none of them.
    """
    for field, column in mapping:
        if not column.startswith(CONSTANT) and find_column(columns, column) is None:
            hint = suggest_spelling(column, columns)
            raise UsageError(f"{file}: --map {field}={column}: no such column.{hint} Found: {', '.join(columns)}.")


def find_column(columns: Iterable[str], named: str) -> str | None:
    """Find the column that a name, dotted or not, begins with.

    Example:
        >>> find_column(["meta", "a.b"], "meta.gold"), find_column(["meta", "a.b"], "a.b"), find_column(["a"], "b")
        ('meta', 'a.b', None)
    """
    known = {*columns}
    parts = named.split(".")
    heads = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((head for head in heads if head in known), None)


def read_mapped(fields: Mapping[str, Any], named: str) -> Any:
    """Read what a row holds for a mapped column; None where it has nothing there.

    Args:
        fields: The row.
        named: A column; a dotted way into its object, list or JSON text; or `:TEXT`.

    Example:
        >>> row = {"meta": {"gold": "B"}, "tags": '["x", {"y": 1}]'}
        >>> [read_mapped(row, name) for name in ("meta.gold", "tags.1.y", "tags.5", ":val")]
        ['B', 1, None, 'val']
    """
    if named.startswith(CONSTANT):
        return named.removeprefix(CONSTANT)
    column = find_column(fields, named)
    if column is None:
        return None
    value = fields[column]
    for part in named.removeprefix(column).split(".")[1:]:
        value = _step_into(value, part)
    return value


def _step_into(value: Any, part: str) -> Any:
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            value = parse_json(value)
        except RowError:
            return None
    if isinstance(value, list) and part.isdecimal():
        return value[int(part)] if int(part) < len(value) else None
    return value.get(part) if isinstance(value, dict) else None
