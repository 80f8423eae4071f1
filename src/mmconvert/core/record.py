"""One example of any dataset, and the only crossing between Python and Arrow.

`Record` is what formats make and backends see; `SCHEMA` is what every shard of every dataset has,
column by column, in this order. Nothing about the schema is ever inferred from data.

What every record must be, whatever made it, is checked once, where readers hand records over: they look at the
fields that they know, but a file may hold anything in any field. A value that Arrow cannot take refuses its row
here, by name, instead of ending the whole run later.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Any, Literal

import msgspec
import orjson
import pyarrow as pa
from msgspec.structs import replace

from mmconvert.core.arrow import build_binary, build_column, build_lists, build_structs
from mmconvert.core.errors import RowError, show
from mmconvert.core.json_values import convert_to_json
from mmconvert.core.plugin_struct import PluginStruct

SCHEMA_VERSION = 1
NUMBER_DIGITS = 9
"""Digits of the number that stands for an id where the source has none: the place of the record in its file."""

MOST_TEXT_BYTES = 32 << 20
"""Bytes of the texts of one record in memory; what is written of a record is made of several copies of them."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
Task = Literal["multiple_choice", "yes_no", "vqa", "caption", "ocr", "kie", "chat"]


class Image(PluginStruct, frozen=True, gc=False):
    """A picture as the source stored it; never decoded, never re-encoded.

    Attributes:
        bytes: The original file; None only for a URL that was kept as a reference.
        slot: The k of `<image k>`, `image_k` or the list position, from 1.
        name: POSIX path inside the image root as the source wrote it; None for inline bytes.
        sha256: Hex digest of `bytes`; "" without bytes.
        format: PNG, JPEG, GIF, WEBP, BMP or TIFF as the bytes say; "" without bytes.
        width: Pixels, 0 without bytes.
        height: Pixels, 0 without bytes.
        detail: OpenAI's `detail` of an image_url part, None where the source has none.
        url: The address a kept reference stands for.
    """

    bytes: bytes | None
    slot: int
    name: str | None = None
    sha256: str = ""
    format: str = ""
    width: int = 0
    height: int = 0
    detail: str | None = None
    url: str | None = None


class Part(PluginStruct, frozen=True, gc=False):
    """A piece of a turn: `text` with its text, or `image`, which stands for the next picture."""

    type: str
    text: str = ""


class Turn(PluginStruct, frozen=True, gc=False):
    """One chat message; `role` is system, user, assistant or tool."""

    role: str
    content: tuple[Part, ...]


class Source(PluginStruct, frozen=True, gc=False):
    """Where a record came from: format name, bare file name, 0-based record number."""

    format: str
    file: str
    row: int


class Record(PluginStruct, frozen=True, gc=False):
    """One example. Fields have the meaning of the columns of the same name (docs/schema.md).

    `images` holds one entry for each image part of `messages`, in reading order.
    `label` is canonical JSON of the source's reference, None when unlabelled.
    `extra` maps names of source fields that have no column to JSON values.
    """

    id: str
    sample: str
    messages: tuple[Turn, ...]
    task: str
    source: Source
    images: tuple[Image, ...] = ()
    question: str | None = None
    options: tuple[str | None, ...] = ()
    answer: str | None = None
    answers: tuple[str, ...] = ()
    label: str | None = None
    hint: str | None = None
    instruction: str | None = None
    category: str | None = None
    l2_category: str | None = None
    split: str | None = None
    dataset: str | None = None
    subset: str | None = None
    group: str | None = None
    variant: int | None = None
    round: int | None = None
    attachments: tuple[Image, ...] = ()
    extra: Mapping[str, Any] = msgspec.field(default_factory=dict)
    prediction: str | None = None


