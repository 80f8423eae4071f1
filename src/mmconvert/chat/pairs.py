"""Dialogs as lists of `{user, assistant}` with all pictures in front: the_cauldron and its kin."""

from collections.abc import Mapping, Sequence
from typing import Any

from mmconvert.chat.conversations import count_image_parts
from mmconvert.chat.training import drop_system_turns, read_messages_extra, require_alternation
from mmconvert.core.errors import RowError, show
from mmconvert.core.record import Part, Record, Turn
from mmconvert.core.text.image_markers import escape, unescape
from mmconvert.plugins.format import Loss

SIDES = ("user", "assistant")


def read_turns(texts: Any, images: int) -> tuple[tuple[Turn, ...], list[dict[str, Any]]]:
    """Read pairs as turns, all pictures in front of the first question.

    Args:
        texts: The field `texts` as the source has it.
        images: How many pictures the row has.

    Returns:
        The turns, and the further fields of each pair with its user's turn.

    Raises:
        RowError: `messages.missing`, `messages.content`.
    """
    if not isinstance(texts, list) or not texts:
        raise RowError("messages.missing", "texts", f"expected a list of questions and answers {show(texts)}.")
    turns: list[Turn] = []
    extras: list[dict[str, Any]] = []
    for number, pair in enumerate(texts):
        for side in SIDES:
            text = pair.get(side) if isinstance(pair, dict) else None
            if not isinstance(text, str):
                raise RowError("messages.content", f"texts[{number}].{side}", f"expected a text {show(pair)}.")
            shown = [Part("image")] * images if not turns else []
            words = [Part("text", unescape(text))] if text or not shown else []
            turns.append(Turn(side, (*shown, *words)))
        extras += [{name: value for name, value in pair.items() if name not in SIDES and value is not None}, {}]
    return tuple(turns), extras


def build_pairs(record: Record, losses: list[Loss], kept: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Write turns as pairs; see `read_turns`.

    A literal `<image>` is escaped: processors whose token it is would read it as a picture.

    Args:
        record: A record that ends with the assistant's turn.
        losses: Collects what pairs cannot hold.
        kept: Fields of a pair beside the two texts.

    Raises:
        RowError: `target.order`: the turns are no questions with answers.
    """
    record = drop_system_turns(record, losses)
    require_alternation(record.messages)
    count = len(record.images)
    if any(part.type != "image" for part in record.messages[0].content[:count]) or (
        count_image_parts(record.messages[:1]) != count
    ):
        losses.append(Loss(record.id, "images", "their places are lost: all stand in front of the first question"))
    extras = read_messages_extra(record)
    for more in extras:
        losses += [Loss(record.id, name, "the format has no such field in a text") for name in more if name not in kept]
    texts = ["".join(part.text for part in turn.content) for turn in record.messages]
    return [
        {"user": escape(texts[at]), "assistant": escape(texts[at + 1]), **_keep_other_fields(extras[at], kept)}
        for at in range(0, len(texts), 2)
    ]


def _keep_other_fields(more: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: more.get(name) for name in names}
