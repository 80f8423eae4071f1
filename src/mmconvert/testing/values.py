"""Records that have something in every column, to see which of it a format brings back."""

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import PIL.Image
from msgspec.structs import replace

from mmconvert.core.errors import Error, UsageError
from mmconvert.core.record import Part, Preference, Record, Source, Turn
from mmconvert.images.loader import ImageLoader
from mmconvert.pipeline.convert import read, write
from mmconvert.plugins.format import Format, Target
from mmconvert.plugins.registry import load


def make_png(shade: int) -> bytes:
    """Make a small PNG of one colour."""
    out = io.BytesIO()
    PIL.Image.new("RGB", (3, 2), (shade, 80, 160)).save(out, "PNG")
    return out.getvalue()


SHOWN = ImageLoader(()).of_bytes(make_png(0), 1)
HIDDEN = ImageLoader(()).of_bytes(make_png(5), 2)
USER = Turn("user", (Part("image"), Part("text", "What is it?")))
ANSWERED = Record(
    "q1", "q1", (USER,), "vqa", Source("x", "x.jsonl", 3),
    images=(SHOWN,), question="What is it?", answer="cat", answers=("cat",), label='"cat"', prediction="a cat",
)  # fmt: skip
CHOICE = replace(
    ANSWERED, task="multiple_choice", options=("dog", "cat", "cow"), answer="B", answers=("B",), label='"B"',
    prediction="B",
)  # fmt: skip
_CHOSEN, _REJECTED = (Turn("assistant", (Part("text", text),)) for text in ("A cat.", "A dog."))
PAIRED = replace(
    ANSWERED,
    task="chat",
    answer=None,
    answers=(),
    label=None,
    prediction=None,
    preference=Preference((_CHOSEN,), (_REJECTED,)),
)
"""A preference pair, for the formats that write them."""

VALUES: dict[str, Any] = {
    "id": "q1#1",
    "messages": (Turn("user", (Part("text", "Before?"),)), Turn("assistant", (Part("text", "Yes."),)), USER),
    "hint": "a hint",
    "instruction": "an instruction",
    "category": "a category",
    "l2_category": "an l2 category",
    "split": "a split",
    "dataset": "A Dataset",
    "subset": "a subset",
    "group": "a group",
    "variant": 5,
    "round": 5,
    "attachments": (HIDDEN,),
    "prediction": "a prediction",
    "extra": {"note": "a note"},
}
"""Column -> a value that is put into it, one column at a time."""

NAMED = {"extra": {"note"}, "attachments": {"attachments", "images"}}
"""Columns whose loss may be told under another word."""


def write_and_read_back(record: Record, path: Path, name: str) -> tuple[set[str], Record | None]:
    """Write a record and read it back.

    Returns:
        The fields that were named as lost, and the record, None where it was left out.
    """
    losses = write([record], Target(path), name)
    try:
        back = list(read(path, name, image_roots=(path.parent,)))
    except Error:
        back = []
    return {loss.field for loss in losses}, back[0] if back else None


def list_targets(name: str, folder: Path) -> Iterator[Path]:
    """Name a file for each suffix that a format is written to."""
    plugin: Format = load("mmconvert.formats", name)
    if plugin.write is None:
        return
    for suffix in filter(None, plugin.suffixes):
        path = folder / f"out{suffix}"
        with contextlib.suppress(UsageError):  # a suffix that is only read
            write([CHOICE], Target(path), name)
            path.unlink()
            yield path
