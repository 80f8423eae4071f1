"""What must hold for any file whatever: an honest outcome, nothing lost in silence, a whole output, no surprise."""

import importlib
import io
import json
import re
import shutil
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import PIL.Image
import pyarrow.parquet as pq
from msgspec.structs import replace

from fuzzing.seeds import ANSWER_KEYS, ANSWERS, TASKS
from mmconvert.core.error_hints import says_what_to_do
from mmconvert.core.errors import Error, RowError, UsageError
from mmconvert.core.hashing import hash_file
from mmconvert.core.record import SCHEMA, Record
from mmconvert.core.rows import Rejected
from mmconvert.core.text.yaml import read_mapping_file
from mmconvert.dataset.dataset import open_dataset
from mmconvert.dataset.verify import verify
from mmconvert.images.loader import ImageLoader
from mmconvert.io import detect
from mmconvert.pipeline.convert import ReadOptions, Records, Summary, WriteOptions, convert, read, write
from mmconvert.pipeline.inputs import Input
from mmconvert.plugins.format import Format, Target
from mmconvert.plugins.registry import find_plugins, load
from mmscore.core.predictions.load import open_rows
from mmscore.llm.cache_lock import hold
from mmscore.llm.response_cache import Answer, AnswerStore
from mmscore.workflow.task_file import build_plan

OTHERS = (TASKS, ANSWERS)
_CODE = re.compile(r"[a-z_0-9]+(\.[a-z_0-9]+)+")
_WRITTEN: set[tuple[str, ...]] = set()
"""Names of inputs and digests of their data that the writers have taken and given back in this process."""
_PLACE = re.compile(r"/\S*/case-\S*?/\S*")


@dataclass(frozen=True)
class Case:
    """One input: a file or folder, how to read it, and where to work.

    Attributes:
        path: The input.
        target: Its format, or "" for the bytes of an image.
        image_root: Where its images lie, None for the input's own folder.
        scratch: Empty folder for outputs.
        decode: Decode images too.
    """

    path: Path
    target: str
    image_root: Path | None
    scratch: Path
    decode: bool = False


class BrokenPromiseError(Exception):
    """Something that must hold for every input did not."""


def outcome(case: Case) -> str:
    """Read an input and check every promise.

    Returns:
        "ok", "rows rejected" or "file refused".

    Raises:
        BrokenPromiseError: A promise was broken.
        Exception: Whatever escaped from the code under test, which is a broken promise too.
    """
    if not case.target:
        return _make_image(case.path.read_bytes(), case.decode)
    if case.target in OTHERS:
        return _other(case)
    _scored(case)
    _guessed(case)
    first = _converted(case, case.scratch / "first")
    second = _converted(case, case.scratch / "second")
    if isinstance(first, Error) or isinstance(second, Error):
        _expect(str(first) == str(second), f"two runs end differently: {first} | {second}")
        return "file refused"
    _expect(_tree(case.scratch / "first") == _tree(case.scratch / "second"), "a second run gives other bytes")
    output = case.scratch / "first/out"
    records = _check_output(output, first)
    _check_counts(case, output, records, first)
    _check_every_problem(case, output)
    _check_spans(case)
    _check_writers(case, output, records)
    return "rows rejected" if first.rows_rejected else "ok"


def signature(error: BaseException) -> str:
    """Name a fault by its kind and the project's innermost line, so that equal ones are told once."""
    frames = [
        f
        for f in traceback.extract_tb(error.__traceback__)
        if "/src/mmconvert/" in f.filename or "/src/mmscore/" in f.filename
    ]
    if isinstance(error, BrokenPromiseError) or not frames:
        return f"{type(error).__name__}: {_PLACE.sub('', str(error))[:80]}"
    return f"{type(error).__name__} in {Path(frames[-1].filename).name}:{frames[-1].name}"


def _expect(holds: bool, promise: str) -> None:
    if not holds:
        raise BrokenPromiseError(promise)


