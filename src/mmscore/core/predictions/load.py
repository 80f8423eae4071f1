"""Predictions and references as columns, whatever file they come from.

A parquet file created by mmconvert (or any with `id` and `prediction`) is read straight, only the columns that
are needed and never an image; every other file goes through `mmconvert.pipeline.convert.read`.
"""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace

from mmconvert.core.arrow import build_column, build_scalar
from mmconvert.core.errors import (
    Error,
    UsageError,
    build_memory_error,
    show,
    suggest_spelling,
    take_first_line,
)
from mmconvert.core.record import (
    IMAGE_COLUMNS,
    LATER_FIELDS,
    PREDICTION_SCHEMA,
    SCHEMA,
    Record,
    estimate_memory,
    to_arrow,
)
from mmconvert.core.rows import DELIMITERS, Rejected, Row, Where
from mmconvert.core.text.options import gather_lettered_options, list_letter_columns
from mmconvert.dataset.manifest import (
    MANIFEST,
    PREDICTIONS,
    build_config_folder,
    describe_several_configs,
    read_manifest,
)
from mmconvert.io.detect import guess, sample
from mmconvert.io.parquet import open_parquet, read_batches
from mmconvert.pipeline import convert
from mmconvert.plugins.format import Format, StatedNumbers
from mmconvert.plugins.registry import load
from mmconvert.storage.folders import list_visible_files, require_inside
from mmconvert.storage.hub_fs import find_on_hub
from mmscore.core.predictions.locate import locate_predictions
from mmscore.core.predictions.run_metadata import describe_part, is_partial, read_run
from mmscore.core.recipe import OwnResults

BATCH_ROWS = 16_384
_BATCH_BYTES = 32 << 20
_UNFOLDED_BYTES = 64 << 20
"""What the columns of a small file may unfold to: all of them are looked at letter by letter."""

SOURCE = "source"
"""Column of where a record came from."""

FORMAT = "source.format"
"""Column name of the format that a record was read from."""

ROW = "source.row"
"""Column name of the place of a record in the file that it was read from, as text."""

NUMBERED = "source.numbered"
"""Column name of whether the id of a record is only its number, as text."""

FILE = "source.file"
"""Column name of the file that a record was read from."""

STATUS = "prediction_status"
"""Column of what became of the request for a response; files of `mmscore predict` have it."""

OPTIONS = "options"

_EMPTY, _ONE = build_scalar(""), build_scalar(1)

TABLES = frozenset(("predictions", "mmconvert"))
"""Formats of tables of no framework: their rows may say themselves how a prediction was made."""

TABLE_SUFFIXES = frozenset((*DELIMITERS, ".xlsx"))
"""Files whose cells a framework may read in another way than we do."""

_OF_RUN = [f.name for f in PREDICTION_SCHEMA if f.name not in SCHEMA.names and pa.types.is_string(f.type)]
"""Texts that a predictions file created by mmconvert has in columns, and a record in `extra`."""

_SUBMITTED = re.compile(r"--map id=(?:(?! --map ).)+ --map answer=(?P<answer>answer)", re.IGNORECASE)
"""What `Rows.columns` says of a table of ids and answers."""

_IDENTITY = ("sample", "group", "variant", "round", "dataset", "task", "model", "method", FORMAT)


class Refusal(msgspec.Struct, frozen=True):
    """A row that cannot be scored: its id, where it has one, and why; and by what else its question can be found.

    `texts`: what its fields hold, of which one may name a group and one ask the question.
    """

    id: str | None
    message: str
    sample: str | None = None
    variant: str | None = None
    row: int | None = None
    texts: tuple[str, ...] = ()


