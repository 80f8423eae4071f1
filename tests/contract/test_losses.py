"""What every writer owes: a column that does not come back is named, row by row."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmconvert.convert import read, write
from mmconvert.errors import Error, UsageError
from mmconvert.format import Format, Target
from mmconvert.images import Pictures
from mmconvert.plugins import available, load
from mmconvert.record import Image, Part, Record, Source, Turn, canonical_json
from support.records import picture_bytes

SHOWN = Pictures(()).of_bytes(picture_bytes("PNG"), 1)
HIDDEN = Pictures(()).of_bytes(picture_bytes("PNG", 5), 2)
USER = Turn("user", (Part("image"), Part("text", "What is it?")))
ANSWERED = Record(
    "q1", "q1", (USER,), "vqa", Source("x", "x.jsonl", 3),
    images=(SHOWN,), question="What is it?", answer="cat", answers=("cat",), label='"cat"', prediction="a cat",
)  # fmt: skip
CHOICE = replace(
    ANSWERED, task="multiple_choice", options=("dog", "cat", "cow"), answer="B", answers=("B",), label='"B"',
    prediction="B",
)  # fmt: skip
VALUES = {
    "group": "a group",
    "variant": 5,
    "round": 5,
    "dataset": "A Dataset",
    "subset": "a subset",
    "split": "a split",
    "category": "a category",
    "l2_category": "an l2 category",
    "hint": "a hint",
    "instruction": "an instruction",
    "prediction": "a prediction",
    "id": "q1#1",
    "extra": {"note": "a note"},
    "attachments": (HIDDEN,),
    "messages": (Turn("user", (Part("text", "Before?"),)), Turn("assistant", (Part("text", "Yes."),)), USER),
}
NAMED = {"extra": {"note"}, "attachments": {"attachments", "images"}}
"""Columns whose loss may be told under another word."""

WRITERS = [name for name in available("mmconvert.formats") if load("mmconvert.formats", name).write is not None]


def written(record: Record, path: Path, name: str) -> tuple[set[str], Record | None]:
    """Write a record and read it back.

    Returns:
        The fields that were named as lost, and the record, None where it was left out.
    """
    losses = write([record], Target(path, "inline", path.parent), name)
    try:
        back = list(read(path, name, image_roots=(path.parent,)))
    except Error:
        back = []
    return {loss.field for loss in losses}, back[0] if back else None


def targets(name: str, folder: Path) -> Iterator[Path]:
    plugin: Format = load("mmconvert.formats", name)
    for suffix in filter(None, plugin.suffixes):
        path = folder / f"out{suffix}"
        with contextlib.suppress(UsageError):  # a suffix that is only read
            write([CHOICE], Target(path, "inline", folder), name)
            path.unlink()
            yield path


def holds(record: Record, column: str, value: Any) -> bool:
    """Tell whether a value came back, in its column or in a field that stands in `extra`."""
    if column == "attachments":
        return any(image.bytes == HIDDEN.bytes for image in record.attachments)
    if column == "messages":
        return len(record.messages) >= len(value)
    if column == "extra":
        return value.items() <= record.extra.items()
    if column == "id":
        return value in (record.id, record.sample)
    return getattr(record, column) == value or str(value) in canonical_json(record.extra)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("base", [ANSWERED, CHOICE], ids=["answer", "choice"])
def test_a_column_that_does_not_come_back_is_named(name: str, base: Record, tmp_path: Path) -> None:
    silent = []
    for path in targets(name, tmp_path):
        for column, value in VALUES.items():
            lost, back = written(replace(base, **{column: value}), path, name)
            if back is None:
                silent += [] if lost else [(path.suffix, column, "the row is gone")]
            elif not lost & NAMED.get(column, {column}) and not holds(back, column, value):
                silent.append((path.suffix, column, getattr(back, column)))
    assert not silent


@pytest.mark.parametrize("name", WRITERS)
def test_pictures_that_the_prompt_shows_are_shown_again_or_named(name: str, tmp_path: Path) -> None:
    for path in targets(name, tmp_path):
        lost, back = written(CHOICE, path, name)
        shown = [] if back is None else [image.bytes for image in back.images]
        assert shown == [SHOWN.bytes] or lost & {"images", "messages", "options"}


@pytest.mark.parametrize("name", WRITERS)
def test_a_picture_without_bytes_is_kept_as_an_address_named_or_refused(name: str, tmp_path: Path) -> None:
    address = "https://pictures.example/x.png"
    record = replace(CHOICE, images=(Image(None, 1, url=address),))
    for path in targets(name, tmp_path):
        try:
            told = str(write([record], Target(path, "inline", tmp_path), name)).encode() + path.read_bytes()
        except Error as error:
            told = str(error).encode()
        assert address.encode() in told or b"'images'" in told
