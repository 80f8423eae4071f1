"""Fingerprints of a dataset: hashes of its images and texts, a row a sample, without any content; one parquet file.

The fingerprints of a converted dataset are kept beside it (.mmconvert/fingerprints-DIGEST.parquet) and used again as
long as its rows are the same. A file of its own can be sent to somebody who compares it with data that nobody else
may see.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mmconvert.core.arrow import from_numpy, to_numpy
from mmconvert.core.errors import Error, RowError, UsageError, take_first_line
from mmconvert.core.progress import Advance, Done, show_progress
from mmconvert.core.record import Image, Record, encode_json, from_arrow, list_missing_columns, list_turns
from mmconvert.core.text.placeholders import PLACEHOLDER
from mmconvert.curation import perceptual
from mmconvert.curation.text_keys import KEY_BYTES, TextKeys, build_keys
from mmconvert.dataset.dataset import BATCH_ROWS, Dataset, open_dataset
from mmconvert.dataset.manifest import MANIFEST
from mmconvert.io.parquet import cut, open_checked_parquet
from mmconvert.pipeline.convert import load_engine
from mmconvert.storage.atomic import open_published_file, require_apart, require_folder
from mmconvert.storage.hub_fs import shorten_name
from mmconvert.storage.object_store import find_local
from mmconvert.storage.source_files import watch_sources
from mmconvert.storage.temporary import build_temporary_prefix

_PART_BYTES = 32 << 20
_PARTS_AT_ONCE = 64
"""Parts whose fingerprints are in memory at a time."""
_ROWS_AT_ONCE = 8192
_FACTS = b"mmconvert.fingerprints"
_LEAST_WORDS = 8
"""Words of a line of a turn that is a text of its own beside the turn."""
_MOST_LINES = 16

HASHED, FLAT, UNREADABLE, ABSENT = "hashed", "flat", "unreadable", "absent"
"""States of an image: with hashes; nearly flat; refused by the decoder; only an address is known."""
EXACT = "exact"
"""State of an image of which only its sha256 was asked for."""

_VIEWS = len(perceptual.INSETS)
_TEXT = pa.struct([("key", pa.binary(KEY_BYTES)), ("words", pa.int32()), ("sketch", pa.list_(pa.uint32()))])
_IMAGE = pa.struct(
    [
        ("sha256", pa.binary(32)),
        ("state", pa.string()),
        ("bits", pa.binary(8 * _VIEWS)),
        ("sketches", pa.binary(perceptual.SKETCH_BYTES * _VIEWS)),
    ]
)
SCHEMA = pa.schema(
    [
        ("dataset", pa.string()),
        ("split", pa.string()),
        ("id", pa.string()),
        ("images", pa.list_(_IMAGE)),
        ("text", _TEXT),
        ("answer", pa.binary(KEY_BYTES)),
        ("questions", pa.list_(_TEXT)),
    ]
)
"""Columns of a file of fingerprints: `text` is all turns of a sample, `answer` its references, `questions` what it
asks."""


class FingerprintOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How fingerprints are made: the options of `mmconvert fingerprint` and the keywords of `fingerprint`."""

    workers: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Number of worker processes; one per core where none is given."""
    engine: str = "local"
    """Where workers run: local, or ray for a Ray cluster."""


class Fingerprinted(msgspec.Struct, frozen=True):
    """What was fingerprinted.

    Attributes:
        output: The file.
        samples: Samples of each dataset by its name.
        images: Images by state: hashed, flat, unreadable, absent.
        bytes: Size of the file.
    """

    output: str
    samples: dict[str, int]
    images: dict[str, int]
    bytes: int

    def to_json(self) -> dict[str, Any]:
        """Give the object that `mmconvert fingerprint --json` prints."""
        return msgspec.structs.asdict(self)


@watch_sources()
def write_fingerprints(
    datasets: Sequence[str | Path], output: Path, options: FingerprintOptions, *, quiet: bool
) -> Fingerprinted:
    """Write the fingerprints of datasets into one file, which is written atomically.

    Args:
        datasets: Folders, URLs or Hub ids of converted datasets.
        output: The parquet file; one that stands there is replaced.
        options: How.
        quiet: No progress on standard error.

    Raises:
        UsageError: A dataset is missing, two have one name, or the file cannot be written there.
        Error: A dataset is damaged or not converted.
    """
    require_folder(output)
    opened = [open_dataset(find_local(dataset)) for dataset in datasets]
    names = [name_dataset(dataset) for dataset in opened]
    if len(set(names)) < len(names):
        raise UsageError(f"two of the datasets are called {max(names, key=names.count)}. Rename the folder of one.")
    require_apart([output], [file for dataset in opened for files in dataset.files.values() for file in files])
    samples, images = {}, dict.fromkeys((HASHED, FLAT, UNREADABLE, ABSENT), 0)
    with open_published_file(output) as temporary:
        with pq.ParquetWriter(
            temporary, SCHEMA.with_metadata(_describe(None, near=True)), compression="zstd"
        ) as writer:
            for dataset, name in zip(opened, names, strict=True):
                with open_fingerprints(dataset, options, quiet=quiet) as file:
                    for table in read_fingerprints(file):
                        writer.write_table(table)
                        for state, count in count_states(table).items():
                            images[state] += count
                samples[name] = dataset.num_rows
        size = temporary.stat().st_size
    return Fingerprinted(str(output), samples, images, size)


def count_states(table: pa.Table) -> dict[str, int]:
    """Count the images of fingerprints by their states."""
    states = table["images"].combine_chunks().flatten().field("state")
    return {entry["values"]: entry["counts"] for entry in states.value_counts().to_pylist()}


def name_dataset(dataset: Dataset) -> str:
    """Give the name that a dataset goes by: that of its folder or file, or its id on the Hub."""
    return shorten_name(dataset.path) or dataset.path.resolve().name


@contextmanager
def open_fingerprints(
    dataset: Dataset, options: FingerprintOptions, *, near: bool = True, quiet: bool = True
) -> Iterator[Path]:
    """Give the file of a dataset's fingerprints, made where it is not there yet.

    Args:
        dataset: The dataset.
        options: How they are made.
        near: Hash what images look like; without, images are read but not decoded.
        quiet: No progress on standard error.

    Raises:
        Error: The dataset is damaged or not converted.
    """
    kept = _find_kept_place(dataset)
    if kept is not None and _is_current(kept, dataset, near=near):
        yield kept
        return
    if near and kept is not None and os.access(kept.parent, os.W_OK):
        with open_published_file(kept) as temporary:
            _write(dataset, temporary, options, near=near, quiet=quiet)
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix=build_temporary_prefix()) as folder:
        file = Path(folder, "fingerprints.parquet")
        _write(dataset, file, options, near=near, quiet=quiet)
        yield file


def _find_kept_place(dataset: Dataset) -> Path | None:
    """Give where the fingerprints of a converted dataset on this machine are kept."""
    # A path of a store is one of another class.
    if type(dataset.path) is not type(Path()) or not (dataset.path / MANIFEST).is_file():
        return None
    return (dataset.path / MANIFEST).with_name(f"fingerprints-{dataset.fingerprint[:16]}.parquet")


def _describe(dataset: Dataset | None, *, near: bool) -> dict[bytes, bytes]:
    facts = {"method": perceptual.METHOD, "near": near, "of": dataset and dataset.fingerprint}
    return {_FACTS: json.dumps(facts).encode()}


def _is_current(file: Path, dataset: Dataset, *, near: bool) -> bool:
    with suppress(pa.ArrowException, OSError, Error):
        metadata = pq.read_schema(file).metadata or {}
        return metadata.get(_FACTS) in {_describe(dataset, near=True)[_FACTS], _describe(dataset, near=near)[_FACTS]}
    return False


def is_fingerprints(file: Path) -> bool:
    """Tell whether a file holds fingerprints."""
    with suppress(pa.ArrowException, OSError):
        return file.is_file() and _FACTS in (pq.read_schema(file).metadata or {})
    return False


def read_fingerprints(file: Path, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """Read fingerprints, some thousand rows at a time, in the order of the samples.

    Args:
        file: The file.
        columns: Columns to read; None for all.

    Raises:
        Error: The file is damaged, holds none, or was made by another version.
    """
    try:
        parquet = open_checked_parquet(file)
        facts = json.loads((parquet.schema_arrow.metadata or {}).get(_FACTS, b"null"))
        if not parquet.schema_arrow.equals(SCHEMA) or not isinstance(facts, dict):
            raise Error(f"{file}: holds no fingerprints. Make them: mmconvert fingerprint DATASET -o {file}")
        if facts.get("method") != perceptual.METHOD:
            raise Error(f"{file}: its fingerprints are of another version of mmconvert. Make them again with this one.")
        for batch in parquet.iter_batches(batch_size=_ROWS_AT_ONCE, columns=columns):
            yield pa.Table.from_batches([batch])
    except (pa.ArrowException, OSError, ValueError) as error:
        raise Error(f"{file}: cannot be read ({take_first_line(error)}). Make the fingerprints again.") from None


class _ShardPart(msgspec.Struct, frozen=True):
    """Row groups of a shard."""

    file: Path
    groups: tuple[int, int]
    dataset: str
    split: str
    near: bool


def _write(dataset: Dataset, file: Path, options: FingerprintOptions, *, near: bool, quiet: bool) -> None:
    parts = list(_list_parts(dataset, near=near))
    engine = load_engine(options.engine)
    workers = min(options.workers or engine.cores(), max(len(parts), 1))
    # Children are forked where this process has no thread yet, and showing progress takes one.
    with (
        engine.crew(workers) as run,
        show_progress("fingerprint", quiet=quiet) as advance,
        pq.ParquetWriter(file, SCHEMA.with_metadata(_describe(dataset, near=near)), compression="zstd") as writer,
    ):
        _run_parts(run, parts, writer, advance, dataset.num_rows)


def _run_parts(run: Any, parts: Sequence[_ShardPart], writer: pq.ParquetWriter, advance: Advance, total: int) -> None:
    done = 0
    for start in range(0, len(parts), _PARTS_AT_ONCE):
        for data in run(_fingerprint_part, parts[start : start + _PARTS_AT_ONCE]):
            table = pa.ipc.open_stream(data).read_all()
            writer.write_table(table)
            done += table.num_rows
            advance(Done(done, total=total))


def _list_parts(dataset: Dataset, *, near: bool) -> Iterator[_ShardPart]:
    name = name_dataset(dataset)
    for split, files in dataset.files.items():
        for file in files:
            for span in cut(file, [_PART_BYTES] * (1 + file.stat().st_size // _PART_BYTES)):
                yield _ShardPart(file, (span.start, span.end), name, split, near)


def _fingerprint_part(part: _ShardPart) -> bytes:
    """Make the fingerprints of row groups, as an Arrow stream."""
    known: dict[bytes, dict[str, Any]] = {}
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, SCHEMA) as writer:
        for records in _read_records(part):
            rows = [
                {"dataset": part.dataset, "split": part.split, **fingerprint_record(record, known, near=part.near)}
                for record in records
            ]
            writer.write_batch(pa.RecordBatch.from_pylist(rows, schema=SCHEMA))
    return bytes(sink.getvalue())


def _read_records(part: _ShardPart) -> Iterator[Iterator[Record]]:
    try:
        parquet = open_checked_parquet(part.file)
        if missing := list_missing_columns(parquet.schema_arrow.names):
            raise Error(
                f"{part.file}: is not a dataset created by mmconvert, it lacks the columns {', '.join(missing)}. "
                f"Convert it first: mmconvert convert {part.file} -o NEW"
            )
        for group in range(*part.groups):
            yield from map(from_arrow, parquet.iter_batches(batch_size=BATCH_ROWS, row_groups=[group]))
    except (pa.ArrowException, OSError) as error:
        raise Error(f"{part.file}: cannot be read as parquet ({take_first_line(error)}). Write it again.") from None


def fingerprint_record(record: Record, known: dict[bytes, dict[str, Any]], *, near: bool) -> dict[str, Any]:
    """Make the fingerprint of a record.

    Args:
        record: The record.
        known: Images by their sha256 that were hashed before; new ones are added.
        near: Hash what images look like.

    Returns:
        Values of the columns of `SCHEMA` from `id` on.
    """
    shown = [_fingerprint_image(image, known, near=near) for image in (*record.images, *record.attachments)]
    text = build_keys("\n".join(part.text for turn in list_turns(record) for part in turn.content))
    answer = build_keys(encode_json([record.answer, list(record.answers)])).key
    questions = {keys.key: keys for keys in map(build_keys, list_questions(record)) if keys.words}
    return {
        "id": record.id,
        "images": shown,
        "text": _lay_out_text(text) if text.words else None,
        "answer": answer,
        "questions": [_lay_out_text(keys) for keys in questions.values()],
    }


def _lay_out_text(keys: TextKeys) -> dict[str, Any]:
    return {"key": keys.key, "words": keys.words, "sketch": keys.sketch}


def _fingerprint_image(image: Image, known: dict[bytes, dict[str, Any]], *, near: bool) -> dict[str, Any]:
    if image.bytes is None:
        return {"sha256": None, "state": ABSENT}
    # Of the bytes: what a dataset says of them may be wrong.
    digest = hashlib.sha256(image.bytes).digest()
    if digest not in known:
        known[digest] = {"sha256": digest, **(_hash_image(image.bytes) if near else {"state": EXACT})}
    return known[digest]


def _hash_image(data: bytes) -> dict[str, Any]:
    try:
        hashes = perceptual.hash_image(data)
    except RowError:
        return {"state": UNREADABLE}
    if hashes is None:
        return {"state": FLAT}
    return {"state": HASHED, "bits": hashes.bits.tobytes(), "sketches": hashes.sketches.tobytes()}


def list_questions(record: Record) -> list[str]:
    r"""List what a record asks: its question, each other turn of the user, and the long lines of all these.

    Example:
        >>> from mmconvert.core.record import Part, Source, Turn
        >>> asked = "Which one is larger?\nAnswer with the letter of the option that you choose."
        >>> turns = (Turn("user", (Part("image"), Part("text", asked))),)
        >>> list_questions(Record("1", "1", turns, "chat", Source("f", "f", 0)))[1:]
        ['Answer with the letter of the option that you choose.']
    """
    texts = []
    for text in list_asked(record):
        lines = text.splitlines()
        long = [line for line in lines[:_MOST_LINES] if len(line.split()) >= _LEAST_WORDS]
        texts += [text, *(long if len(lines) > 1 else ())]
    return texts


def list_asked(record: Record) -> list[str]:
    """List the question of a record and its other turns of the user, as whole texts without placeholders."""
    turns = [
        " ".join(part.text for part in turn.content if part.type == "text")
        for turn in record.messages
        if turn.role == "user"
    ]
    # The question is the last turn of the user, without options.
    asked = [record.question, *turns[:-1]] if record.question else turns
    return [PLACEHOLDER.sub(" ", text) for text in asked]


def read_hashes(images: pa.StructArray) -> tuple[Any, Any, Any]:
    """Give the hashes of images as arrays.

    Args:
        images: Values of the column `images`, all lists joined.

    Returns:
        Whether each has hashes; of those that have: uint64 of shape (n, views), uint8 of shape (n, views, bytes).
    """
    bits, sketches = images.field("bits"), images.field("sketches")
    hashed = to_numpy(bits.is_valid()) & to_numpy(sketches.is_valid())
    mask = from_numpy(hashed)
    found = np.frombuffer(b"".join(bits.filter(mask).to_pylist()), dtype=np.uint64).reshape(-1, _VIEWS)
    drawn = np.frombuffer(b"".join(sketches.filter(mask).to_pylist()), dtype=np.uint8)
    return hashed, found, drawn.reshape(-1, _VIEWS, perceptual.SKETCH_BYTES)
