"""What a format owes: clear words about itself, every row read or refused by name, the file's format told."""

import importlib
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mmconvert.core.errors import Error, RowError, describe_error, show
from mmconvert.core.record import Record, from_arrow, to_arrow
from mmconvert.core.rows import READERS, Row
from mmconvert.core.validation import check_record
from mmconvert.images.loader import ImageLoader
from mmconvert.io.detect import guess, sample
from mmconvert.io.tables import format_row
from mmconvert.pipeline.inputs import Input
from mmconvert.pipeline.read import ReadOptions, Records
from mmconvert.plugins.format import IMAGES, Context, Format
from mmconvert.plugins.registry import load
from mmconvert.testing import writers
from mmconvert.testing.examples import list_example_files
from mmconvert.testing.subject import Subject

LARGEST = 1 << 20
"""Bytes of an example that are damaged and cut; a larger one is tried with its head."""

CUTS, FLIPS, PIECES = 8, 12, 3
TEXTS = (None, "", " ", "x", "-1", "1e999", "nan", "[", "[1, null]", "{}", "\0", "<image 1>", "data:image/png;base64,")
JSON: tuple[Any, ...] = (
    *(*TEXTS, "\ud800", True, 17, -1.5),
    *([], [None], [[1], "a"], {}, {"url": None}, [{"type": "image"}]),
)
"""What a field may hold that nobody thought of; in a table, texts only."""

OWN = "#"
"""A format's `rows` may hand facts of the whole file on to `records` under a name that begins so."""


def load_subject(name: str, examples: Sequence[Path]) -> Subject:
    """Load what is to be checked.

    Raises:
        UsageError: There is no such format.
    """
    return Subject(name, load("mmconvert.formats", name), tuple(examples))


def _check_declaration(it: Subject) -> Iterator[str]:
    plugin = it.plugin
    if not isinstance(plugin, Format):
        yield f"the object is {show(plugin)}. Name an object of mmconvert.plugins.format.Format."
        return
    if len(str(plugin.summary).splitlines()) != 1:
        yield f"summary is not one line {show(plugin.summary)}. Say in a line what the format is."
    # A single text, too, has letters to go through.
    suffixes: Any = plugin.suffixes
    if not isinstance(suffixes, tuple) or not suffixes or not all(map(_is_suffix, suffixes)):
        shown = show(plugin.suffixes)
        yield f"suffixes is not a tuple of endings {shown}. Write them in lower case with a dot: ('.tsv',)."
    for field in ("rows", "records", "mismatch", *(["write"] if plugin.write is not None else [])):
        if not callable(getattr(plugin, field)):
            yield f"{field} is no function {show(getattr(plugin, field))}."
    ways = plugin.images.values() if isinstance(plugin.images, Mapping) else [plugin.images]
    if unknown := {way for some in ways for way in some} - {*IMAGES}:
        yield f"images names unknown ways {show(sorted(unknown))}. Known: {', '.join(IMAGES)}."
    if plugin.write is None and (plugin.columns or plugin.images or plugin.file_name):
        yield "columns, images and file_name are for formats that are written. Leave them out, or give write."


def _is_suffix(suffix: Any) -> bool:
    return suffix == "" or (isinstance(suffix, str) and suffix.startswith(".") and suffix == suffix.lower())


def _check_examples_are_read(it: Subject) -> Iterator[str]:
    if not it.examples:
        yield "there is no example to read. Give a file without fault, with a row of every kind."
    for path in it.examples:
        suffix = "" if path.is_dir() else path.suffix.lower()
        if suffix not in it.plugin.suffixes:
            yield f"{path.name}: suffixes lacks its ending {show(suffix)}. Add it, or give another example."
            continue
        records = Records(Input(path), ReadOptions(format=it.name, decode=True))
        made = list(records)
        if records.rejects:
            yield f"{path.name}: {len(records.rejects)} of its rows are invalid, the first: {records.rejects[0]}"
        if not made:
            yield f"{path.name}: gives no record. An example holds at least one good row."
        ids = [record.id for record in made]
        if repeated := next((key for key in ids if ids.count(key) > 1), None):
            yield f"{path.name}: two records have the id {repeated!r}. Use the source's key, or context.numbered(row)."
        if unlike := _find_difference(made, list(records)):
            yield f"{path.name}: a second reading gives another {unlike}. Let records depend on the row alone."
        if unlike := _find_difference(made, list(from_arrow(to_arrow(made))) if made else []):
            yield f"{path.name}: stored and read again, {unlike} is another value. Give texts, tuples and plain JSON."


def _find_difference(first: Sequence[Record], second: Sequence[Record]) -> str | None:
    """Name the first field in which two runs differ."""
    if len(first) != len(second):
        return "number of records"
    pairs = ((name, a, b) for a, b in zip(first, second, strict=True) for name in Record.__struct_fields__)
    return next((name for name, a, b in pairs if getattr(a, name) != getattr(b, name)), None)


def _check_detection(it: Subject) -> Iterator[str]:
    for path in it.examples:
        reason = it.plugin.mismatch(sample(path))
        if reason is not None:
            yield f"mismatch rejects the example {path.name}: {reason}. Return None for files of the format."


