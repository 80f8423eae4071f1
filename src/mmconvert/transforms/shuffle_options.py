"""Draw the order of the options; answer, label and prompt follow."""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from mmconvert.core.record import Record
from mmconvert.kits.reform_eval.restate import reorder_options
from mmconvert.plugins.transform import Setting, Transform


def shuffle_options(record: Record, parameters: Mapping[str, Any], setting: Setting) -> Iterator[Record]:
    """Shuffle the options of a record.

    Args:
        record: The record; one with less than two options stays as it is.
        parameters: None.
        setting: Seed of the draw, which hangs on the record's id besides, so that copies differ.

    Yields:
        The record.

    Raises:
        RowError: The answer is none of the options' letters, or there is no question to word.

    Parity: own definition. ReForm-Eval shuffles without a seed, and in five of its loaders the key stays
        behind when a sample is visited again; `mmconvert.kits.reform_eval.loader` does as it does.
    """
    if sum(option is not None for option in record.options) > 1:
        record = reorder_options(record, shuffle_positions(record.options, setting.random(record.id)))
    yield record


def shuffle_positions(options: Sequence[str | None], rng: Random) -> list[int]:
    """Draw a new order; letters without an option stay without.

    Returns:
        For each letter from A, the place at which its option stood.

    Example:
        >>> shuffle_positions(["x", None, "y", "z"], Random(3))
        [0, 1, 3, 2]
    """
    present = [place for place, option in enumerate(options) if option is not None]
    drawn = rng.sample(present, len(present))
    moves = dict(zip(present, drawn, strict=True))
    return [moves.get(place, place) for place in range(len(options))]


TRANSFORM = Transform(summary="Draw the order of the options; the answer follows", apply=shuffle_options)
