"""Copy every record some times, for transforms that tell the copies apart: ReForm-Eval's data_duplication."""

from collections.abc import Iterator, Mapping
from typing import Any

from mmconvert.core.errors import UsageError, show
from mmconvert.core.record import Record
from mmconvert.plugins.transform import Setting, Transform, make_copies


def duplicate(record: Record, parameters: Mapping[str, Any], setting: Setting) -> Iterator[Record]:
    """Copy a record.

    Args:
        record: The record.
        parameters: `times`.
        setting: Not used.

    Yields:
        Copies side by side, numbered from 0.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 build/base_dataset.py, whose items i*d .. i*d+d-1 are copies.
    """
    yield from make_copies(record, parameters["times"])


def _check(parameters: Mapping[str, Any]) -> None:
    if not 1 <= parameters["times"] <= 1_000:
        raise UsageError(f"duplicate: times must be 1 to 1,000 {show(parameters['times'])}.")


TRANSFORM = Transform(
    summary="Copy every record some times (ReForm-Eval's data_duplication)",
    apply=duplicate,
    parameters={"times": 5},
    check=_check,
)
