"""What several formats read alike: keys, numbered images, spellings of columns, extra fields."""

from collections.abc import Container, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from mmconvert.core.errors import RowError, in_field, show
from mmconvert.core.record import NUMBER_DIGITS, Image, Record
from mmconvert.core.rows import Row
from mmconvert.core.text.json import parse_json
from mmconvert.core.text.literals import looks_like_list, parse_list
from mmconvert.core.text.options import is_option
from mmconvert.core.text.placeholders import parse_image_slot
from mmconvert.core.text.prompt_parts import OPTION_NAMES
from mmconvert.images.loader import looks_like_image
from mmconvert.plugins.format import Context, Loss

LISTED = "images"
"""The column that holds all images of a row."""

HEADERS = "headers"
"""Key in `extra` for columns that the source spelled unlike the format's own word."""


def take_id(fields: dict[str, Any], row: Row, context: Context) -> str:
    """Take the field `id` out of a row, or number the row where it has none.

    Raises:
        RowError: `id.type`: it is neither a text nor an integer.
    """
    value = fields.pop("id", None)
    if value is None or value == "":
        return context.numbered(row)
    if isinstance(value, str):
        return value.strip() or context.numbered(row)
    if isinstance(value, bool) or not isinstance(value, int):
        raise RowError("id.type", "id", f"expected a text or an integer {show(value)}.")
    return str(value)


def restore_integer(value: Any) -> Any:
    """Give the whole number that JSON writes with a point, where the place of something is meant; else the value.

    Example:
        >>> restore_integer(1.0), restore_integer(1.5), restore_integer("1.0")
        (1, 1.5, '1.0')
    """
    return int(value) if isinstance(value, float) and value.is_integer() else value


def number_records(records: Iterable[Record], first: int = 0) -> Iterator[Record]:
    """Number records by their place in the file that is written: what a reader will number rows without an id by."""
    for place, record in enumerate(records, first):
        yield record if record.source.row == place else replace(record, source=replace(record.source, row=place))


def build_own_id(record: Record) -> dict[str, str]:
    """Give the field `id` for a writer, {} where the id is only the row's number; see `number_records`.

    Example:
        >>> from mmconvert.core.record import Source
        >>> where = Source("vmcq", "a.jsonl", 7)
        >>> [build_own_id(Record(key, key, (), "vqa", where)) for key in ("000000007", "q000000007", "000000008")]
        [{}, {'id': 'q000000007'}, {'id': '000000008'}]
    """
    return {} if record.id == f"{record.source.row:0{NUMBER_DIGITS}d}" else {"id": record.id}


def add_extra(
    fields: dict[str, Any], extra: Mapping[str, Any], taken: Container[str], record: Record, losses: list[Loss]
) -> dict[str, Any]:
    """Add the fields that the source had beside.

    Args:
        fields: What the format writes of the record.
        extra: Further fields.
        taken: Names that mean something to the format, written or not; such a field is a loss.
        record: Whose row it is.
        losses: Collects what is left out.
    """
    for name, value in extra.items():
        if name == OPTION_NAMES:
            continue
        if name not in fields and name not in taken:
            fields[name] = value
        elif fields.get(name) != value:
            losses.append(Loss(record.id, name, "the format has another use for the field", remark=True))
    return fields


def read_letter_or_label(record: Record) -> Any:
    """Give the reference for a field that asks for the letter of an option.

    Returns:
        What the source wrote where it names the answer or there are no options, else the letter; None for no label.

    Example:
        >>> from mmconvert.core.record import Source
        >>> where = Source("f", "f", 0)
        >>> asked = Record("1", "1", (), "multiple_choice", where, options=("a", "b"), answer="B", label='"b"')
        >>> read_letter_or_label(asked), read_letter_or_label(replace(asked, label="1"))
        ('b', 'B')
    """
    label = None if record.label is None else parse_json(record.label)
    if label is None or not is_option(record.answer, record.options):
        return label
    return label if isinstance(label, str) and label.strip().upper() == record.answer else record.answer


def take_numbered_images(fields: dict[str, Any], context: Context) -> dict[int, Image]:
    """Take `image_1` .. `image_100` out of a row and load them.

    Returns:
        Images by number; empty cells have none.

    Raises:
        RowError: The codes of `ImageLoader.of_value`.
    """
    images = {}
    for name, slot in _number_image_columns(tuple(fields)).items():
        value = fields.pop(name)
        if not _is_blank(value):
            with in_field(name):
                images[slot] = context.images.of_value(value, slot)
    return images


