"""A folder of images as Hugging Face's `imagefolder` has it: with a metadata file, or a folder for each class.

`metadata.csv`, `metadata.jsonl` or `metadata.parquet` names an image a row in `file_name` (several in `file_names`, or
in further columns ending so), relative to its own folder; its other columns are those of a plain table (`table`), and
`text`, `caption` or `captions` beside no answer is the image's caption. Without one, all files are images, and where
they lie in several folders of one depth a folder's name is the class of its images. Folders named train, validation or
test (and dev, val, eval, ...) are splits. Source: datasets 5.2 packaged_modules/folder_based_builder,
data_files.py (KEYWORDS_IN_DIR_NAME_BASE_PATTERNS).

Kept: other columns in `extra`.
Refused: rows whose image is missing; images without caption, class or question: `--map question=:TEXT` asks one of all.
Lost: images that no metadata file names.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mmconvert.chat.plain_rows import SPELLINGS, describe_columns, find_columns, read_plain_row
from mmconvert.core.errors import Error
from mmconvert.core.record import Record
from mmconvert.core.rows import READERS, Rejected, Row, Span, Where
from mmconvert.images.loader import ENDINGS
from mmconvert.io.field_mapping import CONSTANT
from mmconvert.io.row_files import read_rows
from mmconvert.plugins.format import Context, Format, Sample
from mmconvert.storage.folders import require_inside
from mmconvert.storage.hub_fs import HubPath

METADATA = ("metadata.csv", "metadata.jsonl", "metadata.parquet")
CAPTIONS = ("text", "caption", "captions")
CLASS, CLASS_QUESTION = "label", "What is shown in the image?"
"""Column of an image's class, or its folder's name; and what is asked of it where nothing else is."""

SPLITS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("validation", "valid", "dev", "val"), "validation"),
    **dict.fromkeys(("test", "testing", "eval", "evaluation"), "test"),
}
IGNORED = ("README.md", "config.json", "dataset_dict.json", "dataset_info.json", "dataset_infos.json")
"""Files that say nothing of images. Source: datasets 5.2 data_files.py, FILES_TO_IGNORE."""

_FILE, _NAMES = "file_name", ("file_name", "file_names")
_DEEPEST = 20


def _list_files(path: Path) -> list[Path]:
    """List the metadata files below a folder, or all its images where there are none."""
    if not path.is_dir():
        return [path]
    files = [*_walk(path)]
    return [file for file in files if file.name in METADATA] or [file for file in files if _is_image(file)]


def _walk(folder: Path) -> Iterator[Path]:
    """Give the files below a folder in order, hidden ones left out; links to folders are not followed."""
    for place, folders, names in os.walk(folder):
        depth = len(Path(place).relative_to(folder).parts)
        folders[:] = sorted(name for name in folders if not name.startswith(".") and depth < _DEEPEST)
        yield from (Path(place, name) for name in sorted(names) if not name.startswith(".") and name not in IGNORED)


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in ENDINGS


def _find_splits(folder: Path) -> Mapping[str, Path]:
    """Find the folders of splits, which stand alone in their folder or beside files that say nothing of images."""
    entries = [entry for entry in sorted(folder.iterdir()) if not entry.name.startswith(".")]
    if any(entry.name in METADATA or _is_image(entry) or entry.suffix.lower() in READERS for entry in entries):
        return {}
    folders = [entry for entry in entries if entry.is_dir()]
    if any(entry.is_symlink() for entry in folders):
        return {}
    splits = {SPLITS[entry.name.lower()]: entry for entry in folders if entry.name.lower() in SPLITS}
    if not splits or len(splits) != len(folders) or any(_find_mismatch_of_folder(entry) for entry in folders):
        return {}
    return splits


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    if path.is_file():
        yield from read_rows(path)
        return
    _refuse_linked_folders(path)
    files = require_inside(path, _list_files(path))
    if not files:
        raise Error(f"{path}: holds neither a metadata file nor an image. Name another folder.")
    if files[0].name in METADATA:
        yield from _read_metadata(path, files)
        return
    classes = {file.parent.name for file in files}
    # As `datasets`: names of folders are classes where they differ and lie at one depth.
    has_classes = len(classes) > 1 and len({len(file.parts) for file in files}) == 1
    for number, file in enumerate(files):
        name = file.relative_to(path).as_posix()
        yield Row({_FILE: name, **({CLASS: file.parent.name} if has_classes else {})}, Where(file.name, number))


def _refuse_linked_folders(folder: Path) -> None:
    """Refuse links to folders, which are not followed: their images would be left out without a word."""
    for place, folders, _ in os.walk(folder):
        linked = next((name for name in folders if not name.startswith(".") and Path(place, name).is_symlink()), None)
        if linked is not None:
            message = f"{Path(place, linked)}: is a link to a folder, which is not followed. Copy the folder there."
            raise Error(message)


def _read_metadata(path: Path, files: Sequence[Path]) -> Iterator[Row | Rejected]:
    """Read metadata files one after the other, rows numbered through all of them."""
    rows = ((file, row) for file in files for row in read_rows(file))
    for number, (file, row) in enumerate(rows):
        where = replace(row.where, row=number)
        if isinstance(row, Row):
            folder = file.parent.relative_to(path).as_posix()
            yield Row(row.fields if folder == "." else _add_folder(row.fields, folder), where, row.remarks)
        else:
            yield replace(row, where=where)


def _add_folder(fields: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Put the folder of a metadata file before the names in it."""
    found = dict(fields)
    for name in _list_image_columns(found):
        value = found[name]
        if isinstance(value, str) and value:
            found[name] = f"{folder}/{value}"
        elif isinstance(value, list):
            found[name] = [f"{folder}/{item}" if isinstance(item, str) else item for item in value]
    return found


