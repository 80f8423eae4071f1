"""What every record must be, whatever made it.

Checked once, where readers hand records over: they look at the fields that they know, but a file may hold anything
in any field. A value that Arrow cannot take refuses its row here, by name, instead of ending the whole run later.
"""

import math
import sys
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from msgspec.structs import replace

from mmconvert.core.errors import RowError, show
from mmconvert.core.json_values import convert_to_json
from mmconvert.core.record import SCORES, TEXTS, Image, Preference, Record, Turn, count_images, encode_json, list_turns

MOST_TEXT_BYTES = 32 << 20
"""Bytes of the texts of one record in memory; what is written of a record is made of several copies of them."""

_NEEDED = ("id", "sample", "task")
_NEEDED_VALUES, _TEXT_VALUES = attrgetter(*_NEEDED), attrgetter(*TEXTS)
_IMAGE_TEXTS = attrgetter("name", "detail", "url", "source_name")
_INT32 = range(-(1 << 31), 1 << 31)
_INT64 = range(-(1 << 63), 1 << 63)


def check_record(record: Record) -> Record:
    """Give a record back if it can be stored, values of `extra` that JSON does not know as texts.

    Raises:
        RowError: `id.missing`: the id is blank; `<field>.type`: a value of another type than the column's, a number
            out of range, half a character; `messages.part`: a part that is neither text nor image;
            `messages.images`: not one image for each image part; `preference.type`, `preference.missing`,
            `preference.images`: see `_check_preference`; `text.too_large`: all texts are over the limit.
    """
    if record.preference is not None:
        _check_preference(record, record.preference)
    texts = [value for value in _TEXT_VALUES(record) if value is not None]
    texts += _NEEDED_VALUES(record)
    if record.options:
        texts += [value for value in record.options if value is not None]
    texts += record.answers
    kinds = []
    for turn in list_turns(record):
        texts.append(turn.role)
        for part in turn.content:
            kinds.append(part.type)
            texts.append(part.text)
    images = kinds.count("image")
    size = _measure_texts(texts)
    if images + kinds.count("text") != len(kinds) or size is None:
        _check_texts(record)
    elif size > MOST_TEXT_BYTES:
        raise _build_long_error("", size)
    if not record.id.strip():
        raise RowError("id.missing", "id", f"the row has no id {show(record.id)}.")
    if record.variant is not None:
        _check_number("variant", record.variant)
    if record.round is not None:
        _check_number("round", record.round)
    _check_source(record)
    if (record.messages or record.preference) and images != len(record.images):
        shown = "the prompt shows" if record.preference is None else "prompt, chosen and rejected turns show"
        message = f"{shown} {images} images, the row has {len(record.images)}."
        raise RowError("messages.images", "messages", message)
    for image in record.images:
        _check_image(image)
    for image in record.attachments:
        _check_image(image)
    return _write_extra_as_json(record) if record.extra else record


def _measure_texts(values: list[Any]) -> int | None:
    """Measure what texts take in memory; None where not all are texts, without saying which is not.

    The fast way, for nearly every record.
    """
    try:
        joined = "".join(values)
        if not joined.isascii():
            joined.encode()
    except (TypeError, UnicodeEncodeError):
        return None
    return sys.getsizeof(joined)


def _build_long_error(field: str, size: int) -> RowError:
    limit = f"over the limit of {MOST_TEXT_BYTES >> 20} MiB"
    return RowError(
        "text.too_large", field, f"the row's texts take {size:,} bytes, {limit}. Cut them, or leave it out."
    )


def _check_texts(record: Record) -> None:
    for name, value in zip(_NEEDED, _NEEDED_VALUES(record), strict=True):
        _check_text(name, value)
    for name, value in zip(TEXTS, _TEXT_VALUES(record), strict=True):
        if value is not None:
            _check_text(name, value)
    for value in record.options:
        if value is not None:
            _check_text("options", value)
    for value in record.answers:
        _check_text("answers", value)
    _check_turns("messages", record.messages)
    if record.preference is not None:
        _check_turns("chosen", record.preference.chosen)
        _check_turns("rejected", record.preference.rejected)


