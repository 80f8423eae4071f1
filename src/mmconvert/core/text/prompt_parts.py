"""The last user turn as a framework words it, before the images are put in."""

from mmconvert.core.plugin_struct import PluginStruct
from mmconvert.core.record import Part

REPLY = "reply_begins"
"""Field of `extra` that tells a begun response, the last turn of such a record, from an answer."""

OPTION_NAMES = "options_named"
"""Field of `extra` with the names that the last user turn gives to the options, where they are not their letters.

It is true of the stored prompt alone: files of other formats do not carry it.
"""


class Wording(PluginStruct, frozen=True):
    """Parts of a turn, and which images its image parts show.

    Attributes:
        parts: Text and image parts in reading order.
        slots: The k of `image_k` that each image part shows, in the same order.
        reply: How the response begins: an assistant's turn that the model continues with; None for none.
        names: How the text names the options that have a text, a character each; "" where it does not show them, None
            where it names them by their letters.
    """

    parts: tuple[Part, ...]
    slots: tuple[int, ...] = ()
    reply: str | None = None
    names: str | None = None


def put_images_first(text: str, slots: tuple[int, ...]) -> Wording:
    """Put all images before one text.

    Example:
        >>> [part.type for part in pictures_first("Which?", (1, 2)).parts]
        ['image', 'image', 'text']
    """
    return Wording((*(Part("image"),) * len(slots), Part("text", text)), slots)


pictures_first = put_images_first  # the name that plug-ins know from before the first release
