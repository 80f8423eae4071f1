"""One part of a conversion: a span of a file, a file, or several small ones, into shards; the same on every engine.

What a part writes depends on the part alone, so that any number of workers gives the same bytes. Where
files are cut, and which of them share a part, depends on their bytes alone.
"""

import contextlib
import importlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from mmconvert.core.collect import collect_rarely
from mmconvert.core.errors import Error, RowError, UsageError, build_memory_error, show
from mmconvert.core.plain_chats import PlainBlock
from mmconvert.core.record import Record, estimate_memory, estimate_weight, keep_chosen
from mmconvert.core.rows import DELIMITERS, READERS, Rejected, Span
from mmconvert.dataset.shards import Shard
from mmconvert.dataset.views import ANSWER_TURN, EVAL, PREFERENCE, VIEWS, gains_answer_turn, remove_response
from mmconvert.io import list_span_ends
from mmconvert.pipeline.inputs import Input
from mmconvert.pipeline.part_writer import PartWriter, Tally, WritingHere, WritingThread
from mmconvert.pipeline.read import OURS, ReadOptions, Records
from mmconvert.storage.source_files import ChangedError, Sources, Stamps, watch_apart

PART_BYTES = 256 << 20
"""Most bytes of a file in one part; about the size of the shard it gives."""
SMALL_FILE = 64 << 20
"""A file up to this size, with the images beside it, is one part; a larger one is four at least. Such files, one
behind the other, share parts: four at least where together they are larger than a quarter of this."""
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
_SHORT_FILE, _SAMPLED_FILES = 1 << 20, 4
"""Of neighbours of up to so many bytes so many are looked into: the others have as long images beside them."""
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
        behind: Further small files, whose rows follow in the same shards; these go where this file's do.
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
    behind: tuple["FilePart", ...] = ()

    @property
    def files(self) -> tuple["FilePart", ...]:
        """The part itself, for its own file, and those of the files behind."""
        return (self, *self.behind)


