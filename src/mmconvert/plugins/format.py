"""What a format is: four small functions, found by file name in `mmconvert/formats`."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from mmconvert.core.deprecation import warn_deprecated
from mmconvert.core.errors import UsageError, suggest_spelling
from mmconvert.core.plain_chats import PlainLine
from mmconvert.core.plugin_struct import PluginStruct
from mmconvert.core.record import NUMBER_DIGITS, Record, Source
from mmconvert.core.rows import DELIMITERS, Rejected, Row, Span
from mmconvert.images.loader import ImageLoader

ImagePlacement = Literal["inline", "files", "original"]
IMAGES: tuple[str, ...] = get_args(ImagePlacement)
"""How a writer stores images: inside the file, as files named by content, or under the source's own names."""


class Context(PluginStruct, frozen=True):
    """What a format may know beside the row.

    Attributes:
        images: Turns references and base64 into checked images.
        format: Name of the format, for `source`.
        dataset: Benchmark name, None when unknown.
        subset: Subset name (the file's stem in a folder of files), None when unknown.
        task: Task forced by the user, None to let the format tell.
        id_prefix: Stands before the numbers of rows without a key, where several files meet.
        mapping: Field and column each, as `--map` names them.
        for_scoring: Predictions are read to be scored: what only a question must have (options in their number, an
            answer that is one of them) is not demanded, so that a framework's recipe counts the rows it counts.
        warnings: How often each remark was made; shown once, with its count.
        numbers: Ids that `numbered` gave, for whoever called the format to tell them from a source's own. A format that
            numbers rows within a part of the source, such as a category, adds its ids.
        videos: Fields of the row whose videos its frames were taken from.
    """

    images: ImageLoader
    format: str
    dataset: str | None = None
    subset: str | None = None
    task: str | None = None
    id_prefix: str = ""
    mapping: tuple[tuple[str, str], ...] = ()
    for_scoring: bool = False
    warnings: Counter[str] = msgspec.field(default_factory=Counter)
    numbers: set[str] = msgspec.field(default_factory=set)
    videos: set[str] = msgspec.field(default_factory=set)

    @property
    def pictures(self) -> ImageLoader:
        """`images`, under the name that plug-ins know from before the first release; deprecated."""
        warn_deprecated("Context.pictures", "Context.images", "0.3")
        return self.images

    def warn(self, message: str) -> None:
        """Count a remark that needs no action but should be seen."""
        self.warnings[message] += 1

    def numbered(self, row: Row) -> str:
        """Give an id to a row whose source has none: its record number, nine digits."""
        number = f"{self.id_prefix}{row.where.row:0{NUMBER_DIGITS}d}"
        self.numbers.add(number)
        return number

    def source(self, row: Row) -> Source:
        """Say where a record came from."""
        return Source(self.format, row.where.file, row.where.row)


class Target(PluginStruct, frozen=True):
    """Where and how a writer writes.

    Attributes:
        path: The file to write (a temporary name; published by the caller).
        images: One of `IMAGES`; None for the format's own way.
        image_dir: Directory for image files.
        columns: Named column set of the format, None for its own.
        csv_safe: Escape cells that a spreadsheet would run as a formula.
        name: The name the file will have once it is published; None for the name of `path`.
        folder: `path` is a folder, empty, that the writer fills; only for a format with `writes_folder`.
        first_row: Rows of the output in front of those that are written; only for a format with `splittable`.
    """

    path: Path
    images: str | None = None
    image_dir: Path | None = None
    columns: str | None = None
    csv_safe: bool = False
    name: str | None = None
    folder: bool = False
    first_row: int = 0


class Loss(PluginStruct, frozen=True):
    """Something of a record that the target format cannot hold.

    Attributes:
        id: Id of the record, "" where the whole file is meant.
        field: Column or further field that is meant.
        message: Why it cannot be held, or the status of it.
        left_out: The whole record is not written.
        remark: Row, images and turns are all there: what stays behind is metadata (a group, an id, a field of the
            source), or says itself elsewhere. It is shown once with a count, and `export` ends with 0.
    """

    id: str
    field: str
    message: str
    left_out: bool = False
    remark: bool = False


class Sample(PluginStruct, frozen=True):
    """The head of a file, for guessing: suffix, field names in first-seen order, first rows."""

    path: Path
    suffix: str
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]

    def find_missing(self, names: Iterable[str], kind: str = "column") -> str | None:
        """Name the first column or field of a format that the file lacks, None where it has all."""
        missing = next((name for name in names if name not in self.columns), None)
        return None if missing is None else f"no {kind} {missing!r}"

    def find_clash(self, names: Iterable[str], kind: str = "column") -> str | None:
        """Name the first column or field of another format that the file has, None where it has none."""
        clash = next((name for name in names if name in self.columns), None)
        return None if clash is None else f"it has a {kind} {clash!r}"


class StatedNumbers(PluginStruct, frozen=True):
    """Numbers that a framework itself wrote for a file of its results.

    Attributes:
        source: Where they stand: `the file`, or the name of a file beside it.
        values: Name, as the framework writes it, -> number.
    """

    source: str
    values: Mapping[str, float]


class Framework(PluginStruct, frozen=True):
    """The framework that a format belongs to.

    Attributes:
        name: As it calls itself.
        results: It writes its model outputs or scores in the format; False for a format of questions.
        knows: Tells the names of benchmarks that it has a rule for.
    """

    name: str
    results: bool
    knows: Callable[[str], bool]


