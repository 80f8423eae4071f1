"""WebDataset: tar files of samples, `KEY.0.jpg`, `KEY.1.jpg` and `KEY.json` with `messages`, as many trainers stream.

The image parts of `messages` stand for the images in the order of their numbers; one image may be called `KEY.jpg`.
Written are shards `NAME-000000.tar` of up to 10,000 samples and 1 GB in a folder, or one .tar file; the JSON has the
columns of a dataset of this project that are not empty, `extra` and `label` as JSON text, and images that the prompt
does not show are `KEY.attachment.0.jpg`. Nothing is unpacked. Source: webdataset/webdataset 1.0.2 tariterators.py,
huggingface/datasets 5.2 packaged_modules/webdataset.

Kept: everything that was written; of other files fields without a place in `extra`.
Refused: samples without a JSON object of `messages`, more or fewer image parts than images, links and devices
(`archive.member`), a file twice (`archive.twice`), videos and sounds (`media.unsupported`).
Lost: other files of a sample, such as `KEY.txt`, which are counted.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mmconvert.chat import conversations
from mmconvert.chat.export_images import drop_records_without_bytes
from mmconvert.core.errors import Error, RowError, in_field, quote_value, show
from mmconvert.core.record import SCHEMA, Image, Part, Record, Turn, encode_json, from_row, to_arrow
from mmconvert.core.rows import Rejected, Row, Span
from mmconvert.core.text.image_markers import check_count
from mmconvert.core.text.json import parse_json
from mmconvert.images.loader import ENDINGS, SUFFIXES
from mmconvert.images.video import VIDEO_ENDINGS
from mmconvert.io.tar_samples import FILES, KEY, TarWriter, rows
from mmconvert.plugins.format import Context, Format, Loss, Sample, Target
from mmconvert.storage.folders import require_inside

SUFFIX = ".tar"
MOST_SAMPLES = 10_000
MOST_BYTES = 1_000_000_000
"""Samples and bytes of a shard; a sample of more bytes has a shard to itself."""

_JSON = "json"
_INFO = tuple(name for name in Image.__struct_fields__ if name != "bytes")
_IMAGE = re.compile(r"(?:(?P<hidden>attachment\.)?(?P<number>\d{1,6})\.)?(?P<ending>\w+)", re.ASCII)
_MEDIA = frozenset((*(ending[1:] for ending in VIDEO_ENDINGS), "mp3", "wav", "flac", "ogg", "m4a"))
_HEAD_ROWS = 8
_SCORES = ("margin", "score_chosen", "score_rejected")
_LISTS = ("messages", "options", "answers", "attachments", "image_info")


def _list_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob(f"*{SUFFIX}") if path.is_file() and not path.name.startswith("."))


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    files = require_inside(path, _list_files(path)) if path.is_dir() else [path]
    if not files:
        raise Error(f"{path}: holds no {SUFFIX} file. Name another folder.")
    for file in files:
        for item in rows(file):
            yield _add_fields(item) if isinstance(item, Row) else item


def _add_fields(row: Row) -> Row | Rejected:
    """Read the sample's JSON into fields of the row."""
    files = dict(row.fields[FILES])
    data = files.pop(_JSON, None)
    try:
        if data is None:
            found = ", ".join(sorted(files)[:5])
            message = f"the sample has no file KEY.json (got {found}). Write its messages there."
            raise RowError("messages.missing", _JSON, message)
        try:
            value = parse_json(data.decode())
        except UnicodeDecodeError as error:
            raise RowError("text.encoding", _JSON, f"it is not UTF-8 at byte {error.start + 1}.") from None
        if not isinstance(value, dict):
            raise RowError("json.type", _JSON, f"expected a JSON object {show(value)}.")
    except RowError as error:
        return Rejected.of(_name_file(error), row.where, row.fields[KEY])
    return replace(row, fields={**value, FILES: files, KEY: row.fields[KEY]})


