"""Training dialogs for property tests; what a format cannot hold is an argument of the strategy."""

import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from mmconvert.chat.conversations import format_last_question
from mmconvert.core.record import Image, Part, Record, Source, Turn
from mmconvert.pipeline.convert import read, write
from mmconvert.plugins.format import Loss, Target
from support.records import KINDS, TEXT, checked

TRICKY = (
    "<image>", r"<\image>", r"<\\image>", "\n", "a\n", "\nb", "<img>x</img>", r"<\img>", "Picture 1: ", "<video>",
    "<image 1>", "\\", "<", "image>",
)  # fmt: skip
WORDS = st.one_of(TEXT.filter(bool), st.lists(st.sampled_from(TRICKY), min_size=1, max_size=4).map("".join))
FIELDS = st.dictionaries(
    TEXT.map("x_{}".format), st.one_of(st.integers(), TEXT, st.lists(TEXT, max_size=2)), max_size=2
)


@st.composite
def dialogs(
    draw: st.DrawFn,
    *,
    shown_by: Collection[str] = ("system", "user", "assistant"),
    most: int = 9,
    front_only: bool = False,
    system: bool = True,
    alternate: bool = True,
    kinds: Sequence[str] = KINDS,
    fields: bool = True,
    message_fields: bool = True,
    named: bool = True,
) -> Record:
    """Training records that a format can hold.

    Args:
        draw: Given by hypothesis.
        shown_by: Roles whose turns show images.
        most: Most images.
        front_only: All images stand in front of the first user turn.
        system: A system turn may come first.
        alternate: The user begins, and user and assistant take turns.
        kinds: Image formats.
        fields: There may be fields that no column holds.
        message_fields: Messages may have further fields.
        named: There may be an id of the source.
    """
    roles = ["user", "assistant"] * draw(st.integers(1, 2))
    if not alternate:
        roles = [*draw(st.lists(st.sampled_from(["user", "assistant"]), max_size=2)), *roles]
    if system and draw(st.booleans()):
        roles = ["system", *roles]
    images: list[Image] = []
    turns: list[Turn] = []
    for role in roles:
        first = role == "user" and not any(turn.role == "user" for turn in turns)
        turns.append(_turn(draw, role, images, most if role in shown_by else 0, front_only, first, kinds))
    extra: dict[str, Any] = draw(FIELDS) if fields else {}
    if message_fields and any(extras := [draw(FIELDS) for _ in turns]):
        extra["messages_extra"] = extras
    names = TEXT.map(str.strip).filter(lambda name: name and not name.isdigit()) if named else st.nothing()
    return Record(
        id="000000000",
        sample=draw(st.one_of(st.just("000000000"), names)),
        messages=tuple(turns),
        task="chat",
        source=Source("test", "test", 0),
        images=tuple(images),
        question=format_last_question(turns, images),
        extra=extra,
    )


def _turn(
    draw: st.DrawFn, role: str, images: list[Image], most: int, front_only: bool, first: bool, kinds: Sequence[str]
) -> Turn:
    """A turn in which no two texts stand side by side, as a single text could not tell."""
    shown = draw(st.lists(st.sampled_from(kinds), max_size=min(3, most - len(images)))) if most else []
    if front_only and not first:
        shown = []
    parts: list[Part] = []
    for kind in shown:
        if not front_only and draw(st.booleans()):
            parts.append(Part("text", draw(WORDS)))
        parts.append(Part("image"))
        images.append(checked(kind, draw(st.integers(0, 2)), len(images) + 1))
    if not parts or draw(st.booleans()):
        parts.append(Part("text", draw(WORDS) if parts else draw(st.one_of(st.just(""), WORDS))))
    return Turn(role, tuple(parts))


def there_and_back(record: Record, format: str, file: str, **target: Any) -> tuple[Record, list[Loss]]:
    """Write one record and read it again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / file
        losses = write([record], Target(path, **target), format)
        records = read(path, format)
        (back,) = list(records)
        assert records.rejects == []
        return back, losses


def content(record: Record) -> dict[str, Any]:
    """What a training format is there to hold."""
    return {
        "sample": record.sample,
        "messages": record.messages,
        "pictures": [image.bytes for image in record.images],
        "question": record.question,
        "extra": record.extra,
    }
