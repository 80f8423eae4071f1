"""Records for property tests: any text, images of every format, gaps and nulls."""

import io
from collections.abc import Sequence
from functools import cache
from typing import Any, get_args

from hypothesis import strategies as st
from msgspec.structs import replace
from PIL import Image as PILImage

from mmconvert.core.record import Image, Part, Preference, Record, Source, Task, Turn, encode_json
from mmconvert.images.loader import ImageLoader

TEXT = st.text(st.characters(codec="utf-8"), max_size=40)
NAME = st.one_of(st.none(), TEXT)
PARTS = st.lists(NAME, min_size=1, max_size=3)
ROLES = st.sampled_from([("user",), ("system", "user"), ("user", "assistant")])
OPTIONS = st.lists(NAME, max_size=5)
TEXTS = st.lists(TEXT, max_size=3)
LABEL = st.one_of(st.none(), TEXT, st.integers(), TEXTS)
VALUE = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=5,
)
EXTRA = st.dictionaries(TEXT, VALUE, max_size=3)


@cache
def image_bytes(kind: str, colour: int = 0, size: tuple[int, int] = (3, 2)) -> bytes:
    """A small image of a format Pillow can write."""
    out = io.BytesIO()
    PILImage.new("RGB", size, (colour % 256, 80, 160)).save(out, kind)
    return out.getvalue()


KINDS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
KIND, COLOUR, NUMBER = st.sampled_from(KINDS), st.integers(0, 3), st.integers(0, 2**40)
ID, TASK, VARIANT = TEXT.filter(str.strip), st.sampled_from(get_args(Task)), st.one_of(st.none(), st.integers(0, 9))


@cache
def checked(kind: str, colour: int, slot: int) -> Image:
    return ImageLoader(()).of_bytes(image_bytes(kind, colour), slot)


PAIRED = st.booleans()
SCORE = st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False))
TIME = st.one_of(st.none(), st.floats(0, 1e6))
ATTACHMENTS = st.lists(st.sampled_from([checked("PNG", 1, 9), checked("GIF", 2, 8)]), max_size=2)


@st.composite
def records(draw: st.DrawFn, pairs: bool = False) -> Record:
    """Any record that the schema allows; preference pairs among them where they are asked for."""
    images: list[Image] = []

    def turn(role: str) -> Turn:
        parts = []
        for text in draw(PARTS):
            if text is None:
                image = checked(draw(KIND), draw(COLOUR), len(images) + 1)
                images.append(replace(image, time=draw(TIME), source_name=draw(NAME)))
            parts.append(Part("image") if text is None else Part("text", text))
        return Turn(role, tuple(parts))

    messages = tuple(turn(role) for role in draw(ROLES))
    shown = len(images)
    attachments = draw(ATTACHMENTS)
    pair = None
    if pairs and draw(PAIRED):
        places = st.integers(0, len(attachments) - 1)
        others = draw(st.lists(places, min_size=shown, max_size=shown)) if attachments and draw(PAIRED) else []
        sides = [tuple(turn("assistant") for _ in range(draw(st.integers(1, 2)))) for _ in range(2)]
        pair = Preference(*sides, draw(SCORE), draw(SCORE), draw(SCORE), tuple(others))
    options: Sequence[str | None] = draw(OPTIONS)
    while options and options[-1] is None:
        options = options[:-1]
    extra: dict[str, Any] = draw(EXTRA)
    label = draw(LABEL)
    return Record(
        id=draw(ID),
        sample=draw(TEXT),
        messages=messages,
        task=draw(TASK),
        source=Source("test", draw(TEXT), draw(NUMBER), draw(st.sampled_from([False, True, None]))),
        images=tuple(images),
        question=draw(NAME),
        options=tuple(options),
        answer=draw(NAME),
        answers=tuple(draw(TEXTS)),
        label=None if label is None else encode_json(label),
        hint=draw(NAME),
        category=draw(NAME),
        split=draw(NAME),
        variant=draw(VARIANT),
        attachments=tuple(attachments),
        extra=extra,
        prediction=draw(NAME),
        preference=pair,
    )
