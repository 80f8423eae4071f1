"""Draw the order of the options; answer, label and prompt follow."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from mmconvert.core.errors import UsageError, suggest_spelling
from mmconvert.core.record import Record
from mmconvert.kits.evalscope.shuffle import Choices, shuffle_choices
from mmconvert.kits.reform_eval.restate import reorder_options
from mmconvert.plugins.transform import Setting, Transform


def shuffle_options(record: Record, parameters: Mapping[str, Any], setting: Setting) -> Iterator[Record]:
    """Shuffle the options of a record.

    Args:
        record: The record; one with less than two options stays as it is.
        parameters: `order`: `drawn`, or `evalscope` for the order that EvalScope's `shuffle_choices` gives.
        setting: Seed of the draw, which depends on the record's id besides, so that copies differ; EvalScope's
        depends on
            question and options.

    Yields:
        The record.

    Raises:
        RowError: The answer is none of the options' letters, or there is no question to word.

    Parity: own definition. ReForm-Eval shuffles without a seed, and in five of its loaders the key stays
        behind when a sample is visited again; `mmconvert.kits.reform_eval.loader` does as it does. With
        `order=evalscope` modelscope/evalscope 1.14.1 evalscope/api/dataset:MemoryDataset.shuffle_choices.
    """
    if sum(option is not None for option in record.options) > 1:
        record = reorder_options(record, ORDERS[parameters["order"]](record, setting))
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


def _draw_order(record: Record, setting: Setting) -> list[int]:
    return shuffle_positions(record.options, setting.random(record.id))


def _draw_evalscope_order(record: Record, setting: Setting) -> list[int]:
    present = [place for place, option in enumerate(record.options) if option is not None]
    texts = tuple(option for option in record.options if option is not None)
    (shuffled,) = shuffle_choices([Choices(record.question or "", texts, [])], setting.seed)
    moves = {place: present[old] for place, old in zip(present, shuffled.order, strict=True)}
    return [moves.get(place, place) for place in range(len(record.options))]


ORDERS: Mapping[str, Callable[[Record, Setting], list[int]]] = {
    "drawn": _draw_order,
    "evalscope": _draw_evalscope_order,
}
"""What gives the order, by the value of the parameter `order`."""


def _check(parameters: Mapping[str, Any]) -> None:
    if parameters["order"] not in ORDERS:
        hint = suggest_spelling(parameters["order"], ORDERS)
        raise UsageError(f"no order {parameters['order']!r}.{hint} Known: {', '.join(ORDERS)}.")


TRANSFORM = Transform(
    summary="Draw the order of the options; the answer follows",
    apply=shuffle_options,
    parameters={"order": "drawn"},
    check=_check,
)
