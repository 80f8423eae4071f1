"""What every writer owes: a column that does not come back is named, row by row."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmconvert.convert import read, write
from mmconvert.format import Target
from mmconvert.plugins import available, load
from mmconvert.record import Image, Record, canonical_json
from support.lossy_records import ANSWERED, CHOICE, HIDDEN, NAMED, SHOWN, VALUES, targets, written

LEFT_OUT = {"answer", "category", "options", "messages", "prediction"}
"""What is named where a whole row is left out, or where it will be refused when it is read."""
WRITERS = [name for name in available("mmconvert.formats") if load("mmconvert.formats", name).write is not None]


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
                silent += [] if lost & LEFT_OUT else [(path.suffix, column, "the row is gone")]
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
def test_a_picture_without_bytes_is_kept_as_an_address_or_named_and_the_others_are_written(
    name: str, tmp_path: Path
) -> None:
    address = "https://pictures.example/x.png"
    for path in targets(name, tmp_path):
        shown = replace(CHOICE, prediction=None)
        losses = write([replace(shown, id="q0", images=(Image(None, 1, url=address),)), shown], Target(path), name)
        assert address.encode() in path.read_bytes() or "images" in {loss.field for loss in losses if loss.id == "q0"}
        if load("mmconvert.formats", name).images:
            back = read(path, name, image_roots=(path.parent,), keep_urls=True)
            assert SHOWN.bytes in {image.bytes for record in back for image in record.images}
