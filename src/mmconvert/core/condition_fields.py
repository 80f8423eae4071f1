"""What a condition may look at: each value of a row, read from a record or from the columns of a batch."""

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
import pyarrow as pa

from mmconvert.core.arrow import build_scalar
from mmconvert.core.lazy import LazyModule
from mmconvert.core.record import SCHEMA, Image, Record

if TYPE_CHECKING:  # takes as long to load as pyarrow, and most runs have no condition
    import pyarrow.compute as pc
else:
    pc = LazyModule("pyarrow.compute")

NUMBER, TEXT, BOOL, LIST, TURNS, ANY = "number", "text", "true or false", "list", "turns", "any"
"""Kinds of values."""


def _find_nothing(batch: pa.RecordBatch) -> None:
    """Give no array: Arrow cannot say the value."""


class Field(NamedTuple):
    """A value of a row.

    Attributes:
        kind: What it is.
        columns: The columns it is read from; of a value that each image has, the first is the list of images.
        of_record: Reads it from a record.
        of_batch: Reads it from each row of a batch.
        per_image: Each image of a row has one.
        of_arrow: Reads the same as an array, that of all images joined; None where Arrow cannot say it.
    """

    kind: str
    columns: tuple[str, ...]
    of_record: Callable[[Record], Any]
    of_batch: Callable[[pa.RecordBatch], Sequence[Any]]
    per_image: bool = False
    of_arrow: Callable[[pa.RecordBatch], pa.Array | None] = _find_nothing


class TurnTexts(tuple[str, ...]):
    """The texts of a conversation; its length is the number of turns."""

    turns: int


def _gather_texts(turns: Sequence[Any], parts: Callable[[Any], Any], text: Callable[[Any], str]) -> TurnTexts:
    found = TurnTexts(text(part) for turn in turns for part in parts(turn))
    found.turns = len(turns)
    return found


def measure_field(field: Field) -> Field:
    """Give the length of a value: characters of a text, items of a list, turns of a conversation."""

    def measure(value: Any) -> int | None:
        if isinstance(value, TurnTexts):
            return value.turns
        return len(value) if isinstance(value, str | list | tuple) else None

    def of_batch(batch: pa.RecordBatch) -> list[Any]:
        return list(map(measure, field.of_batch(batch)))

    def of_arrow(batch: pa.RecordBatch) -> pa.Array | None:
        column = field.of_arrow(batch)
        if column is None:
            return None
        return pc.utf8_length(column) if pa.types.is_string(column.type) else pc.list_value_length(column)

    return Field(NUMBER, field.columns, lambda record: measure(field.of_record(record)), of_batch, of_arrow=of_arrow)


def _take_column(batch: pa.RecordBatch, name: str) -> pa.Array | None:
    """Give a column; None where the file has it with another type."""
    column = batch.column(name)
    return column if column.type == SCHEMA.field(name).type else None


def _take_whole_column(batch: pa.RecordBatch, name: str) -> pa.Array | None:
    """Give a column of lists; None where a list is missing, which is read as an empty one."""
    column = batch.column(name)
    return column if pa.types.is_list(column.type) and not column.null_count else None


def _build_column_field(name: str) -> Field:
    kind = SCHEMA.field(name).type
    shown = TEXT if kind == pa.string() else LIST if pa.types.is_list(kind) else NUMBER
    return Field(
        shown,
        (name,),
        operator.attrgetter(name),
        lambda batch: batch.column(name).to_pylist(),
        of_arrow=lambda batch: _take_column(batch, name),
    )


def _build_source_field(name: str) -> Field:
    kind = {"row": NUMBER, "numbered": BOOL}.get(name, TEXT)

    def of_batch(batch: pa.RecordBatch) -> list[Any]:
        return [(source or {}).get(name) for source in batch.column("source").to_pylist()]

    def of_arrow(batch: pa.RecordBatch) -> pa.Array | None:
        return pc.struct_field(column, name) if (column := _take_column(batch, "source")) is not None else None

    return Field(kind, ("source",), operator.attrgetter(f"source.{name}"), of_batch, of_arrow=of_arrow)


