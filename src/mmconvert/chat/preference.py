"""Preference pairs: two responses to one prompt, read from and written to the forms of several trainers."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from mmconvert.chat.conversations import build_conversation_record
from mmconvert.core.errors import RowError, show
from mmconvert.core.record import SCORES, Image, Preference, Record, Turn, keep_chosen
from mmconvert.core.rows import Row
from mmconvert.dataset.views import is_tie
from mmconvert.plugins.format import Context, Loss, Sample

SIDES = ("chosen", "rejected")
"""Fields of the two responses in most forms."""

CHOSEN_ALONE = "the format has no field for a pair; only the chosen response is written"


def count_shared(chosen: Sequence[Any], rejected: Sequence[Any]) -> int:
    """Count the elements at the start that both sides share and that make their prompt; each side keeps one at least.

    Of texts the space before the place where they part belongs to the responses, as TRL's `extract_prompt` has it.

    Example:
        >>> count_shared("The sky is blue.", "The sky is green.")
        10
        >>> count_shared(["q", "a"], ["q", "b"]), count_shared(["q", "a"], ["q", "a"])
        (1, 1)
    """
    most = min(len(chosen), len(rejected))
    count = next((place for place in range(most) if chosen[place] != rejected[place]), most)
    count = max(min(count, most - 1), 0)
    return count - 1 if count and chosen[count - 1] == " " else count


def take_scores(fields: dict[str, Any]) -> dict[str, float]:
    """Take margin and scores out of a row; what is not a number stays there."""
    found = {}
    for name in SCORES:
        value = fields.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            found[name] = float(fields.pop(name))
    return found


def build_pair_record(
    row: Row,
    context: Context,
    fields: dict[str, Any],
    turns: tuple[Sequence[Turn], Sequence[Turn], Sequence[Turn]],
    images: Sequence[Image],
    extras: Sequence[Mapping[str, Any]] = (),
    others: Sequence[Image] = (),
) -> Record:
    """Make the record of a preference pair.

    Args:
        row: The raw row.
        context: What is known beside it.
        fields: What is left of its fields; margin and scores are taken out.
        turns: Those of the prompt, of the chosen and of the rejected response.
        images: One image for each image part, in this order.
        extras: Further fields of each message of the prompt.
        others: Images that the rejected side sees in the place of the prompt's, () where they are the same.

    Raises:
        RowError: `preference.prompt`: the prompt does not end with the user; `preference.role`: a response does not
            begin with the assistant; the codes of `build_conversation_record`.
    """
    prompt, chosen, rejected = (tuple(side) for side in turns)
    if not prompt or prompt[-1].role == "assistant":
        found = "there is none" if not prompt else "it ends with the assistant"
        raise RowError("preference.prompt", "prompt", f"expected a prompt that ends with the user, but {found}.")
    for name, side in zip(SIDES, (chosen, rejected), strict=True):
        if side and side[0].role != "assistant":
            raise RowError("preference.role", name, f"expected a response of the assistant {show(side[0].role)}.")
    scores = take_scores(fields)
    record = build_conversation_record(row, context, fields, prompt, images, extras)
    pair = Preference(chosen, rejected, **scores, rejected_images=tuple(range(len(others))))
    made = replace(record, task=context.task or "chat", attachments=tuple(others), preference=pair)
    if is_tie(made):
        context.warn("chosen and rejected are alike: the pair is kept, but no trainer learns from it")
    return made


def holds_sides(sample: Sample, kind: type) -> bool:
    """Tell whether every first row has both sides, as values of one kind; for telling formats apart."""
    values = [row.get(name) for row in sample.rows for name in SIDES]
    return bool(values) and all(isinstance(value, kind) for value in values)


def holds_pairs(records: Iterable[Record]) -> bool:
    """Tell whether a file of these records is one of preference pairs: its first record is one."""
    first = next(iter(records), None)
    return first is not None and first.preference is not None


def select_rows(records: Iterable[Record], losses: list[Loss], *, paired: bool) -> Iterator[Record]:
    """Pass on the records that go into a file of pairs, or into one of conversations.

    Args:
        records: Any records.
        losses: Collects what is left out: rows without a pair, or responses that are rejected.
        paired: The file is one of pairs.
    """
    for record in records:
        if paired and record.preference is None:
            message = "the row is left out: the file contains preference pairs, and it is not one"
            losses.append(Loss(record.id, "preference", message, left_out=True))
            continue
        if not paired and record.preference is not None:
            losses.append(Loss(record.id, "preference", CHOSEN_ALONE))
            record = keep_chosen(record)
        yield record


def report_lost_scores(record: Record, losses: list[Loss], kept: Sequence[str] = ()) -> None:
    """Name the numbers of a pair that a format has no field for."""
    for name in SCORES:
        if name not in kept and getattr(record.preference, name) is not None:
            losses.append(Loss(record.id, name, "the format has no field for it"))


def list_scores(record: Record, names: Sequence[str] = SCORES) -> dict[str, float]:
    """Give the numbers of a pair that are known, by name."""
    known = {name: getattr(record.preference, name) for name in names}
    return {name: value for name, value in known.items() if value is not None}