def _check_turns(field: str, turns: Sequence[Turn]) -> None:
    for turn in turns:
        _check_text(field, turn.role)
        for part in turn.content:
            _check_text(field, part.type)
            _check_text(field, part.text)
            if part.type not in ("text", "image"):
                raise RowError("messages.part", field, f"expected parts of type text or image {show(part.type)}.")


def _check_preference(record: Record, pair: Preference) -> None:
    """Check what a pair must be.

    Raises:
        RowError: `preference.type`: a value of another type, or a number that is not finite; `preference.missing`: a
            side without turns; `preference.images`: not one attached image for each that the prompt shows.
    """
    if not isinstance(pair, Preference):
        raise RowError("preference.type", "preference", f"expected two sides {show(pair)}.")
    for side in ("chosen", "rejected"):
        if not getattr(pair, side):
            raise RowError(
                "preference.missing", side, "this side has no turn. Give both responses, or leave the row out."
            )
    for name in SCORES:
        value = getattr(pair, name)
        if value is not None and (type(value) not in (int, float) or not math.isfinite(value)):
            raise RowError("preference.type", name, f"expected a finite number {show(value)}.")
    if not pair.rejected_images:
        return
    shown = count_images(record.messages)
    if len(pair.rejected_images) != shown:
        message = f"the prompt shows {shown} images, the rejected side has {len(pair.rejected_images)} in their place."
        raise RowError("preference.images", "rejected_images", message)
    for place in pair.rejected_images:
        if type(place) is not int or place not in range(len(record.attachments)):
            message = f"expected a position among {len(record.attachments)} attachments {show(place)}."
            raise RowError("preference.images", "rejected_images", message)


def _check_text(field: str, value: Any) -> None:
    if not isinstance(value, str):
        raise RowError(f"{field}.type", field, f"expected a text {show(value)}.")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise RowError(
                "text.surrogate", field, f"the text has half a character (an unpaired surrogate) {show(value)}."
            ) from None


def _check_number(field: str, value: Any) -> None:
    # Anything but an int would be compared with every number of the range.
    if type(value) is not int or value not in _INT32:
        raise RowError(f"{field}.type", field, f"expected a whole number of 32 bits {show(value)}.")


def _check_source(record: Record) -> None:
    source = record.source
    if type(source.format) is not str or type(source.file) is not str:
        raise RowError("source.type", "source", f"expected format and file as texts {show(source)}.")
    if type(source.row) is not int or source.row not in _INT64:
        raise RowError("source.type", "source", f"expected a whole number as row {show(source.row)}.")
    if source.numbered is not None and type(source.numbered) is not bool:
        raise RowError("source.type", "source", f"expected true or false as numbered {show(source.numbered)}.")


def _check_image(image: Image) -> None:
    _check_number("image", image.slot)
    for value in _IMAGE_TEXTS(image):
        if value is not None:
            _check_text("image", value)
    time = image.time
    if time is not None and (type(time) not in (int, float) or not math.isfinite(time) or time < 0):
        raise RowError("image.type", "image", f"expected a time in seconds from 0 {show(time)}.")


def _write_extra_as_json(record: Record) -> Record:
    """Give a record whose `extra` JSON can say: what JSON does not know becomes text; most records are as they were."""
    if (text := _encode_extra(record.extra)) is not None:
        _check_extra_size(record.extra, text)
        return record
    extra = {}
    for name, value in record.extra.items():
        try:
            extra[str(name)] = convert_to_json(value)
            encode_json(extra[str(name)]).encode()
        except (TypeError, ValueError, RecursionError):
            message = f"the value cannot be written as JSON {show(value)}."
            raise RowError("extra.type", str(name), message) from None
    _check_extra_size(extra, encode_json(extra))
    return replace(record, extra=extra)


def _check_extra_size(extra: Mapping[str, Any], text: str) -> None:
    if len(text) > MOST_TEXT_BYTES:
        longest = max(extra, key=lambda name: len(encode_json(extra[name])))
        raise _build_long_error(str(longest), len(text))


def _encode_extra(value: Any) -> str | None:
    """Write a value as JSON; None where JSON cannot say it."""
    try:
        text = encode_json(value)
        text.encode()
    except (TypeError, ValueError, RecursionError):
        return None
    return text
