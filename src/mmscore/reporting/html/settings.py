"""How the responses of a file were made: what its run says of itself, and the tokens of its samples."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.compute as pc

from mmconvert.core.errors import Error
from mmscore.core.predictions.load import Rows

_TOKENS = ("prompt_tokens", "completion_tokens")
_MAX_SETTINGS = 40
_MAX_TEXT = 400
_DIGESTS = ("dataset_fingerprint", "task")
"""Entries of a run's metadata that say nothing to a person."""


class RunSettings(msgspec.Struct, frozen=True):
    """One predictions file and the run that wrote it.

    Attributes:
        file: The file, as the user wrote it.
        settings: Option -> its value, as the run states them; empty where the file states nothing.
        tokens: Kind of token -> the sum over all samples that state it.
        counted: Samples that state their tokens.
        seconds: Duration that the file states, None where it states none.
        cost: Cost that the file states, None where it states none.
    """

    file: str
    settings: Mapping[str, str]
    tokens: Mapping[str, int]
    counted: int
    seconds: float | None = None
    cost: float | None = None


def describe_run(rows: Rows) -> RunSettings:
    """Gather what a predictions file says of its run."""
    told = {name: value for name, value in rows.run.items() if name not in _DIGESTS}
    numbers = [_read_number(told.pop(name, None)) for name in ("seconds", "cost")]
    settings = dict(list(_flatten("", told))[:_MAX_SETTINGS])
    tokens, counted = _count_tokens(rows)
    return RunSettings(rows.path, settings, tokens, counted, *numbers)


def _read_number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 1e15 else None  # type: ignore[operator,arg-type]


def _flatten(prefix: str, value: Any) -> Iterator[tuple[str, str]]:
    """Give the entries of nested settings that say something, as texts."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flatten(f"{prefix}.{name}" if prefix else str(name), inner)
    elif value is not None and value is not False and value not in ("", []):
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield prefix, text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"


def _count_tokens(rows: Rows) -> tuple[dict[str, int], int]:
    having = [name for name in _TOKENS if name in rows.names]
    sums, counted = dict.fromkeys(having, 0), 0
    if not having:
        return {}, 0
    try:
        for batch in rows.read(having):
            for name in having:
                sums[name] += pc.sum(batch.column(name)).as_py() or 0
            counted += batch.num_rows - batch.column(having[-1]).null_count
    except (Error, TypeError):
        # A file of others may keep something else under these names.
        return {}, 0
    return {name: count for name, count in sums.items() if count}, counted


def format_score_command(
    paths: Sequence[str | Path], recipes: Sequence[object], options: msgspec.Struct, *, judge: Sequence[str] = ()
) -> str:
    """Write the command that scores these files so, as a shell takes it.

    Args:
        paths: The predictions files.
        recipes: Names of recipes; those that are no text are left out.
        options: How to score; only what differs from the default is written.
        judge: Names of the judges that were asked.

    Example:
        >>> class Options(msgspec.Struct):
        ...     by: tuple[str, ...] = ()
        ...     answers: str | None = None
        >>> format_score_command(["my file.parquet"], ["own_choice"], Options(answers="data"))
        "mmscore 'my file.parquet' --recipe own_choice --answers data"
    """
    words = ["mmscore", *map(str, paths)]
    words += [word for name in recipes if isinstance(name, str) for word in ("--recipe", name)]
    words += [word for name in judge for word in ("--judge", name)]
    for one in msgspec.structs.fields(type(options)):
        value, flag = getattr(options, one.name), f"--{one.name.replace('_', '-')}"
        if value == one.default or callable(value) or value is None or value is False:
            continue
        if value is True:
            words.append(flag)
        elif isinstance(value, str | int | float | Path):
            words += [flag, str(value)]
        elif isinstance(value, tuple | list):
            words += [word for part in value if isinstance(part, str) for word in (flag, part)]
    return shlex.join(words)
