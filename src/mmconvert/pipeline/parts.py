"""One part of a conversion: a file or a span of it, into shards; the same function on every engine.

What a part writes depends on the part alone, so that any number of workers gives the same bytes. Where
files are cut depends on their size alone.
"""

import contextlib
import importlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from msgspec.structs import replace

from mmconvert.core.collect import collect_rarely
from mmconvert.core.errors import Error, RowError, UsageError, build_memory_error, show
from mmconvert.core.plain_chats import PlainBlock
from mmconvert.core.record import Record, estimate_memory, estimate_weight, keep_chosen
from mmconvert.core.rows import DELIMITERS, READERS, Rejected, Span
from mmconvert.dataset.shards import Shard
from mmconvert.dataset.views import ANSWER_TURN, EVAL, PREFERENCE, VIEWS, gains_answer_turn, remove_response
from mmconvert.pipeline.inputs import Input
from mmconvert.pipeline.part_writer import PartWriter, Tally, WritingHere, WritingThread
from mmconvert.pipeline.read import OURS, ReadOptions, Records
from mmconvert.storage.source_files import ChangedError, Sources, Stamps, watch_apart

PART_BYTES = 256 << 20
"""Most bytes of a file in one part; about the size of the shard it gives."""
SMALL_FILE = 64 << 20
"""A file up to this size, with the images beside it, is one part; a larger one is four at least."""
_LESS, _LAST = 1 / 15, 4 / 5
"""How much smaller a part is than the one before, in parts of the first, and how small the last one may be."""

_RENAMED = "an id that another file or split has too got the name of its own in front"
PAIRS = "preference pairs in another view than theirs"
"""Counts rows in `PartResult.warnings`; the summary says it in words of its own."""

_KEPT_ADDRESS = (
    "an image is only a URL, and load_dataset gives None for it; "
    "to download it, convert with --allow-remote instead of --keep-urls"
)
SHORT_LIST = 64 << 10
"""Bytes of a file that is one part, however long the images beside it are: it has some hundred rows."""
_SAMPLE = 32
"""Rows by whose images the bytes of all images beside a file are estimated."""
_OFFSETS = (".jsonl", ".json", *DELIMITERS)
"""Files whose rows say at which byte they begin."""


class FilePart(msgspec.Struct, frozen=True):
    """What one task of an engine converts, and where to.

    Attributes:
        index: Place of the part among all of them, the beginning of its shards' temporary names.
        source: The file, with its split and subset.
        span: Piece of the file, None for all.
        pieces: Bytes of each part, where one task reads a whole file; empty for one part.
        piece: Place among the parts that one task reads.
        folder: Existing folder for the shards.
        how: How to read.
        fail_on_bad: Stop at the first refused row.
        taken: Ids that earlier parts of the same file have given to the same split.
        foreign: Groups, or samples without one, of which other files or splits have rows too; here their rows get
            `source.id_prefix` in front of id, sample and group.
        view: How rows are laid out, a name of `VIEWS`.
        tally: File in which the part tells how far it is; None for nobody to tell.
        two_threads: One reads and one writes, because no other part keeps the second core busy.
        stamps: How its files were when the run looked at them first.
    """

    index: int
    source: Input
    span: Span | None
    folder: Path
    how: ReadOptions
    fail_on_bad: bool = False
    taken: frozenset[str] = frozenset()
    foreign: frozenset[str] = frozenset()
    view: str = EVAL
    pieces: tuple[int, ...] = ()
    piece: int = 0
    tally: Path | None = None
    two_threads: bool = False
    stamps: Stamps = {}


@dataclass(slots=True)
class PartResult:
    """What a part gave; `ids` are those of its records, in order, `kin` what else `_read_kin` gives for them.

    `stamps` tells of all sources that were read for it, and for parts of its task before it.
    """

    part: FilePart
    shards: list[Shard] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    kin: dict[str, str] = field(default_factory=dict)
    rejects: list[Rejected] = field(default_factory=list)
    warnings: Counter[str] = field(default_factory=Counter)
    rows_read: int = 0
    images: int = 0
    predicted: int = 0
    bytes: int = 0
    stamps: Stamps = field(default_factory=dict)


