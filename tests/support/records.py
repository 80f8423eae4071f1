"""Records for property tests: any text, pictures of every format, gaps and nulls."""

import io
from collections.abc import Sequence
from functools import cache
from typing import Any, get_args

from hypothesis import strategies as st
from PIL import Image as Picture

from mmconvert.core.record import Image, Part, Record, Source, Task, Turn, encode_json
from mmconvert.images.loader import Pictures

TEXT = st.text(st.characters(codec="utf-8"), max_size=40)
NAME = st.one_of(st.none(), TEXT)


@cache
def picture_bytes(kind: str, colour: int = 0, size: tuple[int, int] = (3, 2)) -> bytes:
    """A small picture of a format Pillow can write."""
    out = io.BytesIO()
    Picture.new("RGB", size, (colour % 256, 80, 160)).save(out, kind)
    return out.getvalue()


KINDS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")


@cache
def checked(kind: str, colour: int, slot: int) -> Image:
    return Pictures(()).of_bytes(picture_bytes(kind, colour), slot)


@st.composite
def records(draw: st.DrawFn) -> Record:
    """Any record that the schema allows."""
    images: list[Image] = []

    def turn(role: str) -> Turn:
        parts = []
        for text in draw(st.lists(st.one_of(st.none(), TEXT), min_size=1, max_size=3)):
            if text is None:
                images.append(checked(draw(st.sampled_from(KINDS)), draw(st.integers(0, 3)), len(images) + 1))
            parts.append(Part("image") if text is None else Part("text", text))
        return Turn(role, tuple(parts))

    messages = tuple(
        turn(role) for role in draw(st.sampled_from([("user",), ("system", "user"), ("user", "assistant")]))
    )
    options: Sequence[str | None] = draw(st.lists(NAME, max_size=5))
    while options and options[-1] is None:
        options = options[:-1]
    json_value = st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXT),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
        max_leaves=5,
    )
    extra: dict[str, Any] = draw(st.dictionaries(TEXT, json_value, max_size=3))
    label = draw(st.one_of(st.none(), TEXT, st.integers(), st.lists(TEXT, max_size=3)))
    return Record(
        id=draw(TEXT.filter(str.strip)),
        sample=draw(TEXT),
        messages=messages,
        task=draw(st.sampled_from(get_args(Task))),
        source=Source("test", draw(TEXT), draw(st.integers(0, 2**40))),
        images=tuple(images),
        question=draw(NAME),
        options=tuple(options),
        answer=draw(NAME),
        answers=tuple(draw(st.lists(TEXT, max_size=3))),
        label=None if label is None else encode_json(label),
        hint=draw(NAME),
        category=draw(NAME),
        split=draw(NAME),
        variant=draw(st.one_of(st.none(), st.integers(0, 9))),
        attachments=tuple(draw(st.lists(st.sampled_from([checked("PNG", 1, 9), checked("GIF", 2, 8)]), max_size=2))),
        extra=extra,
        prediction=draw(NAME),
    )
