"""Skipped rows: what is kept of them, and their file, one JSON object a line, beside the dataset."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mmconvert.core.errors import UsageError
from mmconvert.core.rows import Rejected, Row
from mmconvert.io.tables import format_row
from mmconvert.pipeline.inputs import Input
from mmconvert.storage.atomic import clear_leftovers, open_published_file, require_file, write_synced


def choose_rejects_path(wish: Path | None, inputs: Sequence[Input], output: Path) -> Path:
    """Say where skipped rows go.

    Args:
        wish: What the user named; None for `<output>.rejects.jsonl`.
        inputs: Files that are read.
        output: The dataset's folder.

    Raises:
        UsageError: The file would do harm there.
    """
    output = output.resolve()
    if wish is None:
        return output.with_name(output.name + ".rejects.jsonl")
    file = wish.resolve()
    if file.is_dir():
        raise UsageError(f"{wish}: is a folder. Name a file for the skipped rows.")
    require_file(wish)
    if file.is_relative_to(output):
        raise UsageError(f"{wish}: lies inside {output}, which is replaced as a whole. Name a file beside it.")
    read = [one.path.resolve() for source in inputs for one in source.list_files()]
    if file in read:
        raise UsageError(f"{wish}: is the input itself. Name another file for the skipped rows.")
    if any(path.is_dir() and file.is_relative_to(path) for path in read):
        raise UsageError(f"{wish}: is inside the input. Name another file for the skipped rows.")
    return wish


def write_rejects(rejects: Sequence[Rejected], path: Path, append: bool) -> str | None:
    """Write the rejects file, or remove one of an earlier run where there are none and nothing is kept of that run.

    Args:
        rejects: Refused rows.
        path: The file.
        append: Keep the lines of an earlier run.

    Returns:
        The file's name, None where there are no skipped rows.
    """
    lines = [json.dumps(reject.to_json(), ensure_ascii=False).encode(errors="backslashreplace") for reject in rejects]
    clear_leftovers(path)
    if append and path.exists():
        lines = list(dict.fromkeys([*path.read_bytes().splitlines(), *lines]))
    if not lines:
        path.unlink(missing_ok=True)
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_published_file(path) as temporary:
        write_synced(temporary, b"\n".join(lines) + b"\n")
    return str(path) if rejects else None


LONGEST_KEPT = 10_000
"""Letters of the longest text that is kept of a row that was refused for scoring; a question has fewer."""


def keep_row(rejected: Rejected, row: Row | Rejected, longest: int | None) -> Rejected:
    """Keep what could be read of a refused row; `longest`: only numbers and texts of so many letters."""
    kept = format_row(row) if isinstance(row, Row) else rejected.row
    if kept is not None and longest is not None:
        short = {name: value for name, value in kept.fields.items() if _is_short(value, longest)}
        kept = replace(kept, fields=short)
    return replace(drop_row(rejected), row=kept)


def _is_short(value: Any, longest: int) -> bool:
    return len(value) <= longest if isinstance(value, str) else isinstance(value, int | float)


def drop_row(rejected: Rejected) -> Rejected:
    """Let go of the row of a refusal, which may be large, but for its id."""
    if rejected.row is None:
        return rejected
    return replace(rejected, id=rejected.id or read_row_id(rejected.row), row=None, others=())


def read_row_id(row: Row) -> str | None:
    """Read what a row calls itself, for messages."""
    value = next((row.fields[name] for name in ("index", "id") if row.fields.get(name) is not None), None)
    return None if value is None else str(value)
