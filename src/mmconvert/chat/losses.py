"""What a format has no field for, named column by column, so that no export drops anything in silence."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import starmap
from pathlib import Path
from typing import Any

from mmconvert.core.record import Record
from mmconvert.core.text.placeholders import list_slots
from mmconvert.plugins.format import Loss, Target

COLUMNS = (
    "hint", "instruction", "options", "category", "l2_category", "split", "dataset", "subset", "group", "variant",
    "round", "attachments", "prediction",
)  # fmt: skip
"""Columns that a record may have and a format may not; what stands in every format is not among them."""

METADATA = ("category", "l2_category", "split", "dataset", "subset", "group", "variant", "round")
"""Those of them that no model is shown: without them a row is still whole, and their loss is a remark."""

PROMPTED = ("options", "hint", "instruction")
"""Columns that a format of messages holds only as far as the prompt words them."""

NO_FIELD = "the format has no field for it"

_SPLIT_SUFFIX = re.compile(r"_(test|val|dev)$")


def list_losses(
    record: Record, held: Collection[str], target: Target, derived: Mapping[str, Any] | None = None
) -> Iterator[Loss]:
    """Name the columns of a record that a format cannot hold.

    Args:
        record: What is written.
        held: Columns that the format has a field for, or whose loss its writer names itself.
        target: A file that is called like the record's dataset or subset says so by its name.
        derived: Values that a reader of the format finds by itself, in an id or in a file's name.

    Yields:
        A loss for each column that is not empty and not held.
    """
    stem = Path(target.name or target.path.name).stem
    said = {stem, _SPLIT_SUFFIX.sub("", stem)}
    for name in COLUMNS:
        value = getattr(record, name)
        if name in held or value in (None, ()) or (derived is not None and derived.get(name) == value):
            continue
        if name not in ("dataset", "subset"):
            yield Loss(record.id, name, NO_FIELD, remark=name in METADATA)
        elif value not in said:
            yield Loss(record.id, name, f"only the file's name can state it: name the file {value}", remark=True)
    if record.sample != record.id and record.variant is None and "sample" not in held:
        yield Loss(record.id, "sample", "the format has one id for a row", remark=True)


def list_prompt_losses(record: Record) -> Iterator[Loss]:
    """Name the columns that a format of messages has no field for: a remark where the prompt says what they say."""
    prompt = "\n".join(part.text for turn in record.messages for part in turn.content).casefold()
    for name in PROMPTED:
        value = getattr(record, name)
        texts = value if isinstance(value, tuple) else (value,)
        # An option that is an image stands in the prompt as its part.
        if any(text and not list_slots(text) and text.strip().casefold() not in prompt for text in texts):
            yield Loss(record.id, name, NO_FIELD)
        elif value:
            yield Loss(record.id, name, "the format has no field for it; it stays in the prompt text", remark=True)


def summarize_remarks(losses: Iterable[Loss]) -> list[str]:
    """Say each remark once, with its fields and how many rows of the file each concerns.

    Args:
        losses: Losses of an export; those that are no remarks are passed over.

    Example:
        >>> summarize_remarks([Loss("1", "split", NO_FIELD, remark=True), Loss("2", "split", NO_FIELD, remark=True)])
        ['split (2 rows): the format has no field for it']
    """
    fields: dict[str, Counter[str]] = {}
    for loss in losses:
        if loss.remark:
            fields.setdefault(loss.message, Counter())[loss.field] += 1
    return [f"{', '.join(starmap(_format_count, rows.items()))}: {message}" for message, rows in fields.items()]


def _format_count(name: str, rows: int) -> str:
    return f"{name} ({rows:,} row{'s' * (rows != 1)})"


unheld = list_losses  # the name that plug-ins know from before the first release