def _guessed(case: Case) -> None:
    try:
        detect.guess(case.path)
    except UsageError as error:
        raise BrokenPromiseError(f"a file's content is called wrong usage: {error}") from error
    except Error as error:
        _expect(bool(str(error)), "an error without a message")


def _options(case: Case) -> ReadOptions:
    roots = () if case.image_root is None else (case.image_root,)
    return ReadOptions(format=case.target, image_roots=roots, decode=case.decode)


def _converted(case: Case, folder: Path) -> Summary | Error:
    folder.mkdir()
    try:
        return convert([Input(case.path)], folder / "out", _options(case), WriteOptions())
    except UsageError as error:
        raise BrokenPromiseError(f"a file's content is called wrong usage: {error}") from error
    except Error as error:
        _expect(not (folder / "out").exists(), "a refused file left a dataset")
        _rejects(folder / "out")
        # It is told in a sentence, and yet no damage to a small file may take all that the sandbox gives.
        _expect("memory ran out" not in str(error), f"memory ran out: {error}")
        _expect(says_what_to_do(str(error)), f"a message does not say what to do: {error}")
        return error


def _tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _rejects(output: Path) -> list[dict[str, Any]]:
    file = output.with_name("out.rejects.jsonl")
    if not file.exists():
        return []
    rejects = [json.loads(line) for line in file.read_bytes().split(b"\n") if line]
    _expect(bool(rejects), "a rejects file without a line")
    for reject in rejects:
        _expect(bool(_CODE.fullmatch(reject["code"])) and bool(reject["message"]), f"a reject says nothing: {reject}")
        _expect(says_what_to_do(reject["message"]), f"a reject does not say what to do: {reject}")
    return rejects


def _check_counts(case: Case, output: Path, records: Sequence[Record], summary: Summary) -> None:
    """Every row that was read is in the output or among the rejects."""
    rejects = _rejects(output)
    _expect(len(rejects) == summary.rows_rejected, "the rejects file has another count")
    sources = [record.source for record in records]
    places = {(source.file, source.row) for source in sources} | {(r["file"], r["row"]) for r in rejects}
    own_provenance = {source.format for source in sources} - {case.target.rpartition("@")[2]}
    if not own_provenance:
        _expect(len(places) == summary.rows_read, f"{summary.rows_read} rows read, {len(places)} accounted for")


def _check_every_problem(case: Case, output: Path) -> None:
    """Looking for all problems of a row names the same rows, no place twice."""
    refused = {(r["file"], r["row"]) for r in _rejects(output) if r["code"] != "id.duplicate"}
    if not refused:
        return
    records = Records(Input(case.path), replace(_options(case), every_problem=True))
    list(records)
    named = [(reject.where.file, reject.where.row, reject.field) for reject in records.rejects]
    _expect({place[:2] for place in named} == refused, f"other rows are bad when all problems are looked for: {named}")
    _expect(len(set(named)) == len(named), f"a place is named twice: {named}")


def _check_output(output: Path, summary: Summary) -> list[Record]:
    faults = verify(output)
    _expect(not faults, f"the output does not verify: {faults}")
    dataset = open_dataset(output)
    records = list(dataset.records())
    ids = [record.id for record in records]
    _expect(len(ids) == dataset.num_rows == summary.rows_written, "rows written and rows read back disagree")
    _expect(len(set(ids)) == len(ids), "an id appears twice in the output")
    for shard in (output / "data").iterdir():
        _expect(pq.read_schema(shard).equals(SCHEMA), "the output has another schema")
    return records