def split_inputs(
    inputs: Sequence[Input],
    files: Sequence[Records],
    folders: Sequence[Path],
    common: FilePart,
    sources: Sources,
    *,
    shared: bool = False,
) -> Iterator[FilePart]:
    """Cut all files into parts, numbered through.

    Args:
        inputs: The files.
        files: Each as its format reads it.
        folders: For each the existing folder of its shards.
        common: What all parts have in common.
        sources: How the files were when the run looked at them first.
        shared: Other processes take parts as well, so that each is a task.
    """
    index = 0
    for source, records, folder in zip(inputs, files, folders, strict=True):
        # The format is told once, and not by every part again.
        how = replace(common.how, format=records.format)
        stamps = sources.select(str(file) for file in (source.path, *source.more))
        whole = replace(common, index=index, source=source, folder=folder, how=how, stamps=stamps)
        for part in split_file(whole, records, read_on=common.two_threads and not shared):
            yield part
            index = part.index + 1


def split_file(part: FilePart, records: Records, *, read_on: bool) -> Iterator[FilePart]:
    """Cut a file into parts, while those before are being converted.

    Args:
        part: The whole file, with the place of its first part.
        records: The file as its format reads it.
        read_on: One task shall read the whole file, so that nobody reads it twice to find where to cut.

    Yields:
        Parts in order; one that reads on cuts itself in the same places.

    Raises:
        Error: As the source's `cut`.
    """
    cut, sizes = _choose_cutter(part.source, records, part.how)
    if cut is None:
        yield part
    elif read_on and part.source.path.suffix.lower() in _OFFSETS:
        yield replace(part, pieces=sizes)
    else:
        for index, span in enumerate(cut(part.source.path, sizes), part.index):
            yield replace(part, index=index, span=span)


def count_most_parts(inputs: Sequence[Input], files: Sequence[Records], how: ReadOptions) -> int:
    """Count the parts that files may have; a few rows more or less in each may make it fewer."""
    counts = 0
    for source, records in zip(inputs, files, strict=True):
        cut, sizes = _choose_cutter(source, records, how)
        if cut is None:
            counts += 1
        elif source.path.suffix.lower() in _OFFSETS:
            counts += len(sizes)
        else:
            counts += sum(1 for _ in cut(source.path, sizes))
    return counts


def _choose_cutter(
    source: Input, records: Records, how: ReadOptions
) -> tuple[Callable[..., Iterator[Span]] | None, tuple[int, ...]]:
    """Give what cuts a file and the bytes of each piece; None where it stays whole."""
    path, suffix = source.path, source.path.suffix.lower()
    # A framework's reading looks at whole columns, and a limit ends the file early.
    whole = not records.plugin.cuttable or how.limit is not None or how.read_as is not None
    size = 0 if whole or suffix not in READERS or not path.is_file() else path.stat().st_size
    weight = estimate_bytes(source, how, size) if size > SHORT_LIST and suffix in _OFFSETS else size
    if weight <= SMALL_FILE:
        return None, ()
    reader = importlib.import_module(f"mmconvert.io.{READERS[suffix]}")
    # A multiple of four, so that as many cores have work to the end. Every part is a little smaller than the one
    # before: it begins later, when the file is looked over up to there.
    count = 4 * math.ceil(weight / (PART_BYTES * (1 + _LAST) / 2) / 4)
    less = min(_LESS, (1 - _LAST) / (count - 1))
    first = size / (count - less * count * (count - 1) / 2)
    return getattr(reader, "cut", None), tuple(math.ceil(first * (1 - less * number)) for number in range(count))


