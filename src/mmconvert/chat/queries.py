"""A question and its response in fields of their own, earlier ones in `history`: Alpaca's form and ms-swift's."""

from collections.abc import Mapping
from typing import Any

from mmconvert.chat.conversations import as_list
from mmconvert.core.errors import RowError, in_field, show
from mmconvert.core.record import Turn
from mmconvert.core.text.image_markers import Markers, split_at_markers
from mmconvert.core.text.literals import looks_like_list, parse_list
from mmconvert.plugins.format import Context

IMAGES = ("images", "image")
"""Fields of a row's images; the first that holds any counts."""


def take_exchange(
    fields: dict[str, Any], query: tuple[str, Any], response: str, markers: Markers, context: Context
) -> tuple[Turn, ...]:
    """Take history, question and response out of a row.

    Args:
        fields: The row; `history` and the response are taken out.
        query: Field and value of the question.
        response: Field of the response; without one the turns end with the question.
        markers: What stands for an image.
        context: Told of rows without a response; where frames of videos are wanted, parts of these are given.

    Returns:
        The turns in their order.

    Raises:
        RowError: `messages.missing`, `messages.content`, `history.type`, or the codes of `split_at_markers`.
    """
    texts = _list_history(fields.pop("history", None))
    texts.append(("user", *query))
    answer = _take_response(fields, response, context)
    if answer == "" or answer is None:
        context.warn(f"a row without {response!r} is a prompt; there is nothing to learn from its last question")
    else:
        texts.append(("assistant", response, answer))
    turns = []
    for role, field, text in texts:
        if not isinstance(text, str):
            raise RowError("messages.content", field, f"expected a text {show(text)}.")
        with in_field(field):
            turns.append(Turn(role, split_at_markers(text, markers, context.images.sampling is not None)))
    return tuple(turns)


def _take_response(fields: dict[str, Any], name: str, context: Context) -> Any:
    """Take the response; of several the first one is learnt, as ms-swift does, and the list stays."""
    value = fields.get(name)
    if not isinstance(value, list):
        return fields.pop(name, None)
    if len(value) == 1:
        del fields[name]
    elif value:
        context.warn(f"of several responses in {name!r} the first is the assistant's turn; all of them stay in extra")
    return value[0] if value else None


def _list_history(value: Any) -> list[tuple[str, str, Any]]:
    """List role, place and text of what was said before, in pairs of question and response."""
    if isinstance(value, str) and looks_like_list(value):
        with in_field("history"):
            value = parse_list(value)
    if value is None or value == "":
        return []
    if not isinstance(value, list):
        raise RowError("history.type", "history", f"expected a list of [question, response] pairs {show(value)}.")
    texts: list[tuple[str, str, Any]] = []
    for number, pair in enumerate(value):
        if not isinstance(pair, list) or len(pair) != 2:
            raise RowError("history.type", f"history[{number}]", f"expected [question, response] {show(pair)}.")
        texts += [(role, f"history[{number}][{at}]", pair[at]) for at, role in enumerate(("user", "assistant"))]
    return texts


def take_images(fields: dict[str, Any]) -> tuple[str, Any]:
    """Take the images out of a row; a table's cell may hold a list as text.

    Returns:
        The field that holds them, and its value.

    Raises:
        RowError: The codes of `parse_list`.
    """
    name = find_image_field(fields)
    value = fields.pop(name, None)
    if isinstance(value, str) and looks_like_list(value):
        with in_field(name):
            value = parse_list(value)
    return name, value


def find_image_field(fields: Mapping[str, Any]) -> str:
    """Name the field of a row's images.

    Example:
        >>> find_image_field({"images": [], "image": "a.png"}), find_image_field({})
        ('image', 'images')
    """
    return next((name for name in IMAGES if as_list(fields.get(name))), IMAGES[0])
