"""What files say of single rows: what was asked, what was answered, what is right."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mmconvert.core.arrow import build_column
from mmconvert.core.errors import Error
from mmscore.core.predictions.load import Rows

ASKED = ("sample", "task", "question", "hint", "options", "answer", "answers", "label")
ANSWERED = ("prediction", "prediction_error", "thinking", "finish_reason", "option_logprobs")
_MESSAGES = "messages"

Details = Mapping[str, Any]
"""Column -> value of one row."""


def details_of(rows: Rows, ids: pa.Array) -> dict[str, Details]:
    """Read what is shown of some rows.

    Args:
        rows: The file, joined with its references where there are any.
        ids: Which rows.

    Returns:
        Id -> `ASKED`, `ANSWERED` and `messages` as far as the file has them, for rows that nothing was predicted for,
        too. Messages are those that the model saw: of the predictions file itself where it has them, with the images
        of the references at their front where it holds none.
    """
    found = _facts(rows, ids, [*ASKED, *ANSWERED])
    predictions, *references = rows.sides or (rows,)
    for questions in references:
        missing = ids.filter(pc.is_in(ids, value_set=build_column(rows.missing, pa.string())))
        found |= _facts(questions, missing, ASKED)
    for side in (*references, rows, predictions):
        for id, row in _facts(side, ids, [_MESSAGES]).items():
            if id in found and row.get(_MESSAGES) is not None:
                images = [part for part in list_parts(found[id]) if part["type"] == "image"]
                found[id][_MESSAGES] = _illustrate(row, images)
    return dict(found)


def list_parts(row: Details) -> list[Mapping[str, Any]]:
    """List the parts of the messages of a row, turn after turn."""
    return [part for turn in row.get(_MESSAGES) or () for part in turn["content"]]


def _illustrate(row: Details, images: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Put images before the first question of messages that show none, as some formats store prompts."""
    messages: list[Mapping[str, Any]] = row[_MESSAGES]
    first = next((n for n, turn in enumerate(messages) if turn["role"] == "user"), None)
    if first is None or any(part["type"] == "image" for part in list_parts(row)):
        return messages
    turn = {**messages[first], "content": [*images, *messages[first]["content"]]}
    return [*messages[:first], turn, *messages[first + 1 :]]


def _facts(rows: Rows, ids: pa.Array, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Read columns, without those in which a file of others keeps something else under our name."""
    try:
        return _read_columns(rows, ids, names)
    except Error:
        return _read_columns(rows, ids, [name for name in names if _is_readable(rows, name)])


def _read_columns(rows: Rows, ids: pa.Array, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Read columns of some rows; those that the file lacks are left out, and so are ids."""
    having = [name for name in names if name in rows.names]
    found: dict[str, dict[str, Any]] = {}
    for batch in rows.read(["id", *having]):
        wanted = batch.filter(pc.is_in(batch.column("id"), value_set=ids, skip_nulls=True))
        found.update((row["id"], row) for row in wanted.to_pylist())
    return found


def _is_readable(rows: Rows, name: str) -> bool:
    try:
        return name in rows.names and all(True for _ in rows.read([name]))
    except Error:
        return False


def references_of(row: Details) -> list[str]:
    """Give all references of a row as texts: `answers`, else `answer`, else `label`.

    Example:
        >>> references_of({"answers": [], "answer": "B"}), references_of({"label": '["a", 2]'}), references_of({})
        (['B'], ['a', '2'], [])
    """
    if row.get("answers"):
        return list(row["answers"])
    if row.get("answer") is not None:
        return [row["answer"]]
    label = row.get("label")
    try:
        value = None if label is None else json.loads(label)
    except ValueError:
        return [] if label is None else [label]
    listed = value if isinstance(value, list) else [] if value is None else [value]
    return [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in listed]


def asked_in(row: Details) -> str:
    """Give the question in one text: `question`, else the texts of the last user turn.

    Example:
        >>> turn = {"role": "user", "content": [{"type": "image", "text": ""}, {"type": "text", "text": "Which?"}]}
        >>> asked_in({"question": None, "messages": [turn]})
        'Which?'
    """
    if row.get("question"):
        return str(row["question"])
    turns: Sequence[Mapping[str, Any]] = row.get(_MESSAGES) or ()
    last = next((turn for turn in reversed(turns) if turn["role"] == "user"), None)
    return "".join(part["text"] or "" for part in last["content"]) if last else ""