def _check_spans(case: Case) -> None:
    """A file read in pieces gives what it gives whole."""
    plugin: Format = load("mmconvert.formats", case.target)
    reader = detect.READERS.get(case.path.suffix.lower())
    if not plugin.cuttable or reader in (None, "parquet") or not case.path.is_file():
        return
    source = importlib.import_module(f"mmconvert.io.{reader}")
    if not hasattr(source, "cut"):
        return
    spans = list(source.cut(case.path, [max(1, case.path.stat().st_size // 3)]))
    whole = [_comparable(row) for row in plugin.rows(case.path, None)]
    pieces = [_comparable(row) for span in spans for row in plugin.rows(case.path, span)]
    _expect(whole == pieces, "a file read in pieces gives other rows")


def _comparable(row: object) -> str:
    # The remarks are said once a file, so a piece says them again.
    return repr(row) if isinstance(row, Rejected) else repr((row.fields, row.where))  # type: ignore[attr-defined]


def _check_writers(case: Case, output: Path, records: Sequence[Record]) -> None:
    """The format's own writer, and one of the others, take any dataset of ours or refuse it with a reason."""
    # Most damage is to one row, which is refused: what is left has been written before.
    content = (case.target, case.path.name, *map(hash_file, sorted(output.glob("data/*"))))
    if content in _WRITTEN:
        return
    writers = [name for name in find_plugins("mmconvert.formats") if load("mmconvert.formats", name).write is not None]
    other = writers[hash_file(next(output.glob("data/*"))).encode()[0] % len(writers)]
    own = [case.target] if load("mmconvert.formats", case.target).write is not None else []
    _expect([*read(output)] == records, "the dataset is read as other records than it holds")
    for target in dict.fromkeys([*own, other]):
        for images in (None, "files"):
            _check_writer(target, images, case, records)
    _WRITTEN.add(content)


def _check_writer(target: str, images: str | None, case: Case, records: Sequence[Record]) -> None:
    plugin: Format = load("mmconvert.formats", target)
    folder = case.scratch / "back"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    suffixes = [suffix for suffix in plugin.suffixes if suffix]
    suffix = case.path.suffix if case.path.suffix in suffixes else suffixes[-1]
    path = folder / f"{case.path.stem}{suffix}"
    try:
        losses = write(records, Target(path, images, folder if images else None), target)
    except Error as error:
        _expect(bool(str(error)), "an error without a message")
        _expect(not path.exists(), "a refused export left a file")
        return
    _expect(all(loss.message for loss in losses), "a loss says nothing")
    if any(loss.field == "prediction" or "the row is left out" in loss.message for loss in losses):
        return  # what is written may then have no row that can be read
    try:
        list(read(path, target, image_roots=(folder,)))
    except Error as error:
        raise BrokenPromiseError(f"what was exported is refused: {error}") from error


def _other(case: Case) -> str:
    """Read what is no rows: a task file, or a store of replies."""
    try:
        if case.target == TASKS:
            build_plan(read_mapping_file(str(case.path)), case.scratch, str(case.path))
        else:
            with hold(case.path) as held, AnswerStore(held, fingerprint="f") as store:
                found = store.get([*ANSWER_KEYS, "none"])
                _expect(all(isinstance(answer, Answer) for answer in found.values()), "an answer is none")
    except Error as error:
        _expect(bool(str(error)), "an error without a message")
        return "file refused"
    return "ok"


def _scored(case: Case) -> None:
    """Open the file as `mmscore` does, and read what it scores by."""
    try:
        rows = open_rows(case.path, format=case.target, repeated=True)
        read = sum(batch.num_rows for batch in rows.read([n for n in ("prediction", "answer") if n in rows.names]))
    except Error as error:
        _expect(bool(str(error)), "an error without a message")
        return
    _expect(read == len(rows), f"{len(rows)} rows are counted, {read} are read")


def _make_image(data: bytes, decode: bool) -> str:
    try:
        image = ImageLoader((), decode=decode).of_bytes(data, 1)
    except RowError as error:
        _expect(bool(_CODE.fullmatch(error.code)) and bool(error.message), "a refusal says nothing")
        return "file refused"
    if decode:
        with warnings.catch_warnings(), PIL.Image.open(io.BytesIO(data)) as one_image:
            warnings.simplefilter("ignore")
            _expect(
                (image.width, image.height) == one_image.size, f"{image.format}: size {one_image.size} was read wrong"
            )
            _expect(image.format == one_image.format, f"{image.format} is {one_image.format} for Pillow")
    return "ok"