def take_listed_images(fields: dict[str, Any], images: dict[int, Image], context: Context) -> None:
    """Take the column `images` out of a row, a list of images or one, and load them beside those of `image_k`.

    Args:
        fields: The row.
        images: Images by number, to which the first of the list is added as 1, the second as 2, ...
        context: Where images lie.

    Raises:
        RowError: `image.twice`: an image of that number is there; the codes of `ImageLoader.of_value`.
    """
    value = fields.pop(LISTED, None)
    if value is None:
        return
    if isinstance(value, str) and looks_like_list(value):
        with in_field(LISTED):
            value = parse_list(value)
    for slot, item in enumerate(value if isinstance(value, list) else [value], 1):
        if _is_blank(item):
            continue
        field = f"{LISTED}[{slot - 1}]" if isinstance(value, list) else LISTED
        if slot in images:
            raise RowError("image.twice", field, f"image_{slot} gives this image as well. Leave one of them out.")
        with in_field(field):
            images[slot] = context.images.of_value(item, slot)


def _is_blank(value: Any) -> bool:
    """Tell a cell without an image; `datasets` writes an object of nulls for one."""
    return value is None or value == "" or (isinstance(value, dict) and not any(value.values()))


@lru_cache(maxsize=8)
def _number_image_columns(names: tuple[str, ...]) -> dict[str, int]:
    """Give the number of each `image_k` among columns; worked out once for the rows of a file, as a rule."""
    return {name: slot for name in names if (slot := parse_image_slot(name)) is not None}


def list_unshown_images(images: Mapping[int, Image], shown: Iterable[Image], context: Context) -> tuple[Image, ...]:
    """Find the images that no placeholder shows; they become attachments, with a warning."""
    slots = {image.slot for image in shown}
    hidden = tuple(image for slot, image in images.items() if slot not in slots)
    if hidden:
        context.warn("an image that no placeholder shows is kept as an attachment")
    return hidden


def keep_extra_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the fields that have no column, empty ones left out."""
    return {name: value for name, value in fields.items() if value is not None}


def keep_json_fields(fields: Mapping[str, Any], context: Context) -> dict[str, Any]:
    """Keep the fields that have no column; further images, which parquet may hold, are left out with a remark."""
    kept = {}
    for name, value in keep_extra_fields(fields).items():
        if isinstance(value, bytes | dict | list) and _holds_image(value):
            context.warn(f"the column {name!r} holds further images and is left out")
        else:
            kept[name] = value
    return kept


def _holds_image(value: Any) -> bool:
    if isinstance(value, bytes):
        return looks_like_image(value)
    if isinstance(value, dict):
        return any(map(_holds_image, value.values()))
    # Values of a list in parquet are of one type: numbers, of which there may be many, are not looked at.
    first = next((item for item in value if item is not None), None) if isinstance(value, list) else None
    return isinstance(first, bytes | dict | list) and any(map(_holds_image, value))


def respell(fields: Mapping[str, Any], words: Iterable[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Rename columns that differ from a format's word only in case, `-` and `_`.

    Args:
        fields: A raw row.
        words: The format's own words; letters A, B, ... are never respelled.

    Returns:
        The row under the format's words, and word -> the source's spelling where they differ.

    Example:
        >>> respell({"L2-category": "LR", "A": "a"}, ["l2-category"])
        ({'l2-category': 'LR', 'A': 'a'}, {'l2-category': 'L2-category'})
    """
    spellings, headers = _list_spellings(tuple(fields), tuple(words))
    return dict(zip(spellings, fields.values(), strict=True)), dict(headers)


def take_headers(extra: dict[str, Any]) -> dict[str, str]:
    """Take what `respell` said of a table's headers out of `extra`; a source's own field of that name stays.

    Example:
        >>> take_headers({HEADERS: {"index": "Index"}}), take_headers({HEADERS: 5})
        ({'index': 'Index'}, {})
    """
    headers = extra.get(HEADERS)
    if not isinstance(headers, dict) or not all(isinstance(name, str) for name in headers.values()):
        return {}
    del extra[HEADERS]
    return headers


@lru_cache
def _list_spellings(names: tuple[str, ...], words: tuple[str, ...]) -> tuple[list[str], dict[str, str]]:
    """Give the word for each name, and what `respell` tells of headers; a file's rows, of the same names, ask once."""
    known = {_normalize_name(word): word for word in words}
    found = {name: known.get(_normalize_name(name), name) if len(name) > 1 else name for name in names}
    respelled = {name: name if word in found else word for name, word in found.items()}
    return list(respelled.values()), {word: name for name, word in respelled.items() if word != name}


def _normalize_name(name: str) -> str:
    return name.strip().lower().replace("-", "_").replace(" ", "_")


rest = keep_extra_fields  # the name that plug-ins know from before the first release