class Rows(msgspec.Struct, frozen=True):
    """The rows of a file, to be read by column.

    Attributes:
        path: What was opened, as the user wrote it.
        names: Columns there are.
        identity: `id`, and those of sample, group, variant, round, dataset, task, model, method and
            `source.format` that there are; all rows, in order.
        read: Columns -> batches of them in order, with the types of the schema.
        rejected: Rows that could not be read; they are not among the rows.
        missing: Ids of questions that nothing was predicted for; known after `join`.
        partial: The rows are a part of the dataset: their run asked for no more, was stopped, or an option chose them.
        replies: The run asked for several responses a question, which `variant` numbers.
        title: What the rows are called where they name no model.
        sides: The predictions and the references, where these rows are both, joined.
        partner: Row number of each row in the references; None where nothing was joined.
        notes: Remarks on how the columns were read, and how these were joined.
        mismatch: How many of the joined rows differ in what they ask, `N/M`, where that was allowed; else empty.
        run: What the run that wrote the first file says of itself; empty where it says nothing.
        reread: Opens the file again under a reading of `mmconvert.readings`; None where there is nothing to read again.
        blank: Empty responses of the file, known where a framework's reading hides them.
        stated: The numbers that a framework itself gives for the file; None where it gives none.
        columns: Which column of a plain table is taken for which field, as options to type.
    """

    path: str
    names: frozenset[str]
    identity: pa.Table
    read: Callable[[Sequence[str]], Iterator[pa.RecordBatch]]
    rejected: tuple[Refusal, ...] = ()
    missing: tuple[str, ...] = ()
    partial: bool = False
    replies: bool = False
    title: str = ""
    sides: "tuple[Rows, ...]" = ()
    partner: pa.Array | None = None
    notes: tuple[str, ...] = ()
    mismatch: str = ""
    run: Mapping[str, Any] = msgspec.field(default_factory=dict)
    reread: Callable[[str], "Rows"] | None = None
    blank: int | None = None
    stated: StatedNumbers | None = None
    columns: str = ""

    def __len__(self) -> int:
        """Count the rows."""
        return int(self.identity.num_rows)

    def count_blank(self) -> int:
        """Count the responses that hold white space at most."""
        if self.blank is not None or "prediction" not in self.names:
            return self.blank or 0
        texts = (pc.utf8_trim_whitespace(batch.column("prediction")) for batch in self.read(["prediction"]))
        return sum(pc.sum(pc.equal(part, _EMPTY)).as_py() or 0 for part in texts)

    def list_distinct(self, name: str) -> list[str]:
        """List the values of a column of `identity` in order of first appearance, null left out."""
        if name not in self.identity.column_names:
            return []
        return [value for value in pc.unique(self.identity[name]).to_pylist() if value is not None]


def open_rows(
    path: str | Path,
    required: Sequence[str] = ("id", "prediction"),
    *,
    format: str | None = None,
    mapping: Sequence[str] = (),
    repeated: bool = False,
) -> Rows:
    """Open a predictions file or a dataset.

    Args:
        path: A parquet file, a folder of them, a framework's result file or folder, `-` for standard
            input, or `USER/REPO[@REVISION]` for parquet files on the Hub.
        required: Columns that must be there by exactly these names, or by others that a format knows.
        format: Format of `mmconvert`, or `file.py@NAME`; None to recognise it by the content.
        mapping: `FIELD=COLUMN` each, of a table whose columns have other names.
        repeated: Leave it to `read_for` whether ids may repeat.

    Returns:
        The rows, their ids checked; no other column is read yet.

    Raises:
        UsageError: Nothing stands there, or the format is unknown.
        Error: The file is damaged, lacks a required column, has one of another type, holds no row,
            or has an id twice; or its format cannot be told, or reads no prediction of any row.
    """
    place = locate_predictions(path)
    if len(several := _list_config_folders(place.path)) > 1:
        listed = " or ".join(map(str, several))
        raise UsageError(f"{path}: holds predictions of several models. Name one: {listed}.")
    files = [] if format or mapping else list_parquet_files(place.path)
    if files and not _is_foreign(files, required):
        rows = _load_parquet(str(path), files, required)
        # A run may have got no response at all, which its file says in a column; so may a table of the user's own.
        is_dataset = {SOURCE, "question"} <= rows.names and STATUS not in rows.names
        needs_prediction = is_dataset
    else:
        rows = _load_other_format(str(path), place.path, format, mapping)
        if "prediction" in required and not mapping and (column := _find_submitted(rows)) is not None:
            rows = _load_other_format(str(path), place.path, format, [f"prediction={column}"])
        is_dataset, needs_prediction = False, not rows.rejected
    if "prediction" in required and len(rows) and needs_prediction:
        _require_prediction(rows, is_dataset=is_dataset)
    rows = replace(rows, title=place.title)
    if not len(rows):
        first = f"The first of {len(rows.rejected)} reasons: {rows.rejected[0].message}" if rows.rejected else ""
        raise Error(f"{path}: holds no rows that can be read. {first or 'Give a file with rows.'}")
    if not repeated:
        check_ids(rows)
    return rows


