"""What every record must be, whatever made it; checked once, where readers hand records over.

Readers look at the fields that they know, but a file may hold anything in any field. A value that Arrow
cannot take refuses its row here, by name, instead of ending the whole run later.
"""

from operator import attrgetter
from typing import Any

from mmconvert.core.errors import RowError, got
from mmconvert.core.record import Image, Record, canonical_json

_NEEDED = ("id", "sample", "task")
_TEXTS = (
    "question", "answer", "label", "hint", "instruction", "category", "l2_category", "split", "dataset", "subset",
    "group", "prediction",
)  # fmt: skip
_NEEDED_VALUES, _TEXT_VALUES = attrgetter(*_NEEDED), attrgetter(*_TEXTS)
_INT32 = range(-(1 << 31), 1 << 31)
_INT64 = range(-(1 << 63), 1 << 63)


def checked(record: Record) -> Record:
    """Give a record back if it can be stored.

    Raises:
        RowError: `id.missing`: the id is blank; `<field>.type`: a value of another type than the column's, a number
            out of range, half a character; `messages.part`: a part that is neither text nor image;
            `messages.images`: not one picture for each image part.
    """
    texts = [value for value in (*_TEXT_VALUES(record), *record.options) if value is not None]
    texts += _NEEDED_VALUES(record)
    texts += record.answers
    kinds = []
    for turn in record.messages:
        texts.append(turn.role)
        for part in turn.content:
            kinds.append(part.type)
            texts.append(part.text)
    pictures = kinds.count("image")
    if pictures + kinds.count("text") != len(kinds) or not _all_texts(texts):
        _check_texts(record)
    if not record.id.strip():
        raise RowError("id.missing", "id", f"the row has no id {got(record.id)}.")
    if record.variant is not None:
        _check_number("variant", record.variant)
    if record.round is not None:
        _check_number("round", record.round)
    _check_source(record)
    if record.messages and pictures != len(record.images):
        raise RowError(
            "messages.images", "messages", f"the prompt shows {pictures} pictures, the row has {len(record.images)}."
        )
    for image in record.images:
        _check_image(image)
    for image in record.attachments:
        _check_image(image)
    if record.extra:
        _check_extra(record.extra)
    return record


def _all_texts(values: list[Any]) -> bool:
    """Tell whether all values are texts, without saying which is not: the fast way, for nearly every record."""
    try:
        joined = "".join(values)
        return joined.isascii() or bool(joined.encode())
    except (TypeError, UnicodeEncodeError):
        return False


def _check_texts(record: Record) -> None:
    for name, value in zip(_NEEDED, _NEEDED_VALUES(record), strict=True):
        _check_text(name, value)
    for name, value in zip(_TEXTS, _TEXT_VALUES(record), strict=True):
        if value is not None:
            _check_text(name, value)
    for value in record.options:
        if value is not None:
            _check_text("options", value)
    for value in record.answers:
        _check_text("answers", value)
    for turn in record.messages:
        _check_text("messages", turn.role)
        for part in turn.content:
            _check_text("messages", part.type)
            _check_text("messages", part.text)
            if part.type not in ("text", "image"):
                raise RowError("messages.part", "messages", f"expected parts of type text or image {got(part.type)}.")


def _check_text(field: str, value: Any) -> None:
    if not isinstance(value, str):
        raise RowError(f"{field}.type", field, f"expected a text {got(value)}.")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise RowError("text.surrogate", field, f"the text holds half a character {got(value)}.") from None


def _check_number(field: str, value: Any) -> None:
    # Anything but an int would be compared with every number of the range.
    if type(value) is not int or value not in _INT32:
        raise RowError(f"{field}.type", field, f"expected a whole number of 32 bits {got(value)}.")


def _check_source(record: Record) -> None:
    source = record.source
    if type(source.format) is not str or type(source.file) is not str:
        raise RowError("source.type", "source", f"expected format and file as texts {got(source)}.")
    if type(source.row) is not int or source.row not in _INT64:
        raise RowError("source.type", "source", f"expected a whole number as row {got(source.row)}.")


def _check_image(image: Image) -> None:
    _check_number("image", image.slot)
    for value in (image.name, image.detail, image.url):
        if value is not None:
            _check_text("image", value)


def _check_extra(extra: Any) -> None:
    try:
        canonical_json(extra).encode()
    except (TypeError, ValueError, RecursionError):
        name = next((name for name, value in extra.items() if not _is_json({name: value})), "")
        raise RowError(
            "extra.type", str(name), f"the value cannot be written as JSON {got(extra.get(name))}."
        ) from None


def _is_json(value: Any) -> bool:
    try:
        canonical_json(value).encode()
    except (TypeError, ValueError, RecursionError):
        return False
    return True