def _name_file(error: RowError) -> RowError:
    """Say of an error of a sample's JSON in which file it is."""
    return RowError(error.code, error.field or _JSON, error.message)


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    key, files = fields.pop(KEY, None), fields.pop(FILES, None)
    conversations.refuse_media(fields)
    shown, hidden = _load_images(files if isinstance(files, dict) else {}, fields, context)
    if isinstance(fields.get("sample"), str) and isinstance(fields.get("task"), str):
        yield _restore_record(fields, shown, hidden, row, context)
        return
    turns = [
        _read_turn(*item) for item in enumerate(conversations.read_messages(fields.pop("messages", None), "messages"))
    ]
    check_count(conversations.count_image_parts(turns), len(shown), "messages")
    fields.setdefault("id", key)
    yield replace(
        conversations.build_conversation_record(row, context, fields, turns, shown), attachments=tuple(hidden)
    )


def _load_images(
    files: Mapping[str, bytes], fields: Mapping[str, Any], context: Context
) -> tuple[tuple[Image, ...], tuple[Image, ...]]:
    """Check the images of a sample: those that the prompt shows, and the attachments, each in the order of numbers."""
    shown: dict[int, tuple[str, bytes]] = {}
    hidden: dict[int, tuple[str, bytes]] = {}
    for name, data in files.items():
        match = _IMAGE.fullmatch(name)
        ending = name.rpartition(".")[2].lower()
        if ending in _MEDIA:
            raise RowError("media.unsupported", name, "videos and sounds are not supported yet. Leave the row out.")
        if match is None or f".{ending}" not in ENDINGS:
            context.warn(f"files of samples that are neither images nor JSON are passed over (KEY.{ending})")
            continue
        place = hidden if match["hidden"] else shown
        number = int(match["number"] or 0)
        if number in place:
            message = f"image {number} is {quote_value(place[number][0])} too. Keep one of them."
            raise RowError("image.twice", name, message)
        place[number] = (name, data)
    return (
        _check_images(shown, fields.get("image_info"), context),
        _check_images(hidden, fields.get("attachments"), context),
    )


def _check_images(found: Mapping[int, tuple[str, bytes]], infos: Any, context: Context) -> tuple[Image, ...]:
    known = infos if isinstance(infos, list) and len(infos) == len(found) else [{}] * len(found)
    images = []
    for place, (number, info) in enumerate(zip(sorted(found), known, strict=True), 1):
        name, data = found[number]
        told = info if isinstance(info, dict) else {}
        with in_field(name):
            image = context.images.of_bytes(data, told.get("slot", place), told.get("name"), told.get("detail"))
        images.append(replace(image, **{name: told.get(name) for name in ("url", "time", "source_name")}))
    return tuple(images)


def _restore_record(
    fields: Mapping[str, Any], shown: tuple[Image, ...], hidden: tuple[Image, ...], row: Row, context: Context
) -> Record:
    """Give a record back as it was written."""
    columns = {**dict.fromkeys(SCHEMA.names), **{name: [] for name in _LISTS}, "extra": "{}", **fields}
    columns |= {"images": [], "image_info": [], "attachments": []}
    if not isinstance(columns["source"], dict):
        source = context.source(row)
        columns["source"] = {name: getattr(source, name) for name in source.__struct_fields__}
    if isinstance(columns["preference"], dict):
        columns["preference"] = dict.fromkeys(_SCORES) | columns["preference"]
    if not isinstance(columns["id"], str) or not columns["id"]:
        raise RowError("id.type", "id", f"expected a text {show(columns['id'])}.")
    try:
        record = from_row(columns)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        message = f"the sample does not have the shape of a record ({error})."
        raise RowError("record.shape", _JSON, message) from None
    if not isinstance(record.extra, dict):
        raise RowError("record.shape", "extra", f"expected an object of fields {show(record.extra)}.")
    return replace(
        record,
        extra={**{name: fields[name] for name in fields if name not in SCHEMA.names}, **record.extra},
        images=shown,
        attachments=hidden,
        dataset=context.dataset or record.dataset,
        subset=context.subset or record.subset,
        task=context.task or record.task,
    )


def _read_turn(number: int, message: Mapping[str, Any]) -> Turn:
    where = f"messages[{number}]"
    role, content = conversations.read_role(message.get("role"), f"{where}.role"), message.get("content")
    if isinstance(content, str):
        return Turn(role, (Part("text", content),))
    if not isinstance(content, list):
        raise RowError("messages.content", f"{where}.content", f"expected a text or a list of parts {show(content)}.")
    return Turn(role, tuple(_read_part(part, f"{where}.content[{at}]") for at, part in enumerate(content)))


