"""What a format that is written owes: the way back, and a name for everything that stays behind."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mmconvert.core.errors import UsageError
from mmconvert.core.record import Image, Record, encode_json, to_arrow
from mmconvert.pipeline.convert import read, write
from mmconvert.plugins.format import Format, Target
from mmconvert.testing.subject import Subject
from mmconvert.testing.values import (
    ANSWERED,
    CHOICE,
    HIDDEN,
    NAMED,
    PAIRED,
    SHOWN,
    VALUES,
    list_targets,
    write_and_read_back,
)

LEFT_OUT = {"answer", "category", "options", "messages", "prediction", "preference"}
"""What is named where a whole row is left out, or where it will be refused when it is read."""

ADDRESS = "https://images.example/x.png"


def _check_comes_back(it: Subject) -> Iterator[str]:
    if it.plugin.write is None:
        return
    for path in it.examples:
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder, path.name)
            losses = write(read(path, it.name), _build_target(it.plugin, target), it.name)
            before, after = _read_rows(path, it.name), _read_rows(target, it.name)
        lost = {loss.field for loss in losses}
        lost |= {"answers", "label"} if "answer" in lost else set()
        if len(after) != len(before):
            yield f"{path.name}: {len(before)} records are written, {len(after)} read again, no loss of a row is named."
        for old, new in zip(before, after, strict=False):
            kept = [name for name in old if name not in lost]
            changed = [name for name in kept if _drop_lost(old[name], lost) != _drop_lost(new[name], lost)]
            if changed:
                was, now = old[changed[0]], new[changed[0]]
                yield (
                    f"{path.name}, record {old['id']}: {changed[0]} was {_shorten(was)} "
                    f"and comes back as {_shorten(now)}. "
                    f"Write it, or yield Loss(record.id, {changed[0]!r}, why)."
                )
                break


def _build_target(plugin: Format, path: Path) -> Target:
    """Ask for the source's own names of images where the format can store them so."""
    ways = plugin.images.get(path.suffix, ()) if isinstance(plugin.images, Mapping) else plugin.images
    return Target(path, "original", path.parent) if "original" in ways else Target(path)


def _read_rows(path: Path, name: str) -> list[dict[str, Any]]:
    records = [replace(record, source=ANSWERED.source) for record in read(path, name)]
    rows: list[dict[str, Any]] = to_arrow(records).to_pylist() if records else []
    return [{**row, "extra": record.extra} for row, record in zip(rows, records, strict=True)]


def _drop_lost(value: Any, lost: set[str]) -> Any:
    return {name: item for name, item in value.items() if name not in lost} if isinstance(value, dict) else value


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _check_columns_come_back(it: Subject) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        for path in list_targets(it.name, Path(folder)):
            for base in (ANSWERED, CHOICE, *([PAIRED] if it.plugin.pairs else [])):
                for column, value in VALUES.items():
                    names = NAMED.get(column, {column})
                    lost, back = write_and_read_back(replace(base, **{column: value}), path, it.name)
                    if back is None and not lost & LEFT_OUT:
                        what = f"{path.suffix} with {column} {_shorten(value)}"
                        yield f"{what}: the row does not come back. Name its loss."
                    elif back is not None and not (lost & names or holds_value(back, column, value)):
                        yield (
                            f"{path.suffix}: {column} {_shorten(value)} comes back as "
                            f"{_shorten(getattr(back, column))}. "
                            f"Write it, or yield Loss(record.id, {column!r}, why); see mmconvert.chat.losses.unheld."
                        )


def holds_value(record: Record, column: str, value: Any) -> bool:
    """Tell whether a value came back, in its column or in a field that stands in `extra`."""
    if column == "attachments":
        return any(image.bytes == HIDDEN.bytes for image in record.attachments)
    if column == "messages":
        return len(record.messages) >= len(value)
    if column == "extra":
        return bool(value.items() <= record.extra.items())
    if column == "id":
        return value in (record.id, record.sample)
    return getattr(record, column) == value or str(value) in encode_json(record.extra)


def _check_images_come_back(it: Subject) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        for path in list_targets(it.name, Path(folder)):
            lost, back = write_and_read_back(CHOICE, path, it.name)
            shown = [image.bytes for image in back.images] if back is not None else []
            # A row that does not come back at all is told by the columns.
            if back is not None and shown != [SHOWN.bytes] and not lost & {"images", "messages"}:
                yield f"{path.suffix}: an image that the prompt shows is gone. Yield Loss(record.id, 'images', why)."


def _check_addresses_are_named(it: Subject) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        for path in list_targets(it.name, Path(folder)):
            # A format of pairs may write nothing else.
            asked = PAIRED if it.plugin.pairs else replace(CHOICE, prediction=None)
            kept = replace(asked, id="q0", images=(Image(None, 1, url=ADDRESS),))
            losses = write([kept, asked], Target(path), it.name)
            named = any(loss.id == "q0" and loss.field == "images" for loss in losses)
            if not named and ADDRESS.encode() not in path.read_bytes():
                yield f"{path.suffix}: an image that is only a URL is gone. Leave the row out and name it."
            back = read(path, it.name, image_roots=(path.parent,), keep_urls=True)
            if it.plugin.images and SHOWN.bytes not in {image.bytes for record in back for image in record.images}:
                yield f"{path.suffix}: beside a row whose image is a URL, another row is not written."


def _check_files_are_named(it: Subject) -> Iterator[str]:
    if it.plugin.write is None or it.plugin.file_name is None:
        return
    record = replace(CHOICE, dataset="A", subset="b", category="c", extra={"model": "m"})
    try:
        name = it.plugin.file_name(record)
    except UsageError:
        return
    if Path(name).suffix.lower() not in it.plugin.suffixes:
        yield f"file_name gives {name!r}, which ends in none of {', '.join(it.plugin.suffixes)}."


CHECKS: dict[str, Callable[[Subject], Iterator[str]]] = {
    "what is written reads back equal, or its loss is named": _check_comes_back,
    "a column that does not come back is named": _check_columns_come_back,
    "an image that the prompt shows comes back, or its loss is named": _check_images_come_back,
    "an image without bytes is named, and the other rows are written": _check_addresses_are_named,
    "a file is named with an ending of the format": _check_files_are_named,
}
"""Promise -> check; all pass for a format that is only read."""
