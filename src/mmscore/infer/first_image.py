"""Prompts for models that take one image and then a text."""

from msgspec.structs import replace

from mmconvert.core.record import Part, Record, Turn


def keep_first_image(record: Record) -> Record:
    r"""Keep the first image only, at the beginning of its turn, and join the texts of each turn by line breaks.

    Parity: open-compass/VLMEvalKit@e8e78f0 vlmeval/vlm/base.py:BaseModel.message_to_promptimg; the row of
    images that it makes for BLINK alone is not made.

    Example:
        >>> from mmconvert.core.record import Image, Source
        >>> parts = Part("text", "Is"), Part("image"), Part("text", "as"), Part("image"), Part("text", "?")
        >>> images = Image(b"1", 1), Image(b"2", 2)
        >>> two = Record("1", "1", (Turn("user", parts),), "vqa", Source("f", "f", 0), images=images)
        >>> [part.text or part.type for part in keep_first_image(two).messages[0].content]
        ['image', 'Is\nas\n?']
    """
    turns, shown = [], False
    for turn in record.messages:
        here = not shown and any(part.type == "image" for part in turn.content)
        shown = shown or here
        texts = [part.text for part in turn.content if part.type != "image"]
        joined = (Part("text", "\n".join(texts)),) if texts else ()
        turns.append(Turn(turn.role, ((Part("image"),) if here else ()) + joined))
    return replace(record, messages=tuple(turns), images=record.images[:1])