IMAGE_TYPE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
_INFO = pa.struct(
    [
        ("slot", pa.int32()),
        ("name", pa.string()),
        ("sha256", pa.string()),
        ("format", pa.string()),
        ("width", pa.int32()),
        ("height", pa.int32()),
        ("detail", pa.string()),
        ("url", pa.string()),
    ]
)
_PART = pa.struct([("type", pa.string()), ("text", pa.string())])
_TURN = pa.struct([("role", pa.string()), ("content", pa.list_(_PART))])
_ATTACHMENT = pa.struct([("image", IMAGE_TYPE), ("info", _INFO)])
_SOURCE = pa.struct([("format", pa.string()), ("file", pa.string()), ("row", pa.int64())])

_FIELDS: list[tuple[str, pa.DataType]] = [
    ("id", pa.string()),
    ("sample", pa.string()),
    ("group", pa.string()),
    ("variant", pa.int32()),
    ("round", pa.int32()),
    ("dataset", pa.string()),
    ("subset", pa.string()),
    ("images", pa.list_(IMAGE_TYPE)),
    ("messages", pa.list_(_TURN)),
    ("task", pa.string()),
    ("question", pa.string()),
    ("hint", pa.string()),
    ("instruction", pa.string()),
    ("options", pa.list_(pa.string())),
    ("answer", pa.string()),
    ("answers", pa.list_(pa.string())),
    ("label", pa.string()),
    ("category", pa.string()),
    ("l2_category", pa.string()),
    ("split", pa.string()),
    ("image_info", pa.list_(_INFO)),
    ("attachments", pa.list_(_ATTACHMENT)),
    ("source", _SOURCE),
    ("extra", pa.string()),
    ("prediction", pa.string()),
]

_PREDICTION_FIELDS: list[tuple[str, pa.DataType]] = [
    ("prediction_status", pa.string()),
    ("prediction_error", pa.string()),
    ("method", pa.string()),
    ("finish_reason", pa.string()),
    ("thinking", pa.string()),
    ("option_logprobs", pa.list_(pa.float64())),
    ("option_tokens", pa.list_(pa.int32())),
    ("token_logprobs", pa.list_(pa.float64())),
    ("model", pa.string()),
    ("prompt_tokens", pa.int32()),
    ("completion_tokens", pa.int32()),
]


def describe_hf_feature(type_: pa.DataType) -> Any:
    """Describe an Arrow type the way `datasets` writes it into the `huggingface` metadata.

    Written by hand because importing `datasets` costs more than converting a small file; a test
    compares the result with `datasets.Features`.

    Example:
        >>> describe_hf_feature(pa.string())
        {'dtype': 'string', '_type': 'Value'}
    """
    if type_ == IMAGE_TYPE:
        return {"_type": "Image"}
    if pa.types.is_struct(type_):
        return {f.name: describe_hf_feature(f.type) for f in type_}
    if pa.types.is_list(type_):
        return {"feature": describe_hf_feature(type_.value_type), "_type": "List"}
    return {"dtype": "float64" if pa.types.is_float64(type_) else str(type_), "_type": "Value"}


def attach_features(schema: pa.Schema) -> pa.Schema:
    """Attach the metadata that makes `datasets` read the columns as its features, pictures included."""
    features = {f.name: describe_hf_feature(f.type) for f in schema}
    return schema.with_metadata({"huggingface": json.dumps({"info": {"features": features}})})


SCHEMA: pa.Schema = attach_features(pa.schema(_FIELDS))
"""Every dataset: the columns of schemas/record.json."""

PREDICTION_SCHEMA: pa.Schema = attach_features(pa.schema(_FIELDS + _PREDICTION_FIELDS))
"""Every predictions file: the columns of schemas/prediction.json."""


def encode_json(value: object) -> str:
    """Write a JSON value compactly, keys in their order, integers of any size.

    Raises:
        ValueError: The value holds NaN or an infinity, which JSON cannot say.

    Example:
        >>> canonical_json(["cat", 2, 0.5])
        '["cat",2,0.5]'
    """
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _flatten(rows: Iterable[Sequence[Any]]) -> list[Any]:
    return list(chain.from_iterable(rows))


def _build_nested(rows: Sequence[Sequence[Any]], build: Callable[[Sequence[Any]], pa.Array]) -> pa.Array:
    return build_lists(rows, build(_flatten(rows)))