def _check_others_refused(it: Subject) -> Iterator[str]:
    for name, path in list_example_files().items():
        head = sample(path)
        if head.suffix not in it.plugin.suffixes or load("mmconvert.formats", name) is it.plugin:
            continue
        if it.plugin.fallback:
            if guess(path)[0] == it.name:
                yield f"a file of {name!r} ({path.name}) is detected as this one. Reject what another format reads."
            continue
        reason = it.plugin.mismatch(head)
        if not isinstance(reason, str) or not reason:
            shown = ", ".join(head.columns[:8]) or path.name
            taken = f"mismatch takes a file of {name!r} ({shown}) {show(reason)}"
            yield f"{taken}. Return a text that says what is missing."


def _empty_refused(it: Subject) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        for suffix in filter(None, it.plugin.suffixes):
            path = Path(folder, f"empty{suffix}")
            path.touch()
            yield from _check_only_named_errors(it, path, path.parent, "an empty file", must_fail=True)


def _check_damage_refused(it: Subject) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        for example in filter(Path.is_file, it.examples):
            path = Path(folder, example.name)
            for what, data in _damage(example.read_bytes()[:LARGEST]):
                path.write_bytes(data)
                found = list(_check_only_named_errors(it, path, example.parent, f"{example.name} {what}"))
                yield from found
                if found:
                    break


def _damage(data: bytes) -> Iterator[tuple[str, bytes]]:
    for part in range(1, CUTS):
        size = len(data) * part // CUTS
        yield f"cut to {size} bytes", data[:size]
    draw = random.Random(0)
    for _ in range(FLIPS if data else 0):
        place, value = draw.randrange(len(data)), draw.randrange(256)
        yield f"with byte {place} set to {value}", data[:place] + bytes([value]) + data[place + 1 :]


def _check_only_named_errors(
    it: Subject, path: Path, root: Path, what: str, *, must_fail: bool = False
) -> Iterator[str]:
    try:
        for _ in Records(Input(path), ReadOptions(format=it.name, image_roots=(root,))):
            pass
    except Error as error:
        if path.name not in str(error):
            yield f"{what}: the message does not name the file: {error}"
    except Exception as error:
        yield (
            f"{what}: {describe_error(error)}. Raise mmconvert.core.errors.Error "
            "that names the file and says what to do."
        )
    else:
        if must_fail:
            yield f"{what} gives no error. Raise mmconvert.core.errors.Error that names the file."


def _check_odd_rows_refused(it: Subject) -> Iterator[str]:
    for path in it.examples:
        context = Context(ImageLoader.within([path if path.is_dir() else path.parent]), it.name.rpartition("@")[2])
        for row in map(format_row, _list_first_rows(it, path)):
            of_table = all(isinstance(value, str | None) for value in row.fields.values())
            for field in row.fields:
                if not field.startswith(OWN):
                    yield from _check_odd_field(it, row, field, TEXTS if of_table else JSON, context)


def _list_first_rows(it: Subject, path: Path) -> list[Row]:
    """Give the first row of each set of fields."""
    kinds: dict[tuple[str, ...], Row] = {}
    for item in it.plugin.rows(path, None):
        if isinstance(item, Row):
            kinds.setdefault(tuple(name for name, value in item.fields.items() if value is not None), item)
    return list(kinds.values())[:PIECES]


def _check_odd_field(it: Subject, row: Row, field: str, values: Sequence[Any], context: Context) -> Iterator[str]:
    rest = {name: value for name, value in row.fields.items() if name != field}
    odd = [({**rest, field: value}, show(value)) for value in values]
    # A table has all of its columns in every row.
    for fields, what in odd if values is TEXTS else [*odd, (rest, "left out")]:
        try:
            for record in it.plugin.records(Row(fields, row.where), context):
                check_record(record)
        except RowError as error:
            if not error.code or not str(error):
                yield f"{row.where} {field} {what}: a RowError without code or message. Say what is wrong."
                return
        except Exception as error:
            yield f"{row.where} {field} {what}: {describe_error(error)}. Raise RowError for a row that cannot be read."
            return


def _check_pieces_give_the_whole(it: Subject) -> Iterator[str]:
    if not it.plugin.cuttable:
        return
    for path in filter(Path.is_file, it.examples):
        cut = getattr(importlib.import_module(f"mmconvert.io.{READERS[path.suffix.lower()]}"), "cut", None)
        if cut is None:
            continue
        whole = [(item.where.row, item) for item in it.plugin.rows(path, None)]
        spans = list(cut(path, [max(1, path.stat().st_size // PIECES)]))
        pieces = [(item.where.row, item) for span in spans for item in it.plugin.rows(path, span)]
        if pieces != whole:
            yield (
                f"{path.name}: rows gives {len(pieces)} rows for its {len(spans)} pieces, {len(whole)} for the whole, "
                "or others. Pass the span on to the source, or leave out cuttable."
            )


CHECKS: dict[str, Callable[[Subject], Iterator[str]]] = {
    "it says what it is": _check_declaration,
    "its examples are read, and read the same again": _check_examples_are_read,
    "the content alone tells the format": _check_detection,
    "files of other formats are rejected with a reason": _check_others_refused,
    "an empty file is one clear error": _empty_refused,
    "a damaged file is an error with a message": _check_damage_refused,
    "a row of another shape is skipped by name": _check_odd_rows_refused,
    "pieces of a file give the rows of the whole": _check_pieces_give_the_whole,
    **writers.CHECKS,
}
"""Promise -> check."""