def estimate_bytes(source: Input, how: ReadOptions, size: int) -> int:
    """Estimate the bytes that are read for a file: its own, or those of the images beside it where they are more.

    Args:
        source: A file whose rows say at which byte they begin.
        how: How it is read; nothing is fetched and no video is opened to estimate.
        size: Its own bytes.
    """
    plain = replace(how, first_rows=_SAMPLE, allow_remote=False, frames=None, fps=None, transforms=(), prompt=None)
    # What is not whole is told by those who read it.
    with watch_apart(Sources()), contextlib.suppress(Error):
        records = Records(source, plain)
        found = [(records.where.offset or 0, _sum_image_bytes(record)) for record in records]
        images = sum(weight for _, weight in found)
        if records.rows_read == _SAMPLE and found:
            passed = found[-1][0] - found[0][0]
            images = (images - found[-1][1]) * size // passed if passed else 0
        return max(size, images)
    return size


def _sum_image_bytes(record: Record) -> int:
    return sum(len(image.bytes or b"") for image in (*record.images, *record.attachments))


class PartError(Error):
    """A part was refused; `rejects` are the rows of it that were refused before."""

    def __init__(self, message: str, rejects: Sequence[Rejected]) -> None:
        # Both in `args`: the error crosses processes.
        super().__init__(message, rejects)
        self.rejects = list(rejects)

    def __str__(self) -> str:
        """Give the message alone."""
        return str(self.args[0])


def convert_part(part: FilePart) -> list[PartResult]:
    """Convert one part, or all parts of a file that is read on, into shards in its folder.

    Returns:
        One result, or one for each part that is read on; their `part` can be converted alone.

    Raises:
        PartError: The file was refused, or a row was under `fail_on_bad`.
        ChangedError: A file is no longer as the run has found it.
    """
    with watch_apart(Sources()) as sources:
        sources.join(part.stamps)
        results = _convert(part)
    results[-1].stamps = sources.stamps
    return results


def _convert(part: FilePart) -> list[PartResult]:
    records = Records(part.source, part.how, part.span)
    results: list[PartResult] = []
    closed: list[Future[list[Shard]]] = []
    try:
        writer = WritingThread() if part.two_threads else WritingHere()
        counted = Tally(part.tally, part.index, part.source.path, part.span, part.how.limit)
        with collect_rarely(), contextlib.closing(counted) as tally, writer as writing:
            for piece, found in _split_pieces(part, records):
                results.append(PartResult(piece))
                closed.append(_copy(results[-1], found, records, writing, tally))
    except (UsageError, ChangedError):
        raise
    except MemoryError:
        raise PartError(str(build_memory_error(part.source.path)), []) from None
    except Error as error:
        rejects = [reject for result in results[:-1] for reject in result.rejects]
        raise PartError(str(error), [*rejects, *records.rejects]) from None
    for result, shards in zip(results, closed, strict=True):
        result.shards = shards.result()
    return results


def _split_pieces(part: FilePart, records: Records) -> Iterator[tuple[FilePart, Iterator[Record | PlainBlock]]]:
    # A view that stores records otherwise, and a part whose ids clash, look at each.
    by_blocks = VIEWS[part.view].of is None and not part.foreign
    if not part.pieces:
        yield part, records.read_blocks() if by_blocks else iter(records)
        return
    for number, (span, found) in enumerate(records.read_pieces(part.pieces, by_blocks=by_blocks)):
        yield replace(part, span=span, pieces=(), piece=number), found


