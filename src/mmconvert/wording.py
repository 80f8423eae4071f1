"""The last user turn as a kit words it, before the pictures are put in."""

from dataclasses import dataclass

from mmconvert.record import Part


@dataclass(frozen=True, slots=True)
class Wording:
    """Parts of a turn, and which pictures its image parts show.

    Attributes:
        parts: Text and image parts in reading order.
        slots: The k of `image_k` that each image part shows, in the same order.
    """

    parts: tuple[Part, ...]
    slots: tuple[int, ...] = ()


def pictures_first(text: str, slots: tuple[int, ...]) -> Wording:
    """Put all pictures before one text.

    Example:
        >>> [part.type for part in pictures_first("Which?", (1, 2)).parts]
        ['image', 'image', 'text']
    """
    return Wording((*(Part("image"),) * len(slots), Part("text", text)), slots)