def _find_submitted(rows: Rows) -> str | None:
    """Name the column of answers in a table of these and ids alone, as VQA, TextVQA and DocVQA take submissions.

    Such a table may also be a key of references; who gives it as predictions says that it is none.
    """
    found = _SUBMITTED.fullmatch(rows.columns)
    return None if found is None else found["answer"]


def _require_prediction(rows: Rows, *, is_dataset: bool) -> None:
    """Refuse rows of which none has a prediction, and say what to do with them instead."""
    if not _lacks_values(rows, "prediction"):
        return
    if is_dataset:
        command = shlex.join(["mmscore", "predict", rows.path, "-o", "predictions.parquet", "--model", "MODEL"])
        raise Error(f"{rows.path}: is a dataset without predictions. Run mmscore predict first: {command}")
    column = "name the column that holds them: --map prediction=COLUMN."
    if _lacks_values(rows, "answers"):
        raise Error(f"{rows.path}: no row has a prediction. Give the file of predictions, or {column}")
    raise Error(
        f"{rows.path}: holds questions and answers but no predictions. Give it as --answers: "
        f"{shlex.join(['mmscore', 'PREDICTIONS', '--answers', rows.path])}. If it holds predictions too, {column}"
    )


def _lacks_values(rows: Rows, name: str) -> bool:
    """Tell whether no row has a value in a column; an empty list is none."""
    return name not in rows.names or all(_is_empty(batch.column(0)) for batch in rows.read([name]))


def _is_empty(column: pa.Array) -> bool:
    lists = pa.types.is_list(column.type)
    return not pc.sum(pc.list_value_length(column)).as_py() if lists else column.null_count == len(column)


def _is_foreign(files: Sequence[Path], required: Sequence[str]) -> bool:
    """Tell a table that lacks a column of ours and is of a format that calls it otherwise."""
    missing = {*required} - {*open_parquet(files[0]).schema_arrow.names}
    if len(files) != 1 or not missing:
        return False
    try:
        plugin: Format = load("mmconvert.formats", guess(files[0])[0])
    except Error:
        return False
    columns = plugin.describe(sample(files[0]), ()) if plugin.describe else ""
    return not plugin.fallback or all(f"--map {name}=" in columns for name in missing)


def read_for(rows: Rows, results: OwnResults | None) -> Rows:
    """Read a framework's result file as the framework does.

    Args:
        rows: A file as `open_rows` gives it, `repeated` or not.
        results: What the recipe says of such files (`Recipe.results`).

    Returns:
        The rows as they are where the file is none of the framework's, or nothing is lost in it.

    Raises:
        Error: The file is none of the framework's, and an id stands there twice.
    """
    if results is None or not results.covers(rows.list_distinct(FORMAT)):
        check_ids(rows)
        return rows
    if results.reading is None or rows.reread is None:
        return rows
    again = rows.reread(results.reading)
    return replace(again, title=rows.title, blank=rows.count_blank(), notes=rows.notes, mismatch=rows.mismatch)


def describe_own_results(rows: Rows, results: OwnResults | None) -> tuple[str, ...]:
    """Say what whoever reads the numbers of a framework's results must know of its rows.

    Args:
        rows: A file as `read_for` gives it.
        results: What the recipe says of such files.

    Returns:
        That ids repeat; and, of rows that were converted, which responses the framework's loader would read as others.
    """
    if results is None or not results.covers(rows.list_distinct(FORMAT)):
        return ()
    times = _count_repeats(rows).field("counts")
    repeats = f"ids of several rows: {len(times):,} ({pc.sum(times)} rows); they count as the framework counts them"
    own = rows.sides[0] if rows.sides else rows
    converted = results.reading if rows.reread is None and not own.run and "source" in own.names else None
    return (*([repeats] if len(times) else []), *(_list_lost_responses(own, converted) if converted else ()))