def _copy(
    result: PartResult,
    found: Iterator[Record | PlainBlock],
    records: Records,
    writing: WritingThread | WritingHere,
    tally: Tally,
) -> Future[list[Shard]]:
    part, view = result.part, VIEWS[result.part.view]
    seen = set(part.taken)
    writer = PartWriter(part.folder, f"part-{part.index:05d}-{part.piece:05d}", view, writing)
    for record in _copy_blocks(result, found, records, writer, tally, seen):
        if part.fail_on_bad and records.rejects:
            break
        paired = record.preference is not None
        try:
            if records.format == OURS:
                record = remove_response(record)
            if view.of is not None:
                asked, record = gains_answer_turn(keep_chosen(record)), view.of(record)
                result.warnings[ANSWER_TURN] += asked and not gains_answer_turn(record)
        except RowError as error:
            records.rejects.append(Rejected.of(error, records.where, record.id))
            records.counted -= 1
            continue
        kin = _read_kin(record)
        renamed = kin in part.foreign
        if renamed:
            record = _add_prefix(record, part.source.id_prefix)
            kin = _read_kin(record)
        before = len(seen)
        seen.add(record.id)
        if len(seen) == before:
            message = f"the id is also in an earlier row {show(record.id)}. Give every row an id of its own."
            records.rejects.append(Rejected(records.where, "id.duplicate", message, "id", record.id))
            records.counted -= 1
            continue
        result.ids.append(record.id)
        if kin != record.id:
            result.kin[record.id] = kin
        if renamed:
            result.warnings[_RENAMED] += 1
        if images := (*record.images, *record.attachments):
            result.warnings[_KEPT_ADDRESS] += sum(image.bytes is None for image in images)
        if paired and part.view != PREFERENCE:
            result.warnings[PAIRS] += 1
        size = estimate_weight(record)
        writer.add(record, estimate_memory(record, size))
        result.images += len(record.images)
        result.predicted += record.prediction is not None
        result.bytes += size
        tally.add(size, records.where)
    if part.fail_on_bad and records.rejects:
        raise Error(f"{records.rejects[0]} Stopped, because --on-bad fail was given.")
    result.rejects, result.rows_read = records.rejects, records.rows_read
    result.warnings += records.warnings  # which drops what was counted zero times
    return writer.close()


def _copy_blocks(
    result: PartResult,
    found: Iterator[Record | PlainBlock],
    records: Records,
    writer: PartWriter,
    tally: Tally,
    seen: set[str],
) -> Iterator[Record]:
    """Copy blocks whose ids are all new, and give whatever is to be looked at by itself."""
    for block in found:
        if result.part.fail_on_bad and records.rejects:
            return
        if isinstance(block, Record):
            yield block
            continue
        ids = [chat.id for chat in block.chats]
        fresh = set(ids)
        if len(fresh) < len(ids) or not seen.isdisjoint(fresh):
            last = records.where
            for number, chat in enumerate(block.chats):
                records.where = block.find_place(number)
                yield chat.to_record()
            records.where = last
            continue
        seen |= fresh
        result.ids += ids
        result.kin.update((chat.id, chat.sample) for chat in block.chats if chat.sample != chat.id)
        size = 0
        for chat in block.chats:
            writer.add(chat, chat.memory)
            size += chat.weight
        result.bytes += size
        tally.add(size, records.where, len(ids))


def _read_kin(record: Record) -> str:
    """Give what a row shares with those that it belongs to: its group, or its sample without one."""
    return record.sample if record.group is None else record.group


def _add_prefix(record: Record, prefix: str) -> Record:
    """Tell a row, its copies and the rows of its group from those of another file that are called alike."""
    group = None if record.group is None else f"{prefix}{record.group}"
    return replace(record, id=f"{prefix}{record.id}", sample=f"{prefix}{record.sample}", group=group)


def reconvert_duplicates(results: list[PartResult], kept: Iterable[str] = ()) -> bool:
    """Convert again the parts that repeat an id of an earlier part, of whatever split.

    Parts are converted apart and do not see each other's ids; repeats between them are rare. A repeat in
    the same file and split is refused, any other gets the words in front that tell the files apart, and with it
    the rows that it belongs to.

    Args:
        results: Those of all parts in order; replaced in place where a part is converted again.
        kept: Ids that stand in the dataset already.

    Returns:
        Whether any part was converted again.
    """
    again = False
    owners: dict[str, Input | None] = dict.fromkeys(kept)
    for number, result in enumerate(results):
        part = result.part
        # The second time for a name that is taken even with the file's words in front.
        for _ in range(2):
            repeated = owners.keys() & results[number].ids
            if not repeated:
                break
            again = True
            foreign = {key for key in repeated if not part.foreign and owners[key] != part.source}
            kin = {results[number].kin.get(key, key) for key in foreign}
            part = replace(part, taken=part.taken | (repeated - foreign), foreign=part.foreign | kin)
            for shard in results[number].shards:
                (part.folder / shard.file).unlink()
            [results[number]] = convert_part(part)
        if number + 1 < len(results):
            owners.update(dict.fromkeys(results[number].ids, part.source))
    return again
