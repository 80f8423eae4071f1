"""Which file EvalScope takes for a subset, and the raw rows that it reads from it.

Nothing here is refused row by row: the framework stops at the first bad line, and so does this reader. The
formats of this project read the same files strictly; this is for parity only.

Parity: modelscope/evalscope 1.3.0, 1.10.0, 1.14.1 evalscope/api/dataset/loader.py:LocalDataLoader,
evalscope/utils/io_utils.py.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from mmconvert.core.errors import Error, UsageError, show
from mmconvert.io.parquet import read_batches
from mmconvert.kits.evalscope.release import LATEST, Release
from mmconvert.storage.source_files import open_source

Row = dict[Any, Any]

DELIMITERS = {".csv": ",", ".tsv": "\t"}
CELL_LENGTH = 131_072
"""Most characters of a table's cell: Python's own limit, which the framework leaves alone."""


class Loaded(msgspec.Struct, frozen=True):
    """A subset as the framework loads it.

    Attributes:
        rows: The raw rows that are turned into samples; up to 1.10 a repeated row stands there repeatedly.
        ids: (id, group_id) of each sample.
    """

    rows: list[Row]
    ids: list[tuple[int, int]]


def load_subset(
    path: Path,
    subset: str,
    split: str = "test",
    *,
    limit: int | float | None = None,
    repeats: int = 1,
    release: Release = LATEST,
) -> Loaded:
    """Load one subset.

    Args:
        path: A folder with `<subset>_<split>` or `<subset>` as .jsonl, .csv, .tsv (since 1.14 .parquet),
            or one such file, whatever the subset's name.
        subset: Name of the subset.
        split: `test` for General-VQA, `val` for General-VMCQ.
        limit: First rows to keep: their number, or their share as a float; 0 and None for all.
        repeats: How often each row is asked.
        release: Whose behaviour is wanted.

    Returns:
        Rows and ids.

    Raises:
        UsageError: The limit is impossible.
        Error: No file has rows (1.3.0 gives an empty subset instead), or a file is damaged.

    Example:
        >>> load_subset(Path("/nowhere"), "default", release="1.3.0").rows
        []
    """
    rows = _limit_rows(_read_subset(path, subset, split, release), limit, release)
    ids = [(number, number // repeats) for number in range(len(rows) * repeats)]
    if release != LATEST:
        rows = [row for row in rows for _ in range(repeats)]
    return Loaded(rows, ids)


def read_rows(path: Path, release: Release = LATEST) -> list[Row]:
    """Read a file as the framework does, by its ending.

    Args:
        path: A .jsonl, .csv, .tsv or (since 1.14) .parquet file.
        release: Whose behaviour is wanted.

    Returns:
        The rows. Cells of a table are texts, None where a line is too short; cells too many stand as a
        list under the key None. NaN, Infinity and repeated keys pass in JSON.

    Raises:
        UsageError: The release does not read such a file.
        Error: A line is no JSON object, a cell is too long, the text is not UTF-8, the file is damaged.
    """
    readers = _list_readers(release)
    if path.suffix not in readers:
        raise UsageError(f"{path}: EvalScope {release} reads {', '.join(readers)} files.")
    try:
        return list(readers[path.suffix](path, release))
    except UnicodeDecodeError as error:
        raise Error(f"{path}: not UTF-8 at byte {error.start + 1}. Save the file as UTF-8.") from None


def _read_subset(path: Path, subset: str, split: str, release: Release) -> list[Row]:
    rows: list[Row] = []
    for ending in _list_readers(release):
        for file in _list_candidates(path, subset, split, ending):
            # Up to 1.3 a later ending replaces what an earlier one gave; since 1.7 the first rows win.
            rows = read_rows(file, release)
            if release == "1.3.0" or rows:
                break
        if rows and release != "1.3.0":
            return rows
    if not rows and release != "1.3.0":
        names = ", ".join(f"{subset}_{split}{ending}, {subset}{ending}" for ending in _list_readers(release))
        raise Error(
            f"{path}: none of {names} is there with rows in it. Name a folder with one of them, or such a file."
        )
    return rows


def _list_candidates(path: Path, subset: str, split: str, ending: str) -> list[Path]:
    if path.is_file() and path.name.endswith(ending):
        return [path]
    return [file for file in (path / f"{subset}_{split}{ending}", path / f"{subset}{ending}") if file.is_file()]


def _limit_rows(rows: list[Row], limit: int | float | None, release: Release) -> list[Row]:
    if not limit:
        return rows
    if limit < 0 or (release == LATEST and isinstance(limit, float) and limit > 1):
        raise UsageError(f"a limit is a number of rows, or a share of them from 0 to 1 {show(limit)}.")
    return rows[: int(len(rows) * limit) if isinstance(limit, float) else limit]


def _read_json_lines(path: Path, release: Release) -> Iterator[Row]:
    with io.TextIOWrapper(open_source(path), encoding="utf-8") as file:
        lines = list(file)
    if lines and lines[0].startswith("\ufeff"):
        # Up to 1.10 a strict reader is tried first; only it knows the mark, and it knows no blank lines.
        if release != LATEST and not all(map(str.strip, lines)):
            raise Error(f"{path}: begins with a byte order mark and has blank lines. Remove either.")
        lines[0] = lines[0].removeprefix("\ufeff")
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise Error(f"{path}:{number}: bad JSON ({error}). Correct or remove the line.") from None
            if not isinstance(value, dict):
                raise Error(f"{path}:{number}: expected a JSON object {show(value)}. Correct or remove the line.")
            yield value


def _read_table(path: Path, release: Release) -> Iterator[Row]:
    # Opened as text without newline="": the framework turns CRLF and CR inside cells into LF.
    with io.TextIOWrapper(open_source(path), encoding="utf-8-sig" if release == LATEST else "utf-8") as file:
        reader = csv.DictReader(file, delimiter=DELIMITERS[path.suffix])
        try:
            for row in reader:
                # Hold the limit that another part of the program may have lifted: it is one for the whole process.
                for value in row.values():
                    cells: Iterable[Any] = value if isinstance(value, list) else [value]
                    if any(len(cell) > CELL_LENGTH for cell in cells if cell is not None):
                        raise csv.Error(f"field larger than field limit ({CELL_LENGTH})")
                yield row
        except csv.Error as error:
            raise Error(
                f"{path}: EvalScope stops behind line {reader.line_num}: {error}. "
                "Use JSON Lines, or name an image's file instead of its base64."
            ) from None


def _read_parquet(path: Path, _: Release) -> Iterator[Row]:
    try:
        for batch in read_batches(path):
            yield from batch.to_pylist()
    except (OSError, ValueError) as error:
        raise Error(f"{path}: cannot be read as parquet ({error}).") from None


def _list_readers(release: Release) -> dict[str, Callable[[Path, Release], Iterator[Row]]]:
    readers: dict[str, Callable[[Path, Release], Iterator[Row]]]
    readers = {".jsonl": _read_json_lines, ".csv": _read_table, ".tsv": _read_table}
    if release == LATEST:
        readers[".parquet"] = _read_parquet
    return readers
