"""Keep a part of the rows: the first ones, every n-th, or a share drawn by chance; conversations stay whole."""

from collections.abc import Iterator, Mapping
from typing import Any

from mmconvert.core.errors import UsageError, show
from mmconvert.core.record import Record
from mmconvert.plugins.transform import Setting, Transform


def subsample(record: Record, parameters: Mapping[str, Any], setting: Setting) -> Iterator[Record]:
    """Keep a record or drop it; what it came from (the file's row, its group) decides, so copies stay together.

    Args:
        record: The record.
        parameters: `first` rows of each file (0: all), `every` n-th row, `share` of the groups from 0 to 1.
        setting: Seed of the draw, which depends on the record's group besides, or on its sample without one.

    Yields:
        The record, if it is kept.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 dataset_subsample (`first`), build/TDIUC/tdiuc_dataset.py, which
        takes every 40th or 100th row (`every`).
    """
    row, first = record.source.row, parameters["first"]
    if (first and row >= first) or row % parameters["every"]:
        return
    if parameters["share"] == 1 or setting.random(record.group or record.sample).random() < parameters["share"]:
        yield record


def _check(parameters: Mapping[str, Any]) -> None:
    if parameters["first"] < 0 or parameters["every"] < 1:
        raise UsageError("subsample: first is a number of rows (0 for all), every a distance from 1.")
    if not 0 <= parameters["share"] <= 1:
        raise UsageError(f"subsample: share must be 0 to 1 {show(parameters['share'])}.")


TRANSFORM = Transform(
    summary="Keep the first rows, every n-th, or a share of them; conversations and copies stay whole",
    apply=subsample,
    parameters={"first": 0, "every": 1, "share": 1.0},
    check=_check,
)
