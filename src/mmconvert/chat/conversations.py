"""What readers of training data share: turns with their roles, lists of images, one record a conversation."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from msgspec.structs import replace

from mmconvert.chat.videos import SOUNDS, VIDEOS, load_frames
from mmconvert.core.errors import RowError, in_field, show, suggest_spelling
from mmconvert.core.record import Image, Part, Record, Turn
from mmconvert.core.rows import Row
from mmconvert.core.text.image_markers import IMAGE, VIDEO, Markers, check_count, split_at_markers, split_plain_text
from mmconvert.core.text.placeholders import format_turn
from mmconvert.io.columns import keep_json_fields, take_id
from mmconvert.plugins.format import Context

ROLES: dict[str, Literal["system", "user", "assistant"]] = {
    "system": "system", "user": "user", "human": "user", "assistant": "assistant", "gpt": "assistant",
}  # fmt: skip
"""Role in a training file -> role of a turn."""

TOOL_ROLES = {
    *("tool", "tool_call", "tool_response", "function", "function_call", "function_response"),
    *("observation", "observations", "ipython", "mcp"),
}
MEDIA = (*VIDEOS, *SOUNDS)
MESSAGES_EXTRA = "messages_extra"
"""Key in `extra` for the fields of each message beside role and content."""


def read_role(value: Any, field: str) -> Literal["system", "user", "assistant"]:
    """Give the role of a turn.

    Raises:
        RowError: `media.unsupported` for a tool's turn, `messages.role` for any other unknown word.
    """
    if isinstance(value, str) and value in ROLES:
        return ROLES[value]
    if isinstance(value, str) and value in TOOL_ROLES:
        raise RowError("media.unsupported", field, "tool calls are not supported yet. Leave the row out.")
    raise RowError("messages.role", field, f"expected one of {', '.join(ROLES)} {show(value)}.{_suggest_role(value)}")


def _suggest_role(word: Any) -> str:
    return suggest_spelling(word, ROLES) if isinstance(word, str) else ""


def read_messages(value: Any, field: str) -> list[dict[str, Any]]:
    """Check that a field holds messages.

    Raises:
        RowError: `messages.missing`, `messages.type`.
    """
    if not isinstance(value, list) or not value:
        raise RowError("messages.missing", field, f"expected a list of messages {show(value)}.")
    for number, message in enumerate(value):
        if not isinstance(message, dict):
            raise RowError("messages.type", f"{field}[{number}]", f"expected an object {show(message)}.")
    return value


def list_objects(value: Any) -> list[dict[str, Any]]:
    """Give the objects of a list, for telling formats apart; [] for anything else.

    Example:
        >>> list_objects([{"role": "user"}, 3]), list_objects(True)
        ([{'role': 'user'}], [])
    """
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def read_marked_turns(
    value: Any,
    field: str,
    keys: tuple[str, str],
    markers: Markers,
    shown_by: Collection[str] = ("system", "user", "assistant"),
    videos: bool = False,
) -> tuple[tuple[Turn, ...], list[dict[str, Any]]]:
    """Read turns whose content is one text with markers for images.

    Args:
        value: The list of messages as the source has it.
        field: Its name.
        keys: The message's keys for role and content.
        markers: What stands for an image.
        shown_by: Roles whose markers count; in other turns they are text.
        videos: Give parts of type `video`, in whose place `load_shown_media` puts frames.

    Returns:
        The turns, and the fields of each message that have no place in a turn.

    Raises:
        RowError: The codes of `read_messages`, `read_role` and `split_at_markers`; `messages.content`.
    """
    role_key, text_key = keys
    turns: list[Turn] = []
    extras: list[dict[str, Any]] = []
    for number, message in enumerate(read_messages(value, field)):
        said, text = message.get(role_key), message.get(text_key)
        if isinstance(said, str) and said in ROLES:
            role = ROLES[said]
        else:
            role = read_role(said, f"{field}[{number}].{role_key}")
        # Most messages have a role and a text, and nothing else.
        if has_more := len(message) > len(keys) or not isinstance(text, str):
            if message.get("tool_calls") or message.get("function_call"):
                raise RowError(
                    "media.unsupported", f"{field}[{number}]", "tool calls are not supported yet. Leave the row out."
                )
            if not isinstance(text, str):
                raise RowError("messages.content", f"{field}[{number}].{text_key}", f"expected a text {show(text)}.")
        parts = split_plain_text(text, markers) if role in shown_by else (Part("text", text),)
        if parts is None:
            with in_field(f"{field}[{number}].{text_key}"):
                parts = split_at_markers(text, markers, videos)
        turns.append(Turn(role, parts))
        further = message.items() if has_more else ()
        extras.append({name: item for name, item in further if name not in keys and item is not None})
    return tuple(turns), extras


def take_system_turn(
    fields: dict[str, Any], turns: tuple[Turn, ...], extras: list[dict[str, Any]]
) -> tuple[tuple[Turn, ...], list[dict[str, Any]]]:
    """Take the field `system` out of a row and put it before its turns.

    Raises:
        RowError: `messages.content`: it is not a text.
    """
    system = fields.pop("system", None)
    if system is None or system == "":
        return turns, extras
    if not isinstance(system, str):
        raise RowError("messages.content", "system", f"expected a text {show(system)}.")
    return (Turn("system", (Part("text", system),)), *turns), [{}, *extras]


def count_image_parts(turns: Sequence[Turn], type: str = IMAGE) -> int:
    """Count the images that turns show, or parts of another type."""
    count = 0
    for turn in turns:
        for part in turn.content:
            count += part.type == type
    return count


def show_unmarked_images(turns: tuple[Turn, ...], count: int, context: Context) -> tuple[Turn, ...]:
    """Put images that no marker stands for in front of the first turn that is not the system's, as ms-swift does.

    Args:
        turns: The turns as their markers show them.
        count: How many images the row has; the first ones are those in front.
        context: Told of it.
    """
    missing = count - count_image_parts(turns)
    if missing <= 0:
        return turns
    context.warn(
        "images without an <image> of their own come before the first message, where ms-swift puts them; "
        "LLaMA-Factory rejects such rows"
    )
    return put_in_front(turns, IMAGE, missing)


def as_list(value: Any) -> list[Any]:
    """Give the elements of a field that holds one thing or a list of them; [] for null and "".

    Example:
        >>> as_list("a.png"), as_list(["a.png", "b.png"]), as_list(None)
        (['a.png'], ['a.png', 'b.png'], [])
    """
    if value is None or value == "":
        return []
    return value if isinstance(value, list) else [value]


def list_elements(value: Any, field: str) -> list[tuple[str, Any]]:
    """Give what `as_list` gives, each element with its place.

    Example:
        >>> list_elements("a.png", "image"), list_elements(["a.png", "b.png"], "images")
        ([('image', 'a.png')], [('images[0]', 'a.png'), ('images[1]', 'b.png')])
    """
    if isinstance(value, list):
        return [(f"{field}[{number}]", item) for number, item in enumerate(value)]
    return [(field, item) for item in as_list(value)]


def load_image(value: Any, slot: int, context: Context) -> Image:
    """Load what a source wrote for an image: a path, a data URL, an address, or a cell of parquet.

    Args:
        value: A text, bytes, or an object with `bytes` and `path` (or `url`).
        slot: Number of the image in the row, from 1.
        context: Where images lie.

    Raises:
        RowError: `image.type`, or the codes of `ImageLoader.of_reference`.
    """
    return context.images.of_value(value, slot)


def load_shown_images(value: Any, field: str, turns: Sequence[Turn], context: Context) -> tuple[Image, ...]:
    """Load the images of a row after counting them against what its turns show.

    Args:
        value: One image or a list of them.
        field: Name of the field.
        turns: The row's turns.
        context: Where images lie.

    Raises:
        RowError: `placeholder.count`, or the codes of `load_image`.
    """
    return load_shown_media(value, field, (), turns, context)[1]


def load_shown_media(
    value: Any, field: str, videos: Sequence[tuple[str, Any]], turns: Sequence[Turn], context: Context
) -> tuple[tuple[Turn, ...], tuple[Image, ...]]:
    """Load the images of a row, and frames of its videos, after counting both against what its turns show.

    Args:
        value: One image or a list of them.
        field: Name of the field.
        videos: Place and value of each video, as `take_videos` gives them.
        turns: The row's turns, with parts of type `image` and `video`.
        context: Where images and videos lie.

    Returns:
        The turns, an image part for each frame in the place of a video's, and the image of each image part.

    Raises:
        RowError: `placeholder.count`, or the codes of `load_image` and `load_frames`.
    """
    values = list_elements(value, field)
    check_count(count_image_parts(turns), len(values), field)
    check_count(count_image_parts(turns, VIDEO), len(videos), VIDEOS[0], VIDEO)
    if videos:
        return _load_in_order(values, videos, turns, context)
    shown: list[Image] = []
    for slot, (place, item) in enumerate(values, 1):
        with in_field(place):
            shown.append(load_image(item, slot, context))
    return tuple(turns), tuple(shown)


def _load_in_order(
    values: Sequence[tuple[str, Any]], videos: Sequence[tuple[str, Any]], turns: Sequence[Turn], context: Context
) -> tuple[tuple[Turn, ...], tuple[Image, ...]]:
    """Load images and videos as the turns show them, and put image parts for frames in the place of a video's."""
    images: list[Image] = []
    media = {IMAGE: iter(values), VIDEO: iter(videos)}

    def load(part: Part) -> tuple[Part, ...]:
        if part.type not in media:
            return (part,)
        place, item = next(media[part.type])
        slot = len(images) + 1
        with in_field(place):
            made = load_frames(item, slot, context) if part.type == VIDEO else (load_image(item, slot, context),)
        images.extend(made)
        return (Part(IMAGE),) * len(made)

    shown = [tuple(made for part in turn.content for made in load(part)) for turn in turns]
    turns = [replace(turn, content=parts) for turn, parts in zip(turns, shown, strict=True)]
    return tuple(turns), tuple(images)