def _read_part(part: Any, field: str) -> Part:
    kind = part.get("type") if isinstance(part, dict) else None
    text = part.get("text") if isinstance(part, dict) else None
    if kind == "image" and text in (None, ""):
        return Part("image")
    if kind == "text" and isinstance(text, str):
        return Part("text", text)
    if kind in ("video", "audio"):
        raise RowError(
            "media.unsupported", field, f"parts of type {quote_value(kind)} are not supported. Leave the row out."
        )
    raise RowError("messages.part", field, f"expected a text or image part {show(part)}.")


def _find_mismatch(sample: Sample) -> str | None:
    files = _list_files(sample.path)[:1] if sample.path.is_dir() else [sample.path]
    if sample.path.is_dir() and any(
        path.suffix.lower() != SUFFIX for path in sample.path.iterdir() if not path.name.startswith(".")
    ):
        return f"not all of its files are {SUFFIX} files"
    if not files:
        return f"no {SUFFIX} file"
    head = list(islice(_read_rows(files[0], None), _HEAD_ROWS))
    found = [item.fields for item in head if isinstance(item, Row)]
    return None if any("messages" in fields for fields in found) else "no sample with messages in KEY.json"


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    losses: list[Loss] = []
    shards = _Shards(target)
    first: list[str] | None = None
    try:
        for record in drop_records_without_bytes(records, losses, lambda record: (*record.images, *record.attachments)):
            files = _build_files(record)
            names = [name for name in files if name != _JSON]
            first = names if first is None else first
            if names != first:
                losses.append(Loss(record.id, "files", _DIFFERS, remark=True))
            shards.add(files)
    finally:
        shards.close()
    yield from losses


_DIFFERS = (
    "other image files than in the first sample; load_dataset('webdataset', ...) of datasets 4.8 or newer needs "
    "features=Features({'__key__': Value('string'), '__url__': Value('string'), 'json': Json(), '0.jpg': Image(), ...})"
    " that name them all"
)


class _Shards:
    """One tar file, or as many in a folder as the samples fill."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._count = self._written = 0
        self._open()

    def _open(self) -> None:
        path = self._target.path
        if self._target.folder:
            path = path / f"{self._target.name or path.name}-{self._count:06d}{SUFFIX}"
        self._tar = TarWriter(path)
        self._count += 1

    def add(self, files: Mapping[str, bytes]) -> None:
        is_full = self._tar.samples >= MOST_SAMPLES or self._tar.estimate_size(files) > MOST_BYTES
        if self._target.folder and self._tar.samples and is_full:
            self._tar.close()
            self._open()
        self._tar.add(f"{self._written:09d}", files.items())
        self._written += 1

    def close(self) -> None:
        self._tar.close()


def _build_files(record: Record) -> dict[str, bytes]:
    files = {f"{number}.{SUFFIXES[image.format]}": image.bytes or b"" for number, image in enumerate(record.images)}
    for number, image in enumerate(record.attachments):
        files[f"attachment.{number}.{SUFFIXES[image.format]}"] = image.bytes or b""
    (row,) = to_arrow([replace(record, images=(), attachments=())]).to_pylist()
    row |= {"image_info": _list_infos(record.images), "attachments": _list_infos(record.attachments)}
    # `datasets` takes the types from the first samples: a null there would be the type of all.
    row |= {name: _drop_nulls(row[name]) for name in ("source", "preference") if row[name] is not None}
    kept = {name: value for name, value in row.items() if name != "images" and value not in (None, [])}
    files[_JSON] = encode_json(kept).encode()
    return files


def _drop_nulls(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _list_infos(images: Sequence[Image]) -> list[dict[str, Any]]:
    return [_drop_nulls({name: getattr(image, name) for name in _INFO}) for image in images]


FORMAT = Format(
    summary="WebDataset: tar files with images and a JSON of messages a sample",
    suffixes=(SUFFIX, ""),
    rows=_read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    files=_list_files,
    pairs=True,
    writes_folder=True,
)
