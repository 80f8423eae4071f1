"""What a page shows of one item; plain values, nothing of HTML."""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

Plain = str | int | float | bool | None
Tone = Literal["", "good", "bad", "warn", "code", "tokens"]
"""How a text stands: right or agreed, wrong or refused, worth a look, as code or as tokens; "" for plain."""


class TextSpan(msgspec.Struct, frozen=True):
    """A marked piece of a text.

    Attributes:
        start: First character, from 0.
        end: Character after the last one.
        label: What the mark says, shown beside it on hover and read aloud.
        image: Position in the item's `images` of the one it stands for, None where it stands for none.
    """

    start: int
    end: int
    label: str = ""
    image: int | None = None


class Text(msgspec.Struct, frozen=True):
    """A text with more than its characters.

    Attributes:
        text: Any text; what cannot be seen is shown as a mark.
        spans: Marked pieces in order, without overlap.
        name: What goes before it, such as the letter of an option.
        tone: How it stands.
    """

    text: str
    spans: tuple[TextSpan, ...] = ()
    name: str = ""
    tone: Tone = ""


Shown = str | Text
"""A text of an item."""


class Message(msgspec.Struct, frozen=True):
    """One turn: its role, and in reading order texts and positions in the item's `images`."""

    role: str
    parts: tuple[Shown | int, ...]


class PageImage(msgspec.Struct, frozen=True):
    """An image of an item; see `Thumbnails.describe_image`.

    Attributes:
        src: Data URL of the thumbnail, None where there is none.
        facts: Format, size in pixels and in bytes of the original, in words.
        name: Path or address that the source gave it, "" for none.
        note: Why there is no thumbnail, "" where there is one.
        slot: The k of `<image k>` it stands for, None outside a prompt.
    """

    src: str | None
    facts: str
    name: str = ""
    note: str = ""
    slot: int | None = None


class PageItem(msgspec.Struct, frozen=True):
    """One line of the table, and what it opens to.

    Attributes:
        id: Unique on the page.
        cells: Column name -> value for the table.
        marks: Names of the page's marks that it falls under.
        search: Text that the search looks through; "" for all texts of the item.
        messages: The turns as a model sees them.
        images: Images that messages, spans and fields name by position.
        fields: Label -> texts below the messages: options, answer, prediction, problems.
        facts: Label -> short value, set small at the end: source, task, fingerprints.
        others: Positions in `images` of those that no message shows, to be shown after the messages.
    """

    id: str
    cells: Mapping[str, Plain]
    marks: Sequence[str] = ()
    search: str = ""
    messages: Sequence[Message] = ()
    images: Sequence[PageImage] = ()
    fields: Mapping[str, Shown | Sequence[Shown]] = msgspec.field(default_factory=dict)
    facts: Mapping[str, str] = msgspec.field(default_factory=dict)
    others: Sequence[int] = ()


class Column(msgspec.Struct, frozen=True):
    """A column of the table.

    Attributes:
        name: Key of `PageItem.cells`.
        label: Its heading; the name by default.
        kind: text; number (to the right, sorted by value); long (a text that may take the room); hidden (only
            for filters).
        tones: Value -> tone, for columns of few words.
    """

    name: str
    label: str = ""
    kind: Literal["text", "number", "long", "hidden"] = "text"
    tones: Mapping[str, Tone] = msgspec.field(default_factory=dict)


class Mark(msgspec.Struct, frozen=True):
    """A filter that is on or off: the items that carry the mark.

    Attributes:
        name: As `PageItem.marks` names it.
        label: What its button says; the name by default.
        hint: One sentence more, shown on hover.
        tone: How such items stand.
    """

    name: str
    label: str = ""
    hint: str = ""
    tone: Tone = ""


class Choice(msgspec.Struct, frozen=True):
    """A filter by the value of a column, one of those that stand there.

    Attributes:
        name: The column's.
        label: What stands before its values; the name by default.
        quiet: Shown only while it filters, because a caller's script set it.
    """

    name: str
    label: str = ""
    quiet: bool = False


Filter = Mark | Choice
