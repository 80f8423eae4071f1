"""Put another wording into a record: the last user turn changes, everything before and behind it stays."""

from collections.abc import Callable
from dataclasses import replace

from mmconvert.errors import RowError
from mmconvert.record import Image, Part, Record, Turn
from mmconvert.wording import Wording

Prompt = Callable[[Record], Wording]
"""What a file in `mmconvert/prompts` exports: a record -> its last user turn; options are keywords."""


def last_user_turn(record: Record) -> tuple[int, tuple[Image, ...]]:
    """Find the turn that a prompt words anew.

    Returns:
        Its place in `messages`, and the pictures that it shows.

    Raises:
        RowError: `messages.no_user`: nobody asks anything.

    Example:
        >>> from mmconvert.record import Source
        >>> turns = (Turn("user", (Part("image"), Part("text", "What?"))), Turn("assistant", (Part("text", "A cat."),)))
        >>> last_user_turn(Record("1", "1", turns, "chat", Source("f", "f", 0), images=(Image(b"", 1),)))[0]
        0
    """
    counts = [sum(part.type == "image" for part in turn.content) for turn in record.messages]
    for place in range(len(counts) - 1, -1, -1):
        if record.messages[place].role == "user":
            before = sum(counts[:place])
            return place, record.images[before : before + counts[place]]
    raise RowError("messages.no_user", "messages", "the conversation has no user turn that could be worded anew.")


def reworded(record: Record, wording: Wording) -> Record:
    """Put a wording in place of the last user turn.

    Args:
        record: The record.
        wording: The new turn; its slots name pictures of the old turn or attachments.

    Returns:
        The record with the new turn; pictures that are no longer shown are attachments, and
        attachments that are shown now are none.

    Raises:
        RowError: `messages.no_user`, or `placeholder.no_image`: there is no picture of such a number.
    """
    place, old = last_user_turn(record)
    known = {image.slot: image for image in (*record.attachments, *old)}
    for slot in wording.slots:
        if slot not in known:
            raise RowError("placeholder.no_image", "messages", f"the prompt shows picture {slot}, which is not there.")
    new = tuple(known[slot] for slot in wording.slots)
    start = sum(part.type == "image" for turn in record.messages[:place] for part in turn.content)
    slots = set(wording.slots)
    hidden = {image.slot: image for image in (*record.attachments, *old) if image.slot not in slots}
    return replace(
        record,
        messages=(*record.messages[:place], Turn("user", wording.parts), *record.messages[place + 1 :]),
        images=(*record.images[:start], *new, *record.images[start + len(old) :]),
        attachments=tuple(hidden.values()),
    )


def suffixed(record: Record, suffix: str) -> Record:
    """Add a text to the end of the last user turn.

    Raises:
        RowError: `messages.no_user`.

    Example:
        >>> from mmconvert.record import Source, prompt_text
        >>> record = Record("1", "1", (Turn("user", (Part("text", "What?"),)),), "vqa", Source("f", "f", 0))
        >>> prompt_text(suffixed(record, " One word."))
        'What? One word.'
    """
    place, _ = last_user_turn(record)
    content = record.messages[place].content
    if content and content[-1].type == "text":
        content = (*content[:-1], Part("text", content[-1].text + suffix))
    else:
        content = (*content, Part("text", suffix))
    turns = (*record.messages[:place], Turn("user", content), *record.messages[place + 1 :])
    return replace(record, messages=turns)