def _list_image_columns(names: Iterable[str]) -> list[str]:
    return [name for name in names if name.endswith(_NAMES)]


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    return read_plain_row(row, replace(context, mapping=_complete_mapping(tuple(row.fields), context.mapping)))


def _complete_mapping(names: tuple[str, ...], mapping: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Add what `imagefolder` itself says of columns to what the user says."""
    mapped = {field for field, _ in mapping}
    free = [name for name in names if name not in {column for _, column in mapping}]
    added = [] if "image" in mapped else [("image", name) for name in _list_image_columns(names)]
    asks = "question" in mapped or any(name in free for name in SPELLINGS["question"] if name not in CAPTIONS)
    if "answer" not in mapped and not any(name in free for name in SPELLINGS["answer"]):
        added += [("answer", name) for name in CAPTIONS if name in free][:1]
    elif not asks and CLASS in free:
        added += [("question", CONSTANT + CLASS_QUESTION)]
    return (*mapping, *added)


def _find_mismatch(sample: Sample) -> str | None:
    if sample.path.is_dir():
        return _find_mismatch_of_folder(sample.path)
    if sample.path.name not in METADATA:
        return f"no name of a metadata file, {', '.join(METADATA)}"
    return None if _list_image_columns(sample.columns) else f"no column {_FILE!r}"


def _find_mismatch_of_folder(folder: Path) -> str | None:
    if isinstance(folder, HubPath):
        return "no folder of this machine"
    has_image = False
    for file in _walk(folder):
        if file.name in METADATA:
            return _find_mismatch_of_metadata(file)
        if not _is_image(file):
            return f"no metadata file, and {file.relative_to(folder)} is not an image"
        has_image = True
    return None if has_image else "no image in the folder"


def _find_mismatch_of_metadata(file: Path) -> str | None:
    try:
        first = next((row for row in read_rows(file) if isinstance(row, Row)), None)
    except Error:
        return f"a file {file.name} that cannot be read"
    return None if first is not None and _list_image_columns(first.fields) else f"no column {_FILE!r} in {file.name}"


def _describe(sample: Sample, mapping: tuple[tuple[str, str], ...]) -> str:
    names = sample.columns
    if sample.path.is_dir():
        first = next((row for row in _read_rows(sample.path, None) if isinstance(row, Row)), None)
        names = () if first is None else tuple(first.fields)
    columns, _ = find_columns(names, _complete_mapping(names, mapping))
    return describe_columns({field: named for field, named in columns.items() if not named[0].startswith(CONSTANT)})


FORMAT = Format(
    summary="Hugging Face imagefolder: images with a metadata file, or a folder for each class",
    suffixes=("", ".csv", ".jsonl", ".parquet"),
    rows=_read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    files=_list_files,
    splits=_find_splits,
    describe=_describe,
    videos=True,
)