def _list_lost_responses(rows: Rows, reading: str) -> Iterator[str]:
    """Say of each table that rows were converted from how many responses its framework reads as others."""
    table = pa.Table.from_batches(rows.read(["prediction", FILE]))
    for file in pc.unique(table[FILE]).drop_null().to_pylist():
        if Path(file).suffix.lower() in TABLE_SUFFIXES:
            texts = table.filter(pc.equal(table[FILE], file))["prediction"].to_pylist()
            cells = (Row({"prediction": text or None}, Where(file, number)) for number, text in enumerate(texts))
            read = [row.fields["prediction"] for row in load("mmconvert.readings", reading)(Path(file), cells)]
            blank = sum(not text for text in texts)
            if lost := sum(text != found for text, found in zip(texts, read, strict=True)):
                yield (
                    f"{lost:,} responses ({blank:,} of them empty) are scored as they were converted; the framework's "
                    f"loader reads other texts, `nan` for an empty one. For its number score the table itself: "
                    f"mmscore score {file}"
                )


def list_model_folders(path: str | Path) -> list[str]:
    """List the places of a model's predictions each, where several were published together; else the path alone.

    Raises:
        UsageError: As `open_rows`.
        Error: As `open_rows`.
    """
    folder = find_on_hub(path) or (Path(path) if Path(path).is_dir() else None)
    several = () if folder is None else _list_config_folders(folder)
    return [str(place) for place in several] if len(several) > 1 else [str(path)]


def _list_config_folders(place: Path) -> Sequence[Path]:
    """List the folders of the configs of published predictions; none for anything else."""
    if not (place / MANIFEST).is_file():
        return ()
    configs, manifest = read_manifest(place)
    return [place / build_config_folder(config) for config in configs] if manifest.get("view") == PREDICTIONS else ()


def list_parquet_files(place: Path) -> list[Path]:
    """List the parquet files that stand at a place, sorted; none where it is a file or folder of another kind."""
    if place.is_dir():
        return list_visible_files(place, "*.parquet")
    return [place] if place.suffix.lower() == ".parquet" else []


def list_read_files(folder: Path, format: str | None) -> list[Path]:
    """List the files of a folder that `open_rows` reads.

    Args:
        folder: A folder on this machine.
        format: As `open_rows`.

    Raises:
        UsageError: Its format does not say which files it reads.
        Error: No format fits, or a file is a link out of the folder.
    """
    if not format and (files := list_parquet_files(folder)):
        return [*files, *require_inside(folder, filter(Path.is_file, [folder / MANIFEST]))]
    name = format or guess(folder)[0]
    plugin: Format = load("mmconvert.formats", name)
    if plugin.files is None:
        raise UsageError(f"{folder}: format {name} does not support folders. Name its files.")
    return require_inside(folder, plugin.files(folder))