def build_extra_field(path: Sequence[str]) -> Field:
    """Look for a value inside `extra`, key by key."""

    def look_up(value: Any) -> Any:
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def of_batch(batch: pa.RecordBatch) -> list[Any]:
        return [look_up(orjson.loads(text) if text else None) for text in batch.column("extra").to_pylist()]

    return Field(ANY, ("extra",), lambda record: look_up(record.extra), of_batch)


OF_IMAGES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "width": (NUMBER, lambda get: get("width") or None),
    "height": (NUMBER, lambda get: get("height") or None),
    "pixels": (NUMBER, lambda get: get("width") * get("height") or None),
    "aspect": (NUMBER, lambda get: get("width") / get("height") if get("height") else None),
    "format": (TEXT, lambda get: get("format") or None),
    "name": (TEXT, lambda get: get("name")),
}
"""Column of images -> its kind, and its value by a function that gives a field of an image; 0 and "" are unknown."""


def _read_infos(name: str, infos: pa.StructArray) -> pa.Array:
    """Give a value of each image as `OF_IMAGES` does."""
    if name == "name":
        return infos.field(name)
    if name == "format":
        return _hide(infos.field(name), build_scalar(""))
    if name in ("width", "height"):
        return _hide(infos.field(name), build_scalar(0))
    width, height = (infos.field(side).cast(pa.int64()) for side in ("width", "height"))
    if name == "pixels":
        return _hide(pc.multiply(width, height), build_scalar(0))
    return pc.divide(width.cast(pa.float64()), _hide(height, build_scalar(0)).cast(pa.float64()))


def _hide(values: pa.Array, unknown: pa.Scalar) -> pa.Array:
    return pc.if_else(pc.equal(values, unknown), pa.nulls(len(values), values.type), values)


def _build_image_field(name: str) -> Field:
    kind, read = OF_IMAGES[name]

    def of_record(record: Record) -> list[Any]:
        return [read(lambda field, image=image: getattr(image, field)) for image in record.images]

    def of_batch(batch: pa.RecordBatch) -> list[Any]:
        return [[read(info.get) for info in infos or ()] for infos in batch.column("image_info").to_pylist()]

    def of_arrow(batch: pa.RecordBatch) -> pa.Array | None:
        column = _take_column(batch, "image_info")
        return None if column is None else _read_infos(name, column.flatten())

    return Field(kind, ("image_info",), of_record, of_batch, per_image=True, of_arrow=of_arrow)


def _count_bytes(image: Image) -> int | None:
    return None if image.bytes is None else len(image.bytes)


def _measure_arrow_images(batch: pa.RecordBatch) -> pa.Array:
    return pc.binary_length(pc.struct_field(batch.column("images").flatten(), "bytes"))


def _measure_images(batch: pa.RecordBatch) -> list[Any]:
    column = batch.column("images")
    counts = iter(_measure_arrow_images(batch).to_pylist())
    return [[next(counts) for _ in range(count or 0)] for count in pc.list_value_length(column).to_pylist()]


def _read_turn_texts(batch: pa.RecordBatch) -> list[TurnTexts]:
    rows = batch.column("messages").to_pylist()
    return [_gather_texts(turns or (), lambda turn: turn["content"], lambda part: part["text"] or "") for turns in rows]


_PLAIN = [
    field.name
    for field in SCHEMA
    if field.type in (pa.string(), pa.int32(), pa.list_(pa.string())) and field.name != "extra"
]

FIELDS: dict[str, Field] = {
    **{name: _build_column_field(name) for name in _PLAIN},
    "messages": Field(
        TURNS,
        ("messages",),
        lambda record: _gather_texts(record.messages, lambda turn: turn.content, lambda part: part.text),
        _read_turn_texts,
        of_arrow=lambda batch: _take_whole_column(batch, "messages"),
    ),
    "images": Field(
        LIST,
        ("image_info",),
        lambda record: record.images,
        lambda batch: batch.column("image_info").to_pylist(),
        of_arrow=lambda batch: batch.column("image_info"),
    ),
    **{name: _build_image_field(name) for name in OF_IMAGES},
    "bytes": Field(
        NUMBER,
        ("images",),
        lambda record: list(map(_count_bytes, record.images)),
        _measure_images,
        per_image=True,
        of_arrow=_measure_arrow_images,
    ),
    **{f"source.{name}": _build_source_field(name) for name in ("format", "file", "row", "numbered")},
}
"""Name in a condition -> how it is read."""