@dataclass(slots=True)
class PartResult:
    """What one file of a part gave; `ids` are those of its records, in order, `kin` what `_read_kin` gives for others.

    `stamps` tells of all sources that were read for it, and for results of its task before it. The shards of several
    files stand with the first of them.
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


class PartPlan(msgspec.Struct, frozen=True):
    """How neighbouring files become parts: small ones one together, any other one as many as it has pieces.

    Attributes:
        files: Places of the files among all of them.
        cut: What cuts the one file; None where files stay whole.
        sizes: Bytes of each piece.
    """

    files: Sequence[int]
    cut: Callable[..., Iterator[Span]] | None = None
    sizes: tuple[int, ...] = ()


def plan_parts(inputs: Sequence[Input], files: Sequence[Records], how: ReadOptions) -> list[PartPlan]:
    """Find out which files share a part, and which are cut.

    Args:
        inputs: The files.
        files: Each as its format reads it.
        how: How they are read.
    """
    plans: list[PartPlan] = []
    weights = _weigh_files(inputs, files, how)
    # Frames of videos take their time whatever bytes a file has.
    joined = how.frames is None and how.fps is None

    def describe(number: int) -> tuple[Any, ...]:
        source, weight = inputs[number], weights[number]
        small = joined and weight is not None and weight <= SMALL_FILE and not source.more
        return (source.split, files[number].format) if small else (number,)

    for kind, found in groupby(range(len(inputs)), describe):
        run = list(found)
        if len(kind) > 1:
            plans += map(PartPlan, _group_small(run, [weights[number] or 0 for number in run]))
        else:
            plans.append(_plan_file(run, inputs[run[0]], files[run[0]], how, weights[run[0]]))
    return plans


def _weigh_files(inputs: Sequence[Input], files: Sequence[Records], how: ReadOptions) -> list[int | None]:
    """Estimate the bytes that are read for each file; None for a folder."""
    sizes = [source.path.stat().st_size if source.path.is_file() else None for source in inputs]
    weights: list[int | None] = []

    def describe(number: int) -> tuple[Any, ...]:
        size = sizes[number]
        short = size is not None and size <= _SHORT_FILE and _has_offsets(inputs[number])
        return (inputs[number].split, files[number].format) if short else (number,)

    for _, found in groupby(range(len(inputs)), describe):
        run = list(found)
        if len(run) > 1:
            looked = run[:: math.ceil(len(run) / _SAMPLED_FILES)]
            own = sum(sizes[number] or 0 for number in looked)
            whole = sum(estimate_bytes(inputs[number], how, sizes[number] or 0) for number in looked)
            weights += [(sizes[number] or 0) * whole // max(1, own) for number in run]
            continue
        size = sizes[run[0]]
        looked_into = size is not None and size > SHORT_LIST and _has_offsets(inputs[run[0]])
        # What stays one part whatever it weighs is not looked into.
        if size is not None and looked_into and _is_cuttable(files[run[0]], how):
            size = estimate_bytes(inputs[run[0]], how, size)
        weights.append(size)
    return weights


def _has_offsets(source: Input) -> bool:
    return source.path.suffix.lower() in _OFFSETS


def _is_cuttable(records: Records, how: ReadOptions) -> bool:
    # A framework's reading looks at whole columns, and a limit ends the file early.
    return records.plugin.cuttable and how.limit is None and how.read_as is None


def _group_small(run: Sequence[int], weights: Sequence[int]) -> Iterator[Sequence[int]]:
    """Cut neighbours between files where one file of their bytes would be cut between rows."""
    whole = sum(weights)
    if whole <= SMALL_FILE // 4:
        yield run
        return
    ends = list_span_ends(_size_pieces(whole, whole))
    end = 0

    def find_end(place: tuple[int, int]) -> int:
        nonlocal end
        while place[1] >= end:
            end = next(ends)
        return end

    places = zip(run, accumulate(weights, initial=0), strict=False)
    for _, group in groupby(places, find_end):
        yield [number for number, _ in group]


def _plan_file(place: Sequence[int], source: Input, records: Records, how: ReadOptions, weight: int | None) -> PartPlan:
    suffix = source.path.suffix.lower()
    if weight is None or suffix not in READERS or not _is_cuttable(records, how):
        return PartPlan(place)
    size = source.path.stat().st_size
    weight = size if size <= SHORT_LIST else weight
    if weight <= SMALL_FILE:
        return PartPlan(place)
    cut = getattr(importlib.import_module(f"mmconvert.io.{READERS[suffix]}"), "cut", None)
    return PartPlan(place) if cut is None else PartPlan(place, cut, _size_pieces(size, weight))


def _size_pieces(size: int, weight: int) -> tuple[int, ...]:
    """Give the bytes of each piece of a file that is larger than a small one."""
    # A multiple of four, so that as many cores have work to the end. Every part is a little smaller than the one
    # before: it begins later, when the file is looked over up to there.
    count = 4 * math.ceil(weight / (PART_BYTES * (1 + _LAST) / 2) / 4)
    less = min(_LESS, (1 - _LAST) / (count - 1))
    first = size / (count - less * count * (count - 1) / 2)
    return tuple(math.ceil(first * (1 - less * number)) for number in range(count))


def split_inputs(
    inputs: Sequence[Input],
    files: Sequence[Records],
    folders: Sequence[Path],
    common: FilePart,
    sources: Sources,
    plans: Sequence[PartPlan],
    *,
    shared: bool = False,
) -> Iterator[FilePart]:
    """Make the parts of all files, numbered through; each file behind another has a number of its own.

    Args:
        inputs: The files.
        files: Each as its format reads it.
        folders: For each the existing folder of its shards.
        common: What all parts have in common.
        sources: How the files were when the run looked at them first.
        plans: What `plan_parts` gives for the files.
        shared: Other processes take parts as well, so that each is a task.
    """
    index = 0
    # The format is told once, and not by every part again.
    told = cache(lambda format: replace(common.how, format=format))
    for plan in plans:
        first, *behind = (
            replace(
                common,
                index=index + number,
                source=inputs[place],
                folder=folders[place],
                how=told(files[place].format),
                stamps=sources.select(str(file) for file in (inputs[place].path, *inputs[place].more)),
            )
            for number, place in enumerate(plan.files)
        )
        for part in split_file(replace(first, behind=tuple(behind)), plan, read_on=common.two_threads and not shared):
            yield part
            index = part.index + len(part.files)


def split_file(part: FilePart, plan: PartPlan, *, read_on: bool) -> Iterator[FilePart]:
    """Cut a file into parts, while those before are being converted.

    Args:
        part: The whole file, with the place of its first part.
        plan: How it is cut.
        read_on: One task shall read the whole file, so that nobody reads it twice to find where to cut.

    Yields:
        Parts in order; one that reads on cuts itself in the same places.

    Raises:
        Error: As the source's `cut`.
    """
    if plan.cut is None:
        yield part
    elif read_on and _has_offsets(part.source):
        yield replace(part, pieces=plan.sizes)
    else:
        for index, span in enumerate(plan.cut(part.source.path, plan.sizes), part.index):
            yield replace(part, index=index, span=span)


def count_most_parts(inputs: Sequence[Input], plans: Sequence[PartPlan]) -> int:
    """Count the parts that files may have; a few rows more or less in each may make it fewer."""
    counts = 0
    for plan in plans:
        source = inputs[plan.files[0]]
        if plan.cut is None:
            counts += 1
        elif _has_offsets(source):
            counts += len(plan.sizes)
        else:
            counts += sum(1 for _ in plan.cut(source.path, plan.sizes))
    return counts


def estimate_bytes(source: Input, how: ReadOptions, size: int) -> int:
    """Estimate the bytes that are read for a file: its own, or those of the images beside it where they are more.

    Args:
        source: A file whose rows say at which byte they begin.
        how: How it is read; nothing is fetched and no video is opened to estimate.
        size: Its own bytes.
    """
    plain = replace(how, first_rows=_SAMPLE, allow_remote=False, frames=None, fps=None, transforms=(), prompt=None)
    plain = replace(plain, where=None, drawn=None)
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
        One result for each file of the part, or for each part that is read on. `part` of the first file, with those
        behind, or that of any part that is read on, can be converted alone.

    Raises:
        PartError: A file was refused, or a row was under `fail_on_bad`.
        ChangedError: A file is no longer as the run has found it.
    """
    with watch_apart(Sources()) as sources:
        for one in part.files:
            sources.join(one.stamps)
        results = _convert(part)
    results[-1].stamps = sources.stamps
    return results


