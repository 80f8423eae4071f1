"""One example of any dataset, and the only crossing between Python and Arrow.

`Record` is what formats make and backends see; `SCHEMA` is what every shard of every dataset has,
column by column, in this order. Nothing about the schema is ever inferred from data.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Any, Literal

import msgspec
import orjson
import pyarrow as pa

from mmconvert.core.arrow import build_binary, build_column, build_lists, build_structs, pack_bits
from mmconvert.core.notebook import show_html
from mmconvert.core.plugin_struct import PluginStruct

SCHEMA_VERSION = 2
"""Version 2 added `preference`, `image_info.time`, `image_info.source_name` and `source.numbered`."""

NUMBER_DIGITS = 9
"""Digits of the number that stands for an id where the source has none: the place of the record in its file."""

_SHOWN = 80
"""Letters of a value in the `repr` of a record."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
Task = Literal["multiple_choice", "yes_no", "vqa", "caption", "ocr", "kie", "chat"]


class Image(PluginStruct, frozen=True, gc=False):
    """An image as the source stored it; never decoded, never re-encoded.

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
        time: Seconds from the start of the video that it is a frame of, None for any other image.
        source_name: The file that it was taken from, where several images come of one; None elsewhere.
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
    time: float | None = None
    source_name: str | None = None

    def __repr__(self) -> str:
        """Say which image it is, without its bytes."""
        size = "no bytes" if self.bytes is None else f"{len(self.bytes):,} bytes"
        name = self.name or self.url
        known = f" {name!r}" if name else ""
        return f"<Image {self.slot}{known}, {self.format} {self.width}x{self.height}, {size}>"


class Part(PluginStruct, frozen=True, gc=False):
    """A piece of a turn: `text` with its text, or `image`, which stands for the next image."""

    type: str
    text: str = ""


class Turn(PluginStruct, frozen=True, gc=False):
    """One chat message; `role` is system, user, assistant or tool."""

    role: str
    content: tuple[Part, ...]


class Source(PluginStruct, frozen=True, gc=False):
    """Where a record came from.

    Attributes:
        format: Name of the format.
        file: Bare name of the file.
        row: Record number, from 0.
        numbered: The source has no id for the record, so that its id is made of its number and says nothing more;
            None where that is not known, as in datasets of version 1.
    """

    format: str
    file: str
    row: int
    numbered: bool | None = False


class Preference(PluginStruct, frozen=True, gc=False):
    """Two responses to one prompt, the better one and the other.

    Attributes:
        chosen: Turns of the better response.
        rejected: Turns of the other one.
        margin: How much better it is, None where the source does not say.
        score_chosen: Score of the better response, as a judge or a rater gave it.
        score_rejected: Score of the other one.
        rejected_images: Where the rejected side sees other images of the prompt: their positions in `attachments`,
            one for each image that the prompt shows; () where both sides see the same.
    """

    chosen: tuple[Turn, ...]
    rejected: tuple[Turn, ...]
    margin: float | None = None
    score_chosen: float | None = None
    score_rejected: float | None = None
    rejected_images: tuple[int, ...] = ()


class Record(PluginStruct, frozen=True, gc=False):
    """One example. Fields have the meaning of the columns of the same name (docs/schema.md).

    `images` holds one entry for each image part of `messages`, then of the chosen and of the rejected turns of
    `preference`, in reading order.
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
    preference: Preference | None = None

    def __repr__(self) -> str:
        """Say which record it is in one line: texts cut short, no images."""
        values = {name: getattr(self, name) for name in ("id", "task", "question", "options", "answer", "prediction")}
        shown = [f"{name}={_shorten(value)}" for name, value in values.items() if value not in (None, ())]
        images = f", {len(self.images)} images" if self.images else ""
        return f"<Record {', '.join(shown)}{images}>"

    def _repr_html_(self) -> str | None:
        return show_html(self)


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} ..."


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
        ("time", pa.float64()),
        ("source_name", pa.string()),
    ]
)
_PART = pa.struct([("type", pa.string()), ("text", pa.string())])
_TURN = pa.struct([("role", pa.string()), ("content", pa.list_(_PART))])
_ATTACHMENT = pa.struct([("image", IMAGE_TYPE), ("info", _INFO)])
_SOURCE = pa.struct([("format", pa.string()), ("file", pa.string()), ("row", pa.int64()), ("numbered", pa.bool_())])
_PREFERENCE = pa.struct(
    [
        ("chosen", pa.list_(_TURN)),
        ("rejected", pa.list_(_TURN)),
        ("margin", pa.float64()),
        ("score_chosen", pa.float64()),
        ("score_rejected", pa.float64()),
        ("rejected_images", pa.list_(pa.int32())),
    ]
)

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
    ("preference", _PREFERENCE),
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
    """Attach the metadata that makes `datasets` read the columns as its features, images included."""
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


