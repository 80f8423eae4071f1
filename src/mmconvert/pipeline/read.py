"""The records of one file, skipped rows set aside."""

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec.structs import replace

from mmconvert.core.conditions import parse_condition
from mmconvert.core.errors import Error, RowError, UsageError, build_memory_error, is_out_of_memory, show
from mmconvert.core.option_fields import Place, copy_options
from mmconvert.core.plain_chats import PlainBlock, PlainSource
from mmconvert.core.record import Image, Record
from mmconvert.core.rows import Rejected, Row, Span, Where
from mmconvert.core.text.image_markers import NO_SAMPLING
from mmconvert.core.text.options import remove_option_names
from mmconvert.core.text.turns import change_prompt
from mmconvert.core.validation import check_record
from mmconvert.dataset.views import remove_response
from mmconvert.images.addresses import mentions_address, note_addresses
from mmconvert.images.frame_process import MOST_FRAMES
from mmconvert.images.frames_ahead import FramesAhead
from mmconvert.images.loader import MAX_IMAGE_BYTES, ImageLoader
from mmconvert.images.prefetch import decode_ahead, fetch_ahead
from mmconvert.images.video import build_sampling
from mmconvert.io import list_span_ends
from mmconvert.io.detect import guess, sample
from mmconvert.io.field_mapping import check_mapping, parse_mapping
from mmconvert.io.tables import format_row, is_table, refuse_controls
from mmconvert.pipeline.diagnose import find_further_problems, find_swallowed_rows, list_texts
from mmconvert.pipeline.inputs import Input
from mmconvert.pipeline.piece_numbers import PieceNumbers
from mmconvert.pipeline.plain_blocks import has_blocks, read_blocks
from mmconvert.pipeline.prompting import build_prompt_step
from mmconvert.pipeline.rejects import LONGEST_KEPT, drop_row, keep_row, read_row_id
from mmconvert.pipeline.sampling import hash_row, list_stored_places
from mmconvert.plugins.arguments import parse_spec
from mmconvert.plugins.format import Context, Format, StatedNumbers
from mmconvert.plugins.registry import load, name_by_content
from mmconvert.plugins.transform import Step, apply_steps, load_steps
from mmconvert.storage.fetcher import AT_ONCE, PER_HOST, Fetcher
from mmconvert.storage.http import Limits
from mmconvert.storage.object_store import is_url

MOST_REJECTS = 100_000
"""Refused rows of one file, or a part of one: each is kept with its reason. More are no slips of a few rows."""

UNMATCHED, UNDRAWN = "records that do not match --where", "rows that --sample does not draw"
"""Counted in `Records.warnings`; whoever tells of them has words of their own."""

OURS = "mmconvert"
"""The format of datasets of this project."""

ImageRoot = Annotated[str | Path, Place(exists=True, folder=True, is_remote=is_url)]
"""A folder that exists, or the URL of one in a store, which is asked when a row is read."""


class FileOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How files are read that are looked at alone: options and keywords of `check` and `inspect`."""

    format: str | None = None
    """Input format. [default: detected]"""
    image_root: tuple[ImageRoot, ...] = ()
    """Directory that relative image paths start from, or its URL (s3://...)."""
    map: tuple[str, ...] = ()
    """Column (or dotted path) that holds FIELD: image, question, options, answer, id, ...; repeatable."""
    frames: Annotated[int, msgspec.Meta(ge=1, le=MOST_FRAMES)] | None = None
    """Turn each video into N evenly spaced frames."""
    fps: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Turn each video into frames at 0, 1/N, 2/N, ... seconds."""
    frame_format: Literal["jpeg", "png"] = "jpeg"
    """Image format of video frames."""

    def reading(self, **others: Any) -> "ReadOptions":
        """Say how each file is read, with further fields of `ReadOptions`."""
        return copy_options(ReadOptions, self, image_roots=self.image_root, mapping=self.map, **others)


class ReadOptions(msgspec.Struct, frozen=True):
    """How to read; the options of `mmconvert convert` that bear on one file.

    Attributes:
        format: Format name or `file.py@NAME`, None to guess from the content.
        image_roots: Folders of relative image paths, or their URLs; () for the input file's own folder.
        mapping: `FIELD=COLUMN` each, of a table without a framework's names.
        dataset: Benchmark name.
        task: Task of every sample. [default: detected]
        decode: Decode every image once (`--verify decode`).
        max_image_bytes: Largest image.
        max_rows: Most rows of one file, None for any number.
        keep_urls: Keep image URLs as references instead of fetching them.
        allow_remote: Fetch http(s) images from public hosts.
        allow_hosts: Hosts, `NAME[:PORT]`, that may be at private addresses all the same.
        at_once: Most images that are being fetched.
        per_host: Most of them from one host, except from `allow_hosts`.
        fetched: Folder that keeps what was fetched for the next run, None for none.
        limit: Stop after the row that gives the record of this number, None for all.
        where: Condition that records have to match, None for all; others count as `UNMATCHED`.
        sample: How many rows `drawn` draws, for the manifest.
        drawn: Read the rows whose `hash_row` with `seed` is up to this, None for all; others count as `UNDRAWN`.
        transforms: Steps that every record goes through, `NAME:k=v,...` each, in order.
        seed: Random seed of transforms.
        prompt: `NAME:k=v,...` of the prompt template that records get after the transforms, None for the format's.
        prompt_suffix: Text put behind the last user turn, None for none.
        read_as: Framework whose lossy way of reading is wanted, None to lose nothing.
        every_problem: Look for further problems of a row that is refused; `rejects` may then name it several times.
        first_rows: Read no more than so many rows, refused ones among them, None for all.
        keep_refused: Leave what could be read of a refused row in its `Rejected`; for scoring, only numbers and texts
            of up to `LONGEST_KEPT` letters, by which its question is found.
        for_scoring: Read predictions to score them, see `Context`.
        frames: Show so many frames of each video, evenly spaced; without it and `fps`, rows with videos are refused.
        fps: Show so many frames of each second of a video.
        frame_format: How frames are stored, jpeg or png.
        video_workers: Videos that are read at the same time; records are the same for any number.
        hashed: Give the sha256 of each image; only `OURS` may be read without.
    """

    format: str | None = None
    image_roots: tuple[Path | str, ...] = ()
    mapping: tuple[str, ...] = ()
    dataset: str | None = None
    task: str | None = None
    decode: bool = False
    max_image_bytes: int = MAX_IMAGE_BYTES
    max_rows: int | None = None
    keep_urls: bool = False
    allow_remote: bool = False
    allow_hosts: tuple[str, ...] = ()
    at_once: int = AT_ONCE
    per_host: int = PER_HOST
    fetched: Path | None = None
    limit: int | None = None
    where: str | None = None
    sample: int | None = None
    drawn: int | None = None
    transforms: tuple[str, ...] = ()
    seed: int = 0
    prompt: str | None = None
    prompt_suffix: str | None = None
    read_as: str | None = None
    every_problem: bool = False
    first_rows: int | None = None
    keep_refused: bool = False
    for_scoring: bool = False
    frames: int | None = None
    fps: float | None = None
    frame_format: str = "jpeg"
    video_workers: int = 1
    hashed: bool = True

    def list_facts(self) -> dict[str, Any]:
        """Give what records depend on beside their files, as a manifest tells it; `code` names files of the user's."""
        specs = (parse_spec(spec)[0] for spec in (*self.transforms, self.prompt) if spec is not None)
        named = {name: name_by_content(name) for name in (self.format, self.read_as, *specs) if name is not None}
        code = [content for name, content in named.items() if content != name]
        sampled = self.frames is not None or self.fps is not None
        sampling = {"frames": self.frames, "fps": self.fps, "frame_format": self.frame_format} if sampled else {}
        return {
            "dataset": self.dataset,
            "task": self.task,
            **({"map": list(self.mapping)} if self.mapping else {}),
            "verify": "decode" if self.decode else "structure",
            "limit": self.limit,
            "keep_urls": self.keep_urls,
            "allow_remote": self.allow_remote,
            "transforms": list(self.transforms),
            "seed": self.seed,
            "prompt": self.prompt,
            "prompt_suffix": self.prompt_suffix,
            "read_as": self.read_as,
            **sampling,
            **({"where": self.where} if self.where is not None else {}),
            **({"sample": self.sample} if self.sample is not None else {}),
            **({"code": code} if code else {}),
        }


Reading = Callable[[Path, Iterable[Row | Rejected]], Iterator[Row | Rejected]]
"""What a file in `mmconvert/readings` exports: (file, rows as its format reads them) -> rows as a framework reads
them."""


class Records:
    """The records of one file; iterate, then look at the counts.

    Attributes:
        format: Name of the format.
        reason: Why it was taken.
        columns: Which column of a plain table is taken for which field, as options to type; "" for other formats.
        rejects: Refused rows of the last iteration.
        mended: With `every_problem`, place and id of the skipped rows that would have given a record.
        rows_read: Rows seen in the last iteration.
        counted: Records that count for the limit; whoever takes them may take back one that is of no use.
        where: Place of the row that gave the latest record.
        warnings: Remarks of the last iteration with their counts.
    """

    def __init__(self, source: Input, options: ReadOptions, span: Span | None = None) -> None:
        """Find the format; nothing but the file's head is read.

        Args:
            source: The file, with its split and subset.
            options: How to read it.
            span: Piece of the file to read, None for all.

        Raises:
            UsageError: The file is missing, or the format, a transform or a parameter unknown.
            Error: The format cannot be told, or the file is damaged.
        """
        if (named := source.benchmark) is not None:
            dataset, prompt = options.dataset or named.dataset, options.prompt or named.prompt
            options = replace(options, dataset=dataset, prompt=prompt)
        self._input = source
        self._options = options
        self._span = span
        self._mapping = parse_mapping(options.mapping)
        self._sampling = build_sampling(options.frames, options.fps, options.frame_format)
        given = (options.format, "given by --format") if options.format else source.find_format()
        self.format, self.reason = given or guess(source.path, self._mapping)
        self.plugin: Format = load("mmconvert.formats", self.format)
        if not isinstance(self.plugin, Format):
            raise UsageError(
                f"{self.format}: is not a format {show(self.plugin)}. See mmconvert.plugins.format.Format."
            )
        if self._mapping and self.plugin.describe is None:
            raise UsageError(
                f"--map is for plain tables, and {self.format} has names of its own. Leave one of them out."
            )
        if self._mapping and (columns := sample(source.path).columns):
            check_mapping(self._mapping, columns, source.path)
        self.columns = self.plugin.describe(sample(source.path), self._mapping) if self.plugin.describe else ""
        if source.path.is_dir() and "" not in self.plugin.suffixes:
            files = f"{source.path}/*{min(self.plugin.suffixes, default='')}"
            raise UsageError(f"{source.path}: is a folder, and {self.format} reads files. Name them: {files}")
        # A wrong name or parameter is told before the first row.
        load_steps(options.transforms)
        build_prompt_step(options.prompt)
        self._condition = None if options.where is None else parse_condition(options.where)
        self._reading: Reading | None = load("mmconvert.readings", options.read_as) if options.read_as else None
        self._good: Mapping[str, Any] | None = None
        self.rejects: list[Rejected] = []
        self.mended: list[tuple[Where, str]] = []
        self.warnings: Counter[str] = Counter()
        self.rows_read = self.counted = 0
        self.where = Where(source.path.name, 0)

    def __iter__(self) -> Iterator[Record]:
        """Yield records in order; skipped rows are collected, not raised."""
        return cast(Iterator[Record], self._read(self._read_rows()))

    def read_numbers(self) -> StatedNumbers | None:
        """Read the numbers that a framework itself gives for the file; None where it gives none that can be read."""
        if self._input.more:
            return None
        try:
            return self.plugin.read_numbers(self._input.path)
        except (Error, OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return None

    def read_blocks(self) -> Iterator[Record | PlainBlock]:
        """Yield what iterating does, plain conversations in blocks where the format can read them so."""
        return self._read(self._read_rows_or_blocks())

    def read_pieces(
        self, sizes: Sequence[int], *, by_blocks: bool = False
    ) -> Iterator[tuple[Span, Iterator[Record | PlainBlock]]]:
        """Read the file on in pieces that end where its source's `cut` would end a span.

        Args:
            sizes: As that `cut` takes them.
            by_blocks: Read as `read_blocks` does.

        Yields:
            A piece and what it holds, to be read before the next piece is asked for. All counts are
            of the piece available.
        """
        numbered = PieceNumbers(sizes)
        found = self._read_rows_or_blocks(list_span_ends(sizes)) if by_blocks else self._read_rows()
        for _, rows in groupby(found, numbered):
            first, start = numbered.first, numbered.first.offset or 0
            yield Span(start, numbered.end, first.row, first.line or 1), self._read(rows)

    def _read_rows_or_blocks(self, ends: Iterable[int] = ()) -> Iterator[Row | Rejected | PlainBlock]:
        """Read rows, those behind each other that are plain conversations as blocks; none goes over one of the ends."""
        path, options = self._input.path, self._options
        # Whatever looks at rows or changes records is given them.
        changing = (options.mapping, options.transforms, options.prompt, options.prompt_suffix, options.read_as)
        looking = (options.for_scoring, options.every_problem, options.allow_remote, options.decode)
        limits = (options.limit, options.first_rows, options.drawn, self._sampling)
        counting = any(limit is not None for limit in limits)
        alone = self._input.listed is None and not self._input.more
        if not alone or any((*changing, *looking, counting)) or not has_blocks(path, self.plugin):
            return self._read_rows()
        name = self.format.rpartition("@")[2]
        source = PlainSource(
            *(name, path.name, options.dataset, self._input.subset, options.task, self._input.id_prefix),
            training=self.plugin.plain is not None and self.plugin.plain.training,
        )
        if not source.is_storable:
            return self._read_rows()
        return read_blocks(path, self._span, ends, self.plugin, source, self._build_loader())

    def _read_rows(self) -> Iterator[Row | Rejected]:
        files = (self._input.path, *self._input.more)
        rows: Iterator[Row | Rejected] = chain.from_iterable(self.plugin.rows(path, self._span) for path in files)
        if self._input.listed is not None:
            rows = self._input.listed.rename(rows)
        return self._reading(self._input.path, rows) if self._reading is not None else rows

    def _read(self, rows: Iterator[Row | Rejected | PlainBlock]) -> Iterator[Record | PlainBlock]:
        try:
            yield from self._read_records(rows)
        except (MemoryError, OSError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            raise build_memory_error(f"{self._input.path} behind row {self.rows_read}") from None

    def _read_records(self, rows: Iterator[Any]) -> Iterator[Record | PlainBlock]:
        self.rejects, self.mended, self.rows_read, self.warnings = [], [], 0, Counter()
        options, source, name = self._options, self._input, self.format.rpartition("@")[2]
        fetcher = self._open_fetcher() if options.allow_remote else None
        images = self._build_loader(fetcher.fetch if fetcher else None)
        ahead = FramesAhead(options.video_workers) if self._sampling and options.video_workers > 1 else None
        context = Context(
            replace(images, ahead=ahead),
            name,
            options.dataset,
            source.subset,
            options.task,
            source.id_prefix,
            self._mapping,
            options.for_scoring,
            self.warnings,
        )
        through = self._build_steps(images)
        if options.drawn is not None:
            rows = self._draw(rows, options.drawn)
        rows = islice(rows, options.first_rows)
        if fetcher is not None:
            rows = fetch_ahead(rows, partial(self._list_addresses, context=context), fetcher, options.limit)
        if ahead is not None:
            asking = replace(images, wish=ahead.ask, fetch=None)
            asked = replace(context, images=asking, warnings=Counter(), numbers=set(), videos=set())
            rows = ahead.look_ahead(rows, partial(self._ask_for_videos, context=asked))
        made: Iterator[Any] = (
            item if type(item) is PlainBlock else self._convert_row(item, context, through) for item in rows
        )
        verified = replace(images, decode=options.decode)
        strict = replace(context, images=verified, warnings=Counter(), numbers=set(), videos=set())
        read_strictly = partial(self._convert_row, context=strict, through=through)
        if options.decode:
            made = decode_ahead(made, _list_images, lambda one: read_strictly(one.row))
        self.counted = 0
        try:
            yield from self._take_records(made, read_strictly)
        finally:
            if fetcher is not None:
                fetcher.close()

    def _build_loader(self, fetch: Callable[[str], bytes] | None = None) -> ImageLoader:
        options = self._options
        return ImageLoader.within(
            options.image_roots or (self._input.beside,),
            max_bytes=options.max_image_bytes,
            keep_urls=options.keep_urls,
            fetch=fetch,
            sampling=self._sampling,
            hashed=options.hashed,
        )

    def _take_records(
        self, made: "Iterator[_Made | PlainBlock]", read_strictly: "Callable[[Row], _Made]"
    ) -> Iterator[Record | PlainBlock]:
        """Give the records of rows, and count what becomes of the rows."""
        options = self._options
        for one in made:
            if isinstance(one, PlainBlock):
                self.rows_read += len(one.chats)
                if options.max_rows is not None and self.rows_read > options.max_rows:
                    raise build_too_long_error(self._input, options.max_rows)
                self.where = one.where
                if self._condition is not None:
                    whole, one = one, one.select(self._condition)
                    self.warnings[UNMATCHED] += len(whole.chats) - len(one.chats)
                self.counted += len(one.chats)
                if one.chats:
                    yield one
                continue
            row, rejected = one.row, one.rejected
            self.rows_read += 1
            self.where = row.where
            if options.every_problem and isinstance(row, Row):
                self.warnings.update(find_swallowed_rows(row))
            if options.max_rows is not None and self.rows_read > options.max_rows:
                raise build_too_long_error(self._input, options.max_rows)
            if rejected is not None:
                self._refuse_many_rejects()
                longest = LONGEST_KEPT if options.for_scoring else None
                self.rejects.append(keep_row(rejected, row, longest) if options.keep_refused else drop_row(rejected))
                if options.every_problem:
                    self.rejects += self._find_further(row, rejected, read_strictly)
            elif options.every_problem and not self._good and isinstance(row, Row):
                self._good = format_row(row).fields
            for record in one.records:
                if self._condition is not None and not self._condition.matches(record):
                    self.warnings[UNMATCHED] += 1
                    continue
                self.counted += 1
                yield record
            if options.limit is not None and self.counted >= options.limit:
                return

    def list_places(self) -> Iterator[Where]:
        """List the rows that a sample is drawn from: all, or with `where` those that give a record."""
        if self._condition is None:
            stored = self._input.path.suffix.lower() == ".parquet" or self.format == OURS
            files = [self._input.path, *self._input.more]
            yield from list_stored_places(files) if stored else (item.where for item in self._read_rows())
            return
        places = (self.where for _ in self)
        yield from (next(same) for _, same in groupby(places, lambda where: (where.file, where.row)))

    def _draw(self, rows: Iterator[Row | Rejected], bound: int) -> Iterator[Row | Rejected]:
        for row in rows:
            if hash_row(self._options.seed, self._input.id_prefix, row.where) <= bound:
                yield row
            else:
                self.warnings[UNDRAWN] += 1

    def _open_fetcher(self) -> Fetcher:
        options = self._options
        return Fetcher(
            Limits(options.max_image_bytes),
            hosts=options.allow_hosts,
            at_once=options.at_once,
            per_host=options.per_host,
            folder=options.fetched,
        )

    def _list_addresses(self, row: Row | Rejected, context: Context) -> list[str]:
        """List the addresses of a row's images: those for which its format asks, were each of them an image."""
        if isinstance(row, Rejected) or not mentions_address(row.fields):
            return []
        noting, addresses = note_addresses(context.images)
        trial = replace(context, images=noting, warnings=Counter(), numbers=set(), videos=set())
        with contextlib.suppress(Exception):  # what is wrong with the row is said when it is read
            list(self.plugin.records(row, trial))
        return addresses

    def _ask_for_videos(self, row: Row | Rejected, context: Context) -> None:
        """Let the format ask for the videos of a row; what is wrong with the row is said when it is read."""
        if isinstance(row, Row):
            with contextlib.suppress(Exception):
                for _ in self.plugin.records(row, context):
                    pass

    def _refuse_many_rejects(self) -> None:
        if len(self.rejects) >= MOST_REJECTS:
            first = str(self.rejects[0])
            raise Error(f"{self._input.path}: more than {MOST_REJECTS:,} rows are invalid. The first: {first}")

    def _find_further(self, one: Row | Rejected, first: Rejected, read: Callable[[Row], "_Made"]) -> Iterator[Rejected]:
        row, unread = (one.row, (first, *first.others)) if isinstance(one, Rejected) else (one, ())
        if row is None:
            return
        row = format_row(row)
        if self._good is None:
            good = (item for item in self._read_rows() if isinstance(item, Row) and read(item).rejected is None)
            self._good = next((format_row(item).fields for item in good), {})

        last = _Made(row, ())

        def problem(trial: Row) -> Rejected | None:
            nonlocal last
            still = (cell for cell in unread if trial.fields.get(cell.field) is None)
            last = _Made(trial, (), next(still, None))
            last = read(trial) if last.rejected is None else last
            return last.rejected

        yield from find_further_problems(row, first, self._good, problem)
        # An id that the mending put there is none of the row's.
        own, put = list_texts(row.fields, last.row.fields if isinstance(last.row, Row) else {})
        self.mended += [(row.where, record.id) for record in last.records if record.sample in own - put]

    def _refuse_media(self, fields: Mapping[str, Any], shown: Collection[str]) -> None:
        """Refuse the fields of a question about a video or a sound: without it, it would be another question.

        Args:
            fields: The row.
            shown: Fields of videos of which the record shows frames.

        Raises:
            RowError: `media.unsupported`.
        """
        for name in _list_media(tuple(fields)):
            if fields[name] and name not in shown:
                can_show = self.plugin.videos and self._sampling is None and not name.lower().startswith("audio")
                raise RowError("media.unsupported", name, NO_SAMPLING if can_show else _NO_PLACE)

    def _build_steps(self, images: ImageLoader) -> "_Steps":
        options = self._options
        transforms = load_steps(options.transforms, options.seed, images, self.warnings)
        worded = options.prompt or options.prompt_suffix
        reword = build_prompt_step(options.prompt, options.prompt_suffix) if worded else None
        if self.format != OURS:
            return _Steps(remove_option_names, transforms, reword)
        return _Steps(remove_response if transforms or reword is not None else None, transforms, reword)

    def _convert_row(self, row: Row | Rejected, context: Context, through: "_Steps") -> "_Made":
        if isinstance(row, Rejected):
            return _Made(row, (), row)
        for remark in row.remarks:
            context.warn(remark)
        try:
            if not context.for_scoring and is_table(row.where.file):
                refuse_controls(row)
            context.numbers.clear()
            context.videos.clear()
            records = [check_record(record) for record in self.plugin.records(row, context)]
            if context.numbers:
                records = [_mark_numbered(record, context.numbers) for record in records]
            if not context.for_scoring and None in [record.prediction for record in records]:
                self._refuse_media(row.fields, context.videos)
            if through.first is not None:
                records = [through.first(record) for record in records]
            if through.transforms:
                records = [made for record in records for made in apply_steps(record, through.transforms)]
            if (reword := through.reword) is not None:
                change = partial(_reword, reword)
                records = [made for record in records for made in change_prompt(record, change)]
            return _Made(row, records)
        except RowError as error:
            return _Made(row, (), Rejected.of(error, row.where, read_row_id(row)))


def _reword(reword: Callable[[Record], Record], record: Record) -> tuple[Record]:
    return (reword(record),)


def _mark_numbered(record: Record, numbers: Collection[str]) -> Record:
    """Say of a record that its id is the number of its row, where it is."""
    if not record.id.startswith(tuple(numbers)):
        return record
    return replace(record, source=replace(record.source, numbered=True))


_MEDIA = re.compile(r"(?:video|audio)s?(?:_(?:\d+|file|path|url)s?)?", re.IGNORECASE)
"""Columns of videos and sounds."""


_NO_PLACE = "the format has no place for such a video or sound. Leave the row out."


@lru_cache
def _list_media(names: tuple[str, ...]) -> list[str]:
    """List the names that are videos' and sounds'; once for rows that have the same."""
    return [name for name in names if _MEDIA.fullmatch(name)]


class _Steps(msgspec.Struct, frozen=True):
    """What is done with every record of a format, in this order."""

    first: Callable[[Record], Record] | None
    transforms: Sequence[Step]
    reword: Callable[[Record], Record] | None


class _Made(msgspec.Struct, frozen=True, gc=False):
    """What a row gave: records, or the reason why there are none."""

    row: Row | Rejected
    records: Sequence[Record]
    rejected: Rejected | None = None


def _list_images(made: _Made) -> Iterator[Image]:
    for record in made.records:
        yield from record.images
        yield from record.attachments


def build_too_long_error(source: Input, max_rows: int) -> Error:
    """Say that a file has too many rows."""
    return Error(f"{source.path}: holds more than {max_rows:,} rows. Raise --max-rows to read them.")
