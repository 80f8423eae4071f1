"""Which rows of a VLMEvalKit table show one question with its options rotated.

Rotation k of question i has the index i + k * 1,000,000 (ten times more where an index is that large), and
`g_index` may name i. Source: open-compass/VLMEvalKit@e8e78f0 vlmeval/tools.py, vlmeval/dataset/utils.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mmconvert.core.record import LETTERS, Record
from mmconvert.io import Rejected, Row
from mmconvert.kits.vlmevalkit.circular import FIRST_OFFSET

ROTATION_OF = "#rotation_of"
"""What is added to a rotated copy of another row: that row's index. No column of a table begins so."""

_DIGITS = re.compile(r"[0-9]{1,15}")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,14}")


def base_index(index: str | None) -> str | None:
    """Give the index that a row would have unrotated, if its number says that it is a rotation.

    Returns:
        The index; None for one below the first rotation, or that is no number.

    Example:
        >>> base_index("3000007"), base_index("7"), base_index("a7")
        ('7', None, None)
    """
    if index is None or not _NUMBER.fullmatch(index) or int(index) < FIRST_OFFSET:
        return None
    return str(int(index) % FIRST_OFFSET)


def fingerprint(fields: Mapping[str, Any]) -> int:
    """Give a number that rotations of one question share: of its text and of its options in any order.

    The number holds for this process only.
    """
    options = sorted(str(fields[letter]) for letter in LETTERS if fields.get(letter) is not None)
    question = next((value for name, value in fields.items() if name.lower() == "question"), None)
    return hash((question, *options))


def with_rotations(rows: Callable[[], Iterator[Row | Rejected]]) -> Iterator[Row | Rejected]:
    """Mark the rows of a small table that are rotated copies of another with its index, under `ROTATION_OF`.

    Args:
        rows: Makes the rows anew each time; called twice for a table with such an index.
    """
    known: dict[str | None, int] | None = None
    for item in rows():
        if isinstance(item, Row) and (base := base_index(index_of(item.fields))) is not None:
            known = known or {index_of(row.fields): fingerprint(row.fields) for row in rows() if isinstance(row, Row)}
            if known.get(base) == fingerprint(item.fields):
                item = replace(item, fields={**item.fields, ROTATION_OF: base})
        yield item


def index_of(fields: Mapping[str, Any]) -> str | None:
    """Give the index of a raw row as text; None where it has none.

    Example:
        >>> index_of({"Index": 7}), index_of({"question": "?"})
        ('7', None)
    """
    value = next((value for name, value in fields.items() if name.lower() == "index"), None)
    return None if value is None else str(value).strip()


def rotation(index: str, head: str | None, options: Sequence[str | None]) -> tuple[str, int | None]:
    """Tell question and rotation of a row.

    Args:
        index: The row's index.
        head: Index of the unrotated row (`g_index`); None to count in millions.
        options: The row's options: there are no more rotations than these.

    Returns:
        The unrotated row's index, leading zeros kept, and which rotation this is; (index, None) for an
        index that is no number or does not go with `head`.

    Example:
        >>> rotation("2000007", None, "abcd"), rotation("00012", None, "ab"), rotation("x", None, "ab")
        (('7', 2), ('00012', 0), ('x', None))
        >>> rotation("20000007", "7", "abcd"), rotation("9", "7", "abcd")
        (('7', 2), ('9', None))
    """
    if not _DIGITS.fullmatch(index) or not (head is None or _DIGITS.fullmatch(head)):
        return index, None
    if head is None:
        turn, question = divmod(int(index), FIRST_OFFSET)
        return (str(question) if turn else index), turn
    distance, offset = int(index) - int(head), FIRST_OFFSET
    if distance == 0:
        return index, 0
    while distance > 0 and distance % offset == 0:
        if distance // offset < max(len(options), 2):
            return head, distance // offset
        offset *= 10
    return index, None


def index_cell(record: Record) -> str:
    """Number a record as the kit does, also a rotation that a transform of ours made (`7#2`)."""
    if record.variant is None:
        return record.id
    if record.variant and record.id.startswith(f"{record.sample}#") and _NUMBER.fullmatch(record.sample):
        return str(int(record.sample) + record.variant * FIRST_OFFSET)
    return record.id if record.variant else record.sample


def said_by_index(record: Record) -> tuple[str, ...]:
    """Name the columns that the index of a row tells its reader: those of a rotation.

    Example:
        >>> from mmconvert.core.record import Source
        >>> said_by_index(Record("7#1", "7", (), "vqa", Source("f", "f.tsv", 0), variant=1, group="7"))
        ('variant', 'group')
    """
    if record.variant is None or not _NUMBER.fullmatch(index_cell(record)):
        return ()
    return ("variant", "group") if record.group == record.sample else ("variant",)
