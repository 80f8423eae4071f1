"""The last user turn of a record: the images it shows, and the record with other words in it."""

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from mmconvert.core.errors import RowError
from mmconvert.core.record import Image, Part, Preference, Record, Turn, remove_preference
from mmconvert.core.text.options import build_plain_prompt, list_letters, remove_option_names
from mmconvert.core.text.placeholders import PLACEHOLDER, list_slots
from mmconvert.core.text.prompt_parts import OPTION_NAMES, REPLY, Wording


def find_last_user_turn(record: Record) -> int | None:
    """Give the index of the last user turn, None for a record without one.

    Example:
        >>> from mmconvert.core.record import Source
        >>> turns = tuple(Turn(role, ()) for role in ("system", "user", "assistant"))
        >>> find_last_user_turn(Record("1", "1", turns, "vqa", Source("f", "f", 0)))
        1
    """
    users = [number for number, turn in enumerate(record.messages) if turn.role == "user"]
    return users[-1] if users else None


def shows_what_is_named(named: Sequence[int], record: Record) -> bool:
    """Tell whether the last user turn shows those images that placeholders in a record's fields name."""
    shown = list_last_turn_images(record) or record.images
    return sorted(named) == sorted(image.slot for image in shown)


def are_placeholders(named: Sequence[int], record: Record) -> bool:
    """Tell whether placeholders in a record's fields stand for its images, and not for themselves.

    Args:
        named: Their numbers, repeats kept.
        record: Its last user turn shows those images, or as some frameworks' prompts do a part of all that there are.
    """
    every = {image.slot for image in (*record.images, *record.attachments)}
    return shows_what_is_named(named, record) or sorted(named) == sorted(every)


def list_last_turn_images(record: Record) -> tuple[Image, ...]:
    """List the images that the last user turn shows, in reading order; without such a turn, those that none shows."""
    start, end = _find_image_span(record)
    return record.images[start:end]


def join_texts(turn: Turn) -> str:
    """Join the texts of a turn; images leave no trace.

    Example:
        >>> join_texts(Turn("user", (Part("image"), Part("text", "Which?"))))
        'Which?'
    """
    return "".join(part.text for part in turn.content)


def remove_begun_response(record: Record) -> Record:
    """Take the response off that an earlier prompt template began: another prompt template begins its own, or none."""
    if REPLY not in record.extra:
        return record
    extra = {name: value for name, value in record.extra.items() if name != REPLY}
    begun = find_begun_response(record) is not None
    return replace(record, messages=record.messages[:-1] if begun else record.messages, extra=extra)


def find_begun_response(record: Record) -> str | None:
    """Give the response that a prompt template began: the last turn, if it is the assistant's; else None."""
    begun = record.extra.get(REPLY)
    last = record.messages[-1:]
    said = [(turn.role, join_texts(turn)) for turn in last]
    return begun if isinstance(begun, str) and said == [("assistant", begun)] else None


def replace_prompt(record: Record, prompt: Wording) -> Record:
    """Put a prompt into the last user turn; only a response that was begun changes among the other turns.

    Args:
        record: The record; one without a user turn gets one at the end.
        prompt: Parts of the turn and the slots of its images, shown or attached ones; the response that it
            begins follows as a turn, unless one stands there already.

    Returns:
        The record. An image that no turn shows any more is attached.

    Raises:
        RowError: `placeholder.no_image`: the prompt template shows an image that the record has not.
    """
    record = remove_begun_response(record)
    pool = {image.slot: image for image in (*record.attachments, *record.images)}
    for slot in prompt.slots:
        if slot not in pool:
            raise RowError("placeholder.no_image", "question", f"the prompt shows image {slot}, but there is none.")
    start, end = _find_image_span(record)
    images = (*record.images[:start], *(pool[slot] for slot in prompt.slots), *record.images[end:])
    shown = {image.slot for image in images}
    at = find_last_user_turn(record)
    turn = Turn("user", prompt.parts)
    messages = (*record.messages, turn) if at is None else (*record.messages[:at], turn, *record.messages[at + 1 :])
    extra = dict(remove_option_names(record).extra)
    if prompt.names not in (None, list_letters(record.options)):
        extra[OPTION_NAMES] = prompt.names
    if prompt.reply is not None and messages[-1].role == "user":
        messages = (*messages, Turn("assistant", (Part("text", prompt.reply),)))
        extra[REPLY] = prompt.reply
    others = (*record.attachments, *record.images[start:end])
    hidden = {image.slot: image for image in others if image.slot not in shown}
    return replace(record, messages=messages, images=images, attachments=tuple(hidden.values()), extra=extra)


