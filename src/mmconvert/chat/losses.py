"""What a format has no field for, named column by column, so that no export drops anything in silence."""

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from mmconvert.core.record import Record
from mmconvert.plugins.format import Loss, Target

COLUMNS = (
    "hint", "instruction", "options", "category", "l2_category", "split", "dataset", "subset", "group", "variant",
    "round", "attachments", "prediction",
)  # fmt: skip
"""Columns that a record may have and a format may not; what stands in every format is not among them."""

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
            yield Loss(record.id, name, "the format has no field for it")
        elif value not in said:
            yield Loss(record.id, name, f"only the file's name can say it: name the file {value}")
    if record.sample != record.id and record.variant is None and "sample" not in held:
        yield Loss(record.id, "sample", "the format has one id for a row")


unheld = list_losses  # the name that plug-ins know from before the first release