def _convert(task: FilePart) -> list[PartResult]:
    results: list[PartResult] = []
    closed: list[tuple[PartResult, Future[list[Shard]]]] = []
    part, records = task, None
    try:
        with collect_rarely(), WritingThread() if task.two_threads else WritingHere() as writing:
            writer = None
            for part in task.files:
                records = Records(part.source, part.how, part.span)
                counted = Tally(task.tally, part.index, part.source.path, part.span, part.how.limit)
                with contextlib.closing(counted) as tally:
                    for piece, found in _split_pieces(part, records):
                        if writer is None:
                            name = f"part-{piece.index:05d}-{piece.piece:05d}"
                            writer = PartWriter(task.folder, name, VIEWS[task.view], writing)
                        results.append(PartResult(piece))
                        _copy(results[-1], found, records, writer, tally)
                        if part.pieces:
                            closed.append((results[-1], writer.close()))
                            writer = None
            if writer is not None:
                closed.append((results[0], writer.close()))
    except (UsageError, ChangedError):
        raise
    except MemoryError:
        raise PartError(str(build_memory_error(part.source.path)), []) from None
    except Error as error:
        rejects = [reject for result in results[:-1] for reject in result.rejects]
        raise PartError(str(error), [*rejects, *(records.rejects if records is not None else ())]) from None
    for result, shards in closed:
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
    writer: PartWriter,
    tally: Tally,
) -> None:
    part, view = result.part, VIEWS[result.part.view]
    seen = set(part.taken)
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
            result.images += len(chat.images)
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
    number = 0
    while number < len(results):
        behind = number + len(results[number].part.files)
        # The second time for a name that is taken even with the file's words in front.
        for _ in range(2):
            files = _tell_apart(results[number:behind], owners)
            if files is None:
                break
            again = True
            for shard in results[number].shards:
                (files[0].folder / shard.file).unlink()
            results[number:behind] = convert_part(replace(files[0], behind=tuple(files[1:])))
        if behind < len(results):
            for result in results[number:behind]:
                owners.update(dict.fromkeys(result.ids, result.part.source))
        number = behind
    return again


def _tell_apart(results: Sequence[PartResult], owners: Mapping[str, Input | None]) -> list[FilePart] | None:
    """Give the files of a part as they are to be converted, so that their ids are new; None where they are.

    Args:
        results: What each file of the part gave.
        owners: Ids that are taken, each with the file that has it.
    """
    files = [result.part for result in results]
    # A file's new ids count for those behind it, so that one more conversion tells all apart.
    inside: dict[str, Input] = {}
    for number, result in enumerate(results):
        part, ids = result.part, result.ids
        repeated = owners.keys() & ids | inside.keys() & ids
        if repeated:
            found = {key: owners[key] if key in owners else inside[key] for key in repeated}
            foreign = {key for key in repeated if not part.foreign and found[key] != part.source}
            kin = {result.kin.get(key, key) for key in foreign}
            files[number] = replace(part, taken=part.taken | (repeated - foreign), foreign=part.foreign | kin)
            prefix = part.source.id_prefix
            left = (key for key in ids if key not in repeated or key in foreign)
            ids = [f"{prefix}{key}" if result.kin.get(key, key) in kin else key for key in left]
        if number + 1 < len(results):
            inside.update(dict.fromkeys(ids, part.source))
    return None if all(new is result.part for new, result in zip(files, results, strict=True)) else files