def build_images(rows: Sequence[Sequence[Image]]) -> pa.Array:
    """Build a column of images, as `images` is one."""
    return _build_nested(rows, _build_cells)


def build_image_infos(rows: Sequence[Sequence[Image]]) -> pa.Array:
    """Build a column of what is known of images, as `image_info` is one."""
    return _build_nested(rows, partial(build_structs, _INFO))


def _build_cells(images: Sequence[Image]) -> pa.Array:
    paths = pa.nulls(len(images), pa.string())
    columns = [build_binary([i.bytes for i in images]), paths]
    # What was kept as an address is null: `datasets` opens no image that has neither bytes nor path.
    absent = pa.array([i.bytes is None for i in images]) if any(i.bytes is None for i in images) else None
    return pa.StructArray.from_arrays(columns, fields=list(IMAGE_TYPE), mask=absent)


def _build_attachments(images: Sequence[Image]) -> pa.Array:
    return pa.StructArray.from_arrays([_build_cells(images), build_structs(_INFO, images)], fields=list(_ATTACHMENT))


def build_turns(rows: Sequence[Sequence[Turn]]) -> pa.Array:
    """Build a column of chat turns, as `messages` is one."""
    turns = _flatten(rows)
    contents = [turn.content for turn in turns]
    parts = build_lists(contents, build_structs(_PART, _flatten(contents)))
    roles = build_column([turn.role for turn in turns], pa.string())
    return build_lists(rows, pa.StructArray.from_arrays([roles, parts], fields=list(_TURN)))


def _build_preferences(records: Sequence[Record]) -> pa.Array:
    pairs = [record.preference for record in records]
    if pairs.count(None) == len(pairs):
        return pa.nulls(len(pairs), _PREFERENCE)
    known = [pair or Preference((), ()) for pair in pairs]
    columns = [
        build_turns([pair.chosen for pair in known]),
        build_turns([pair.rejected for pair in known]),
        *(build_column([getattr(pair, name) for pair in known], pa.float64()) for name in SCORES),
        build_column([pair.rejected_images for pair in known], pa.list_(pa.int32())),
    ]
    known_rows = pack_bits([pair is not None for pair in pairs])
    return pa.StructArray.from_buffers(_PREFERENCE, len(pairs), [known_rows], children=columns)


SCORES = ("margin", "score_chosen", "score_rejected")
"""Numbers of a preference."""