def change_prompt(record: Record, change: Callable[[Record], Iterable[Record]]) -> tuple[Record, ...]:
    """Change the prompt of a record; of a preference pair the responses and their images stay behind it.

    Args:
        record: Any record.
        change: Record without responses -> records in its place.

    Raises:
        RowError: `preference.images`: the rejected side sees images of its own;
            what `change` raises.
    """
    pair = record.preference
    if pair is None:
        return tuple(change(record))
    if pair.rejected_images:
        message = "the rejected side has other images, which transforms and prompts do not handle."
        raise RowError("preference.images", "rejected_images", f"{message} Convert without them, or leave the row out.")
    prompt = remove_preference(record)
    images = record.images[len(prompt.images) :]
    return tuple(_append_responses(made, pair, images) for made in change(prompt))


def _append_responses(record: Record, pair: Preference, images: Sequence[Image]) -> Record:
    """Put responses behind a prompt; images whose slot the prompt took get one that is free."""
    taken = {image.slot for image in (*record.images, *record.attachments)}
    if not taken.isdisjoint(image.slot for image in images):
        images = [replace(image, slot=slot) for slot, image in enumerate(images, max(taken) + 1)]
    return replace(record, preference=pair, images=(*record.images, *images))


def append_suffix(record: Record, suffix: str) -> Record:
    """Add a text to the end of the last user turn; the other turns stay as they are.

    Args:
        record: The record; one without a user turn gets one at the end.
        suffix: Put behind the turn's last text as it is, or behind its last image.

    Returns:
        The record.

    Example:
        >>> from mmconvert.core.record import Source
        >>> turns = (Turn("user", (Part("text", "What?"),)), Turn("assistant", (Part("text", "A cat."),)))
        >>> asked = append_suffix(Record("1", "1", turns, "vqa", Source("f", "f", 0)), " Why?")
        >>> [join_texts(turn) for turn in asked.messages]
        ['What? Why?', 'A cat.']
    """
    at = find_last_user_turn(record)
    if at is None:
        return replace(record, messages=(*record.messages, Turn("user", (Part("text", suffix),))))
    content = record.messages[at].content
    if content and content[-1].type == "text":
        content = (*content[:-1], Part("text", content[-1].text + suffix))
    else:
        content = (*content, Part("text", suffix))
    return replace(record, messages=(*record.messages[:at], Turn("user", content), *record.messages[at + 1 :]))


def build_plain_prompt_parts(record: Record) -> Wording:
    """Word a question the plain way, as formats do that hold questions and not messages.

    Args:
        record: A question, with hint and options where it has them.

    Returns:
        Images that the text names with `<image k>` in their place, the others of the last turn first.
    """
    text = build_plain_prompt(record.question or "", record.hint, record.options)
    known = {image.slot for image in (*record.images, *record.attachments)}
    named = [slot for slot in list_slots(text) if slot in known]
    first = [image.slot for image in list_last_turn_images(record) if image.slot not in named]
    parts = [*[Part("image")] * len(first), *_split_known(text, known)]
    return Wording(tuple(parts), (*first, *named))


def _split_known(text: str, known: set[int]) -> Sequence[Part]:
    parts: list[Part] = []
    at = 0
    for match in PLACEHOLDER.finditer(text):
        if int(match[1]) in known:
            parts += [Part("text", text[at : match.start()]), Part("image")]
            at = match.end()
    parts.append(Part("text", text[at:]))
    return [part for part in parts if part.type == "image" or part.text] or [Part("text", "")]


def _find_image_span(record: Record) -> tuple[int, int]:
    """Give where the images of the last user turn stand among the record's."""
    at = find_last_user_turn(record)
    counts = [sum(part.type == "image" for part in turn.content) for turn in record.messages]
    return (sum(counts), len(record.images)) if at is None else (sum(counts[:at]), sum(counts[: at + 1]))