def _build_images(images: Sequence[Image]) -> pa.Array:
    paths = pa.nulls(len(images), pa.string())
    columns = [build_binary([i.bytes for i in images]), paths]
    # What was kept as an address is null: `datasets` opens no picture that has neither bytes nor path.
    absent = pa.array([i.bytes is None for i in images]) if any(i.bytes is None for i in images) else None
    return pa.StructArray.from_arrays(columns, fields=list(IMAGE_TYPE), mask=absent)


def _build_attachments(images: Sequence[Image]) -> pa.Array:
    return pa.StructArray.from_arrays([_build_images(images), build_structs(_INFO, images)], fields=list(_ATTACHMENT))


def _build_messages_array(records: Sequence[Record]) -> pa.Array:
    rows = [record.messages for record in records]
    turns = _flatten(rows)
    contents = [turn.content for turn in turns]
    parts = build_lists(contents, build_structs(_PART, _flatten(contents)))
    roles = build_column([turn.role for turn in turns], pa.string())
    return build_lists(rows, pa.StructArray.from_arrays([roles, parts], fields=list(_TURN)))


_ARRAYS: dict[str, Callable[[Sequence[Record]], pa.Array]] = {
    "images": lambda records: _build_nested([one.images for one in records], _build_images),
    "image_info": lambda records: _build_nested([one.images for one in records], partial(build_structs, _INFO)),
    "attachments": lambda records: _build_nested([one.attachments for one in records], _build_attachments),
    "messages": _build_messages_array,
    "source": lambda records: build_structs(_SOURCE, [record.source for record in records]),
    "extra": lambda records: build_column(
        [encode_json(one.extra) if one.extra else "{}" for one in records], pa.string()
    ),
}
"""Columns whose Arrow value is not the field's value. Built from flat columns: nested Python
values would cost several times as much."""