class PlainReader(PluginStruct, frozen=True):
    """Reads plain conversations many at a time.

    Attributes:
        lines: Whole lines of JSON Lines -> the conversation of each, None where one of them is anything else; None
            where lines are read row by row.
        training: Rows are numbered, whatever ids they have; see `PlainSource`.
        elements: Likewise for elements of a JSON array with commas between them.
        rows: The function of the format that it is a faster way for. A format that was made of this one with another
            function is asked row by row.
        records: Likewise.
    """

    lines: Callable[[bytes], Sequence[PlainLine] | None] | None
    rows: Callable[[Path, Span | None], Iterator[Row | Rejected]]
    records: Callable[[Row, Context], Iterable[Record]]
    training: bool = False
    elements: Callable[[bytes], Sequence[PlainLine] | None] | None = None


class Format(PluginStruct, frozen=True):
    """One file format, reader and writer.

    Attributes:
        summary: One line for `mmconvert list`.
        suffixes: File name endings it is read from, lower case, with the dot.
        rows: (file, span or None for all) -> raw rows; may look across rows.
        records: (row, context) -> records; sees one row; raises RowError.
        mismatch: Head of a file -> why it is not this format, or None when it is.
        write: (records, target) -> losses, written as they are read; None when the format is only read.
        cuttable: `rows` gives for the spans of a file, one after the other, what it gives for the file.
        columns: Names of the column sets that `write` knows beside its own; what `--columns` may say.
        images: Ways of `IMAGES` in which `write` stores images, its own way first, by suffix where they differ;
            () where it stores none or leaves no choice.
        file_name: First record -> the name by convention, without a folder; raises UsageError where the record
            does not say what the name needs; None where there is no convention.
        framework: The framework whose format it is; None for a format of no framework that scores.
        read_numbers: File -> the numbers that the framework itself gives for its rows, None where there are none;
            it never raises for what stands in a file beside.
        files: Folder -> the files that `rows` reads of it; None for a format of single files.
        splits: Folder -> the folder of each split, by name; empty where the folder is one input.
        describe: (head of a file, `Context.mapping`) -> which column is taken for which field, as options to type. Only
            a format of plain tables has it: it takes `--map`.
        fallback: It is guessed where no other format fits.
        pairs: `write` writes preference pairs; other formats are given the chosen response alone.
        videos: `records` shows frames of the videos that a row names, where `Context.images` says which.
        plain: A faster way to what `rows` and `records` give of plain conversations; None where there is none.
        writes_folder: `write` fills a folder where `Target.folder` says so; other formats are written to one file.
        splittable: What `write` writes of a record without preference pair depends on it and `Target.first_row` alone,
            so that parts of a `.json` or `.jsonl` file may be written by several processes.
        unhashed: Suffixes of the files for which `write` does not look at `Image.sha256`, which is "" then where a
            dataset is exported.
    """

    summary: str
    suffixes: tuple[str, ...]
    rows: Callable[[Path, Span | None], Iterator[Row | Rejected]]
    records: Callable[[Row, Context], Iterable[Record]]
    mismatch: Callable[[Sample], str | None]
    write: Callable[[Iterable[Record], Target], Iterator[Loss]] | None = None
    cuttable: bool = False
    columns: tuple[str, ...] = ()
    images: tuple[str, ...] | Mapping[str, tuple[str, ...]] = ()
    file_name: Callable[[Record], str] | None = None
    framework: Framework | None = None
    read_numbers: Callable[[Path], StatedNumbers | None] = lambda path: None
    files: Callable[[Path], Sequence[Path]] | None = None
    splits: Callable[[Path], Mapping[str, Path]] = lambda folder: {}
    describe: Callable[[Sample, tuple[tuple[str, str], ...]], str] | None = None
    fallback: bool = False
    pairs: bool = False
    plain: PlainReader | None = None
    videos: bool = False
    writes_folder: bool = False
    splittable: bool = False
    unhashed: tuple[str, ...] = ()


def require_honoured(target: Target, plugin: Format, name: str) -> None:
    """Refuse options of a target that the format's writer would pass over.

    Args:
        target: What is asked for.
        plugin: The format.
        name: Its name, for messages.

    Raises:
        UsageError: Columns or a way of storing images that the format does not have, a folder for images where
            none become files, `csv_safe` where the file is not a text table.
    """
    if target.columns is not None and target.columns not in plugin.columns:
        known = f"Known: {', '.join(plugin.columns)}." if plugin.columns else "Leave out --columns."
        hint = suggest_spelling(target.columns, plugin.columns)
        raise UsageError(f"format {name!r}: unknown columns {target.columns!r}.{hint} {known}")
    suffix = target.path.suffix.lower()
    ways = plugin.images.get(suffix, ()) if isinstance(plugin.images, Mapping) else plugin.images
    if target.images is not None and target.images not in ways:
        next_step = f"Give --images {' or '.join(ways)}." if ways else "Leave out --images."
        raise UsageError(f"format {name!r}: no {target.images!r} images in a {suffix} file. {next_step}")
    if target.image_dir is not None and (target.images or next(iter(ways), "inline")) == "inline":
        files = [way for way in ways if way != "inline"]
        next_step = f"Give --images {' or '.join(files)} with it." if files else "Leave out --image-dir."
        raise UsageError(f"format {name!r}: no image becomes a file of its own. {next_step}")
    if target.csv_safe and suffix not in DELIMITERS:
        raise UsageError(f"{target.path}: --csv-safe is for {' and '.join(DELIMITERS)} files. Leave it out.")