def _load_parquet(path: str, files: Sequence[Path], required: Sequence[str]) -> Rows:
    schemas = [open_parquet(file).schema_arrow for file in files]
    for file, schema in zip(files, schemas, strict=True):
        for name in required:
            if name not in schema.names:
                hint = suggest_spelling(name, schema.names)
                found = ", ".join(schema.names[:20])
                raise Error(f"{file}: no column {name!r}.{hint} Found: {found}. Rename the column that holds it.")
    names = frozenset.intersection(*(frozenset(schema.names) for schema in schemas))
    letters = "" if OPTIONS in names else list_letter_columns(names)

    def read(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        gathered = letters and OPTIONS in columns
        wanted = [name for name in columns if name != OPTIONS] + [*letters] if gathered else columns
        for batch in chain.from_iterable(_read(file, [*dict.fromkeys(wanted)]) for file in files):
            yield _gather_options(batch, letters, columns) if gathered else batch

    wanted = ["id", *(name for name in _IDENTITY if name.partition(".")[0] in names)]
    identity = pa.Table.from_batches(read(wanted), schema=pa.schema([(n, find_column_type(n)) for n in wanted]))
    runs = [read_run(schema) for schema in schemas]
    partial = any(map(is_partial, runs))
    responses = any(run.get("n", 1) != 1 for run in runs)
    names |= {OPTIONS} if letters else set()
    notes = tuple(note for file, run in zip(files, runs, strict=True) for note in describe_part(file, run))
    return Rows(path, names, identity, read, partial=partial, replies=responses, notes=notes, run=runs[0])


def _read(file: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    schema = pa.schema([(name, find_column_type(name)) for name in columns])
    try:
        for batch in read_batches(file, columns, most_rows=BATCH_ROWS, most_bytes=_UNFOLDED_BYTES):
            arrays = [_cast_column(_pick(batch, name), name, file) for name in columns]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)
    except MemoryError:
        raise build_memory_error(file) from None
    except (pa.ArrowException, OSError) as error:
        raise Error(f"{file}: is a damaged parquet file ({take_first_line(error)}). Write it again.") from None


def _gather_options(batch: pa.RecordBatch, letters: str, columns: Sequence[str]) -> pa.RecordBatch:
    """Put options that have a column each into one, as a table of another kind is read."""
    cells = zip(*(batch.column(letter).to_pylist() for letter in letters), strict=True)
    options = [gather_lettered_options(cell or None for cell in row) for row in cells]
    made = pa.array(options, find_column_type(OPTIONS))
    arrays = [made if name == OPTIONS else batch.column(name) for name in columns]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _pick(batch: pa.RecordBatch, name: str) -> pa.Array:
    head, _, field = name.partition(".")
    if not field:
        return batch.column(head)
    if head not in batch.schema.names or batch.schema.field(head).type.get_field_index(field) < 0:
        # A field that version 1 of the schema did not have.
        return pa.nulls(batch.num_rows, find_column_type(name))
    return pc.struct_field(batch.column(head), field)


def find_column_type(name: str) -> pa.DataType:
    """Give the type that a column is read with: the schema's, text for a column that it does not know."""
    return PREDICTION_SCHEMA.field(name).type if name in PREDICTION_SCHEMA.names else pa.string()


def _cast_column(array: pa.Array, name: str, file: Path) -> pa.Array:
    """Bring a column to the type of the schema; nothing is guessed and no value changes."""
    want = find_column_type(name)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if array.type != want:
        if not (_fits(array.type, want) or (name not in PREDICTION_SCHEMA.names and _is_plain(array.type))):
            raise Error(
                f"{file} {name}: expected {_describe_type(want)}, found "
                f"{_describe_type(array.type)}. Write the column again as UTF-8."
            )
        array = array.cast(want)
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        raise Error(f"{file} {name}: holds bytes that are not UTF-8. Write the column again as UTF-8.") from None
    return array


def _fits(found: pa.DataType, want: pa.DataType) -> bool:
    if pa.types.is_null(found) or found == want:
        return True
    if pa.types.is_struct(want):
        known = {field.name: field.type for field in found} if pa.types.is_struct(found) else {}
        return all(
            _fits(known[field.name], field.type) if field.name in known else bool(known) and field.name in LATER_FIELDS
            for field in want
        )
    if pa.types.is_list(want):
        lists = pa.types.is_list(found) or pa.types.is_large_list(found)
        return bool(lists) and _fits(found.value_type, want.value_type)
    if pa.types.is_string(want):
        text = pa.types.is_string(found) or pa.types.is_large_string(found) or pa.types.is_string_view(found)
        return bool(text or pa.types.is_integer(found))
    return bool(pa.types.is_integer(found) and pa.types.is_integer(want))


def _is_plain(type_: pa.DataType) -> bool:
    """Tell a value that has one text from lists, structs and bytes; for columns that are the user's own."""
    return bool(pa.types.is_primitive(type_) or pa.types.is_decimal(type_))


def _describe_type(type_: pa.DataType) -> str:
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return f"lists of {_describe_type(type_.value_type)}"
    return {"string": "text", "int32": "whole numbers"}.get(str(type_), str(type_))


def _load_other_format(
    path: str, place: Path, format: str | None, mapping: Sequence[str] = (), reading: str | None = None
) -> Rows:
    # Refused rows are kept, since they may name the question in other columns than the id.
    records = convert.read(place, format, read_as=reading, mapping=tuple(mapping), keep_refused=True, for_scoring=True)
    stream = iter(records)
    tables = []
    while chunk := _take_chunk(stream):
        batch = to_arrow(chunk)
        table = pa.Table.from_batches([batch]).drop_columns(list(IMAGE_COLUMNS))
        for name in _OF_RUN if records.format in TABLES else ("model",):
            table = table.append_column(name, _build_column(name, chunk))
        tables.append(table)
    table = pa.concat_tables(tables) if tables else PREDICTION_SCHEMA.empty_table()
    for name in (FORMAT, ROW, NUMBERED):
        value = pc.struct_field(table["source"], name.partition(".")[2])
        table = table.append_column(name, value.cast(find_column_type(name)))
    table = table.drop_columns(["source"])

    def read(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        yield from table.select(list(columns)).to_batches(max_chunksize=BATCH_ROWS)

    identity = table.select(["id", *(name for name in _IDENTITY if name in table.column_names)])
    is_table = place.suffix.lower() in TABLE_SUFFIXES
    return Rows(
        path,
        frozenset(table.column_names),
        identity,
        read,
        tuple(map(_build_refusal, records.rejects)),
        reread=partial(_load_other_format, path, place, records.format, mapping) if is_table else None,
        stated=records.read_numbers(),
        notes=(f"{path}: read with {records.columns}.",) if records.columns else (),
        columns=records.columns,
    )


def _take_chunk(stream: Iterator[Record]) -> list[Record]:
    """Take records without their images, at which no recipe looks, up to a number of rows or of bytes."""
    chunk: list[Record] = []
    size = 0
    for record in stream:
        chunk.append(replace(record, images=(), attachments=()))
        size += estimate_memory(chunk[-1])
        if len(chunk) >= BATCH_ROWS or size >= _BATCH_BYTES:
            break
    return chunk


def _build_refusal(reject: Rejected) -> Refusal:
    """Say why a row was refused; without a sample of its own its id is the sample, as in rows that are read."""
    fields = reject.row.fields if reject.row else {}
    sample, variant = (None if fields.get(name) is None else str(fields[name]) for name in ("sample", "variant"))
    texts = tuple(dict.fromkeys(str(value) for value in fields.values()))
    return Refusal(reject.id, str(reject), sample or reject.id, variant, reject.where.row, texts)


def _build_column(name: str, records: Sequence[Record]) -> pa.Array:
    values = (record.extra.get(name) for record in records)
    return build_column([value if isinstance(value, str) else None for value in values], find_column_type(name))


def check_ids(rows: Rows) -> None:
    """Refuse rows of which two have the same id.

    Raises:
        Error: Some have.
    """
    twice = _count_repeats(rows).field("values")
    if not len(twice):
        return
    example = twice[0].as_py()
    first, second = [i for i, id in enumerate(rows.identity["id"].to_pylist()) if id == example][:2]
    fix = "Give every row an id of its own, copies of a question as <sample>#<variant>."
    folder = Path(rows.path)
    if (folder / MANIFEST).is_file() and len(configs := read_manifest(folder)[0]) > 1:
        fix = f"The folder {describe_several_configs(folder, configs)}"
    told = f"{len(twice)} ids appear more than once, one in rows {first} and {second} {show(example)}"
    raise Error(f"{rows.path} id: {told}. {fix}")


def _count_repeats(rows: Rows) -> pa.StructArray:
    """Count the rows of each id that stands in several, as `values` and `counts`."""
    counts = pc.value_counts(rows.identity["id"].drop_null())
    return counts.filter(pc.greater(counts.field("counts"), _ONE))