def to_arrow(records: Sequence[Record]) -> pa.RecordBatch:
    """Turn records into one batch of `SCHEMA`.

    Args:
        records: Any number of records; together under 2 GiB of text and of pictures.

    Returns:
        A batch of `len(records)` rows in the same order.
    """
    arrays = [
        _ARRAYS[name](records)
        if name in _ARRAYS
        else build_column(list(map(attrgetter(name), records)), SCHEMA.field(name).type)
        for name in SCHEMA.names
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


_PLAIN = tuple(name for name, _ in _FIELDS if name not in {*_ARRAYS, "id", "sample", "task", "options", "answers"})
"""Columns whose Arrow value is the field's value."""

IMAGE_COLUMNS = ("images", "image_info", "attachments")


def list_missing_columns(names: Iterable[str]) -> list[str]:
    """List the columns that a dataset of ours must have and these names lack.

    Pictures may be missing, as in a predictions file; `prompt` and `completion` stand for `messages`.

    Example:
        >>> list_missing_columns(name for name in SCHEMA.names if name not in ("id", "images"))
        ['id']
    """
    known = {*names, *IMAGE_COLUMNS}
    if {"prompt", "completion"} <= known:
        known.add("messages")
    return [name for name in SCHEMA.names if name not in known]


def from_row(row: Mapping[str, Any]) -> Record:
    """Turn one row, as `RecordBatch.to_pylist` gives it, back into a record.

    Raises:
        KeyError: A column of `SCHEMA` is missing.
    """
    images = zip(row["images"], row["image_info"], strict=True)
    turns = row["messages"] if "messages" in row or "prompt" not in row else [*row["prompt"], *row["completion"]]
    return Record(
        id=row["id"],
        sample=row["sample"],
        messages=tuple(
            Turn(turn["role"], tuple(Part(part["type"], part["text"]) for part in turn["content"])) for turn in turns
        ),
        task=row["task"],
        source=Source(**row["source"]),
        images=tuple(Image((image or {}).get("bytes"), **info) for image, info in images),
        options=tuple(row["options"]),
        answers=tuple(row["answers"]),
        attachments=tuple(Image((a["image"] or {}).get("bytes"), **a["info"]) for a in row["attachments"]),
        extra=json.loads(row["extra"]),
        **{name: row[name] for name in _PLAIN},
    )


def from_arrow(batch: pa.RecordBatch) -> Iterator[Record]:
    """Turn a batch with the columns of `SCHEMA` back into records, in order.

    Columns that are not in `SCHEMA` are passed over; `images`, `image_info` and `attachments` may
    be missing, as in a predictions file, and count as empty.
    """
    absent = [name for name in IMAGE_COLUMNS if name not in batch.schema.names]
    if "images" in absent:
        absent = list(IMAGE_COLUMNS)
    for row in batch.to_pylist():
        yield from_row({**row, **{name: [] for name in absent}})


def join_prompt_text(record: Record) -> str:
    """Join the text of the last user turn, `<image>` where a picture stands; for logs and simple models.

    Example:
        >>> turn = Turn("user", (Part("image"), Part("text", "What is it?")))
        >>> join_prompt_text(Record("1", "1", (turn,), "vqa", Source("f", "f", 0)))
        '<image>What is it?'
    """
    for turn in reversed(record.messages):
        if turn.role == "user":
            return "".join(part.text if part.type == "text" else "<image>" for part in turn.content)
    return ""


OPTION_MARK = "option_mark"
"""Field of `extra` in which the transform of that name keeps the marks it chose."""


def estimate_weight(record: Record) -> int:
    """Estimate the bytes a record takes in memory: its pictures and its prompt."""
    total = 0
    for image in record.images:
        total += len(image.bytes or b"")
    for image in record.attachments:
        total += len(image.bytes or b"")
    for turn in record.messages:
        for part in turn.content:
            total += len(part.text)
    return total


def estimate_memory(record: Record) -> int:
    """Estimate the bytes of all that is written of a record: what `estimate_weight` counts, and every other text."""
    total = estimate_weight(record) + (_count_letters(record.extra) if record.extra else 0)
    for value in _TEXT_VALUES(record):
        if value is not None:
            total += len(value)
    for values in (record.options, record.answers):
        for value in values:
            total += len(value or "")
    return total


def _count_letters(value: Any) -> int:
    """Count the letters of all texts in a value; without a call for each level, which a deep one has no room for."""
    total, left = 0, [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            total += len(one)
        elif isinstance(one, Mapping):
            left += one.keys()
            left += one.values()
        elif isinstance(one, list | tuple):
            left += one
        else:
            total += 8
    return total


_NEEDED = ("id", "sample", "task")
_TEXTS = (
    "question", "answer", "label", "hint", "instruction", "category", "l2_category", "split", "dataset", "subset",
    "group", "prediction",
)  # fmt: skip
_NEEDED_VALUES, _TEXT_VALUES = attrgetter(*_NEEDED), attrgetter(*_TEXTS)
_INT32 = range(-(1 << 31), 1 << 31)
_INT64 = range(-(1 << 63), 1 << 63)


def check_record(record: Record) -> Record:
    """Give a record back if it can be stored, values of `extra` that JSON does not know as texts.

    Raises:
        RowError: `id.missing`: the id is blank; `<field>.type`: a value of another type than the column's, a number
            out of range, half a character; `messages.part`: a part that is neither text nor image;
            `messages.images`: not one picture for each image part; `text.too_large`: all texts are over the limit.
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
    if record.messages and images != len(record.images):
        message = f"the prompt shows {images} pictures, the row has {len(record.images)}."
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
                raise RowError("messages.part", "messages", f"expected parts of type text or image {show(part.type)}.")


def _check_text(field: str, value: Any) -> None:
    if not isinstance(value, str):
        raise RowError(f"{field}.type", field, f"expected a text {show(value)}.")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise RowError("text.surrogate", field, f"the text holds half a character {show(value)}.") from None


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


def _check_image(image: Image) -> None:
    _check_number("image", image.slot)
    for value in (image.name, image.detail, image.url):
        if value is not None:
            _check_text("image", value)


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


canonical_json = encode_json  # the name that plug-ins know from before the first release