_ARRAYS: dict[str, Callable[[Sequence[Record]], pa.Array]] = {
    "images": lambda records: build_images([one.images for one in records]),
    "image_info": lambda records: build_image_infos([one.images for one in records]),
    "attachments": lambda records: _build_nested([one.attachments for one in records], _build_attachments),
    "messages": lambda records: build_turns([record.messages for record in records]),
    "preference": _build_preferences,
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
        records: Any number of records; together under 2 GiB of text and of images.

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
LATER_COLUMNS = ("preference",)
"""Columns that datasets of version 1 do not have."""
LATER_FIELDS = ("time", "source_name", "numbered")
"""Fields of nested columns that datasets of version 1 do not have."""


def list_missing_columns(names: Iterable[str]) -> list[str]:
    """List the columns that a dataset created by mmconvert must have and these names lack.

    Images may be missing, as in a predictions file, and what version 1 did not have; `prompt` stands for `messages`.

    Example:
        >>> list_missing_columns(name for name in SCHEMA.names if name not in ("id", "images"))
        ['id']
    """
    known = {*names, *IMAGE_COLUMNS, *LATER_COLUMNS}
    if "prompt" in known:
        known.add("messages")
    return [name for name in SCHEMA.names if name not in known]


def upgrade_batch(batch: pa.RecordBatch, columns: Iterable[str]) -> pa.RecordBatch:
    """Give rows of version 1 the columns and fields of today, null where version 1 said nothing.

    Args:
        batch: Rows of any version; those of today come back as they are.
        columns: The columns that were asked for.
    """
    for name in LATER_COLUMNS:
        if name in columns and name not in batch.schema.names:
            batch = batch.append_column(SCHEMA.field(name), pa.nulls(batch.num_rows, SCHEMA.field(name).type))
    place = batch.schema.get_field_index("source")
    if place >= 0 and {field.name for field in batch.schema.field(place).type} == {"format", "file", "row"}:
        batch = batch.set_column(place, "source", batch.column(place).cast(_SOURCE))
    return batch


def _read_turns(turns: Iterable[Mapping[str, Any]]) -> tuple[Turn, ...]:
    return tuple(
        Turn(turn["role"], tuple(Part(part["type"], part["text"]) for part in turn["content"])) for turn in turns
    )


def _read_preference(row: Mapping[str, Any]) -> Preference | None:
    """Read the two sides of a row, whether they stand in `preference` or in columns of their own."""
    sides = row if "chosen" in row and "rejected" in row else row.get("preference")
    if sides is None:
        return None
    return Preference(
        _read_turns(sides["chosen"]),
        _read_turns(sides["rejected"]),
        margin=sides["margin"],
        score_chosen=sides["score_chosen"],
        score_rejected=sides["score_rejected"],
        rejected_images=tuple(sides.get("rejected_images") or ()),
    )


def from_row(row: Mapping[str, Any]) -> Record:
    """Turn one row, as `RecordBatch.to_pylist` gives it, back into a record.

    Raises:
        KeyError: A column of `SCHEMA` is missing.
    """
    images = zip(row["images"], row["image_info"], strict=True)
    turns = row["messages"] if "messages" in row or "prompt" not in row else row["prompt"]
    return Record(
        id=row["id"],
        sample=row["sample"],
        messages=_read_turns([*turns, *row.get("completion", ())]),
        task=row["task"],
        source=Source(**{"numbered": None, **row["source"]}),
        images=tuple(Image((image or {}).get("bytes"), **info) for image, info in images),
        options=tuple(row["options"]),
        answers=tuple(row["answers"]),
        attachments=tuple(Image((a["image"] or {}).get("bytes"), **a["info"]) for a in row["attachments"]),
        extra=json.loads(row["extra"]),
        preference=_read_preference(row),
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
    """Join the text of the last user turn, `<image>` where an image stands; for logs and simple models.

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
    """Estimate the bytes a record takes in memory: its images and its prompt."""
    total = 0
    for image in record.images:
        total += len(image.bytes or b"")
    for image in record.attachments:
        total += len(image.bytes or b"")
    for turn in list_turns(record):
        for part in turn.content:
            total += len(part.text)
    return total


def list_turns(record: Record) -> Sequence[Turn]:
    """List every turn of a record in the order of its images: the prompt's, the chosen ones, the rejected ones."""
    pair = record.preference
    return record.messages if pair is None else (*record.messages, *pair.chosen, *pair.rejected)


TEXTS = (
    "question", "answer", "label", "hint", "instruction", "category", "l2_category", "split", "dataset", "subset",
    "group", "prediction",
)  # fmt: skip
"""Columns of a record that hold a text or nothing."""

_TEXT_VALUES = attrgetter(*TEXTS)


def count_images(turns: Iterable[Turn]) -> int:
    """Count the images that turns show."""
    return sum(part.type == "image" for turn in turns for part in turn.content)


def remove_preference(record: Record) -> Record:
    """Give the prompt of a pair alone, with the images that it shows; any other record as it is."""
    if record.preference is None:
        return record
    return msgspec.structs.replace(record, preference=None, images=record.images[: count_images(record.messages)])


def keep_chosen(record: Record) -> Record:
    """Give a pair as the prompt with its better response; any other record as it is."""
    if record.preference is None:
        return record
    turns = (*record.messages, *record.preference.chosen)
    return msgspec.structs.replace(record, messages=turns, preference=None, images=record.images[: count_images(turns)])


def estimate_memory(record: Record, weight: int | None = None) -> int:
    """Estimate the bytes of all that is written of a record: its `estimate_weight`, and every other text.

    Args:
        record: The record.
        weight: Its `estimate_weight`, None to have it counted.
    """
    total = estimate_weight(record) if weight is None else weight
    if record.extra:
        total += _count_letters(record.extra)
    return total + sum(map(len, filter(None, (*_TEXT_VALUES(record), *record.options, *record.answers))))


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


canonical_json = encode_json  # the name that plug-ins know from before the first release