def put_in_front(turns: Sequence[Turn], type: str, number: int) -> tuple[Turn, ...]:
    """Show images or videos that no marker shows at the beginning of the first turn that is not the system's."""
    first = next((at for at, turn in enumerate(turns) if turn.role != "system"), 0)
    parts = (*[Part(type)] * number, *turns[first].content)
    return (*turns[:first], replace(turns[first], content=parts), *turns[first + 1 :])


def refuse_media(fields: Mapping[str, Any]) -> None:
    """Refuse a row with videos or sounds.

    Raises:
        RowError: `media.unsupported`.
    """
    for name in MEDIA:
        if name in fields and as_list(fields[name]):
            raise RowError(
                "media.unsupported", name, "the format has no place for videos and sounds. Leave the row out."
            )


def format_last_question(turns: Sequence[Turn], images: Sequence[Image]) -> str | None:
    """Give the text of the last user turn, `<image k>` where images stand; None without one."""
    last = len(turns) - 1
    while last >= 0 and turns[last].role != "user":
        last -= 1
    if last < 0:
        return None
    turn = turns[last]
    if len(turn.content) == 1 and turn.content[0].type == "text":
        return turn.content[0].text
    return format_turn(turn, images[count_image_parts(turns[:last]) :])


def build_conversation_record(
    row: Row,
    context: Context,
    fields: Mapping[str, Any],
    turns: Sequence[Turn],
    images: Sequence[Image],
    extras: Sequence[Mapping[str, Any]] = (),
) -> Record:
    """Make the record of a row of training data.

    Training files repeat ids (LLaVA's name an image with several conversations), so rows are numbered and the
    source's id is `sample`.

    Args:
        row: The raw row.
        context: What is known beside it.
        fields: What is left of its fields.
        turns: Its turns, the assistant's among them.
        images: One image for each image part.
        extras: Further fields of each message.

    Raises:
        RowError: `id.type`.
    """
    left = dict(fields)
    sample = take_id(left, row, context)
    if any(extras):
        left[MESSAGES_EXTRA] = [dict(more) for more in extras]
    return Record(
        id=context.numbered(row),
        sample=sample,
        messages=tuple(turns),
        task=context.task or ("chat" if "assistant" in [turn.role for turn in turns] else "vqa"),
        source=context.source(row),
        images=tuple(images),
        question=format_last_question(turns, images),
        dataset=context.dataset,
        subset=context.subset,
        extra=keep_json_fields(left, context) if left else {},
    )
