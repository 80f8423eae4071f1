"""Tables as pandas reads and writes them, under the framework's names.

As in the framework a column that looks like numbers becomes numbers. But only an empty cell is missing: the framework
loses `None`, `NA` and `null`, options and answers among them. Source: open-compass/VLMEvalKit@e8e78f05
vlmeval/smp/file.py, vlmeval/smp/misc.py. A file called .pkl holds JSON, and no pickle: keys of any plain type, tuples
and numbers of NumPy come back as they were, numbers as plain ones.
"""

import hashlib
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from mmconvert.core.errors import Error, RowError, UsageError, show, suggest_spelling
from mmconvert.core.rows import Rejected, Row
from mmconvert.core.text.json import parse_json
from mmconvert.core.text.literals import looks_like_list, parse_list
from mmconvert.io import tables, xlsx
from mmconvert.io.write_xlsx import write_workbook
from mmconvert.kits.vlmevalkit.circular import build_circular_rows
from mmconvert.kits.vlmevalkit.datasets import find_lmudata_root
from mmconvert.kits.vlmevalkit.lossy_tables import retype_rows

_KINDS = {
    "json": ("_rating", "_config", "_meta"),
    "pkl": ("_tmp", "_response", "_processed"),
    "csv": ("_acc", "_fine", "_metrics"),
}
_READ: Mapping[str, Any] = {"keep_default_na": False, "na_values": [""]}
_PAIRS, _TUPLE = "#pairs", "#tuple"
_PLAIN = (str, int, float, bool, type(None))
"""What a file called .pkl holds as it is, and the keys of objects that stand for other mappings and for tuples."""


def load(f: str | Path) -> Any:
    """Read a file by its ending.

    Args:
        f: A .tsv, .csv, .xlsx, .parquet, .json, .jsonl or .pkl file.

    Returns:
        A DataFrame of a table; what a .json holds; a list of what the lines of a .jsonl hold.

    Raises:
        UsageError: The file is not there, or of another kind.
        Error: It is damaged.
    """
    path = Path(f)
    reader = _by_suffix(path, _READERS, "read")
    if not path.is_file():
        raise UsageError(f"{f}: there is no such file. Nothing is fetched here; give a local path.")
    try:
        return reader(path)
    except (RowError, ValueError) as error:
        raise Error(f"{f}: cannot be read ({error}). Write it again.") from None


def dump(data: Any, f: str | Path, **kwargs: Any) -> None:
    """Write a file by its ending.

    Args:
        data: A DataFrame, or what becomes one, for a table; JSON values for the others.
        f: A .tsv, .csv, .xlsx, .json, .jsonl or .pkl file.
        **kwargs: Further arguments, which the framework's writers take; they have no effect here.

    Raises:
        UsageError: The file is of another kind.
        Error: A text is longer than a cell of a workbook; it would be cut.
    """
    _by_suffix(Path(f), _WRITERS, "written")(data, Path(f))


def d2df(d: Mapping[str, Any]) -> pd.DataFrame:
    """Make a DataFrame of one row.

    Example:
        >>> d2df({"Overall": 0.5}).to_dict("list")
        {'Overall': [0.5]}
    """
    return pd.DataFrame({name: [value] for name, value in d.items()})


def toliststr(s: Any) -> list[str]:
    """Read a cell that may be a list of texts.

    Example:
        >>> toliststr("['a', 'b']"), toliststr("a"), toliststr([1, 2])
        (['a', 'b'], ['a'], ['1', '2'])
    """
    items = parse_list(s) if isinstance(s, str) and looks_like_list(s) else s if isinstance(s, list) else [s]
    return [str(item) for item in items]


def LMUDataRoot() -> str:  # noqa: N802 - the kit's own name
    """Give the folder of LMUData tables: environment `LMUData`, else ~/LMUData."""
    return str(find_lmudata_root())


def CIRCULAR(inp: str | Path) -> None:  # noqa: N802 - the kit's own name
    """Write `NAME_circular.tsv` beside a table: each question once for each rotation of its options.

    Args:
        inp: A .tsv file with `index`, `answer` and a column a letter; it is read as lossily as the framework reads it.

    Raises:
        RowError: An index is no whole number, an option is missing before another, or stands alone.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/tools.py:CIRCULAR.
    """
    path = Path(inp)
    rows = build_circular_rows([_fields(row, path) for row in retype_rows(path, tables.rows(path))])
    dump(rows, path.with_name(f"{path.stem}_circular.tsv"))


def md5(s: str | Path) -> str:
    """Give the MD5 of a file, or of a text that names none, as hex."""
    path = Path(s)
    data = path.read_bytes() if len(str(s)) < 4096 and path.is_file() else str(s).encode()
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def get_intermediate_file_path(eval_file: str, suffix: str, target_format: str | None = None) -> str:
    """Name a file beside an evaluation's: the stem with something behind it, and the ending that goes with that.

    Example:
        >>> get_intermediate_file_path("out/m_d.xlsx", "_acc"), get_intermediate_file_path("m_d.xlsx", "_judge")
        ('out/m_d_acc.csv', 'm_d_judge.xlsx')
    """
    path = Path(eval_file)
    kind = next((kind for kind, ends in _KINDS.items() if suffix.endswith(ends)), path.suffix.lstrip("."))
    return str(path.with_name(f"{path.stem}{suffix}.{target_format or kind}"))


def _by_suffix(path: Path, known: Mapping[str, Callable[..., Any]], verb: str) -> Callable[..., Any]:
    suffix = path.suffix.lower()
    if suffix not in known:
        hint = suggest_spelling(suffix, known)
        raise UsageError(f"{path}: only {', '.join(known)} are {verb}.{hint}")
    return known[suffix]


def _read_workbook(path: Path) -> pd.DataFrame:
    rows = [_fields(row, path) for row in xlsx.rows(path)]
    cells = pd.DataFrame(rows, columns=xlsx.read_header(path))
    # Through text, so that columns get the types that they get from a TSV.
    typed: pd.DataFrame = pd.read_csv(io.StringIO(cells.to_csv(index=False)), **_READ)
    return typed


def _fields(row: Row | Rejected, path: Path) -> Mapping[str, Any]:
    if isinstance(row, Rejected):
        raise Error(f"{path}: {row}")
    return row.fields


def _read_values(path: Path) -> Any:
    try:
        return _unpacked(json.loads(path.read_bytes()))
    except (ValueError, LookupError, TypeError):
        raise Error(
            f"{path}: was not written by mmscore; pickles are not read. Remove it, it is written again."
        ) from None


def _packed(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") and callable(value.item) else value
    if isinstance(value, dict):
        return {_PAIRS: [[_packed(key), _packed(item)] for key, item in value.items()]}
    if isinstance(value, tuple):
        return {_TUPLE: [_packed(item) for item in value]}
    if isinstance(value, list):
        return [_packed(item) for item in value]
    if not isinstance(value, _PLAIN):
        raise UsageError(f"a .pkl file holds plain values here {show(value)}. Write a table as .tsv or .xlsx.")
    return value


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpacked(item) for item in value]
    if isinstance(value, dict) and _TUPLE in value:
        return tuple(_unpacked(item) for item in value[_TUPLE])
    if isinstance(value, dict):
        return {_unpacked(key): _unpacked(item) for key, item in value[_PAIRS]}
    return value


_READERS: Mapping[str, Callable[[Path], Any]] = {
    ".tsv": lambda path: pd.read_csv(path, sep="\t", **_READ),
    ".csv": lambda path: pd.read_csv(path, **_READ),
    ".xlsx": _read_workbook,
    ".parquet": pd.read_parquet,
    ".json": lambda path: parse_json(path.read_text(encoding="utf-8")),
    ".jsonl": lambda path: [parse_json(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()],
    ".pkl": _read_values,
}


def is_empty(cell: Any) -> bool:
    """Tell a cell that holds nothing, as pandas says it.

    Example:
        >>> is_empty(float("nan")), is_empty(None), is_empty("")
        (True, True, False)
    """
    return cell is None or (isinstance(cell, float) and cell != cell)


def _frame(data: Any) -> pd.DataFrame:
    return data if isinstance(data, pd.DataFrame) else pd.DataFrame(data)


def _records(data: Any) -> Any:
    return json.loads(data.to_json(orient="records")) if isinstance(data, pd.DataFrame) else data


def _write_workbook(data: Any, path: Path) -> None:
    frame = _frame(data)
    rows = ({str(n): None if is_empty(v) else str(v) for n, v in row.items()} for row in frame.to_dict("records"))
    write_workbook(path, [str(name) for name in frame.columns], rows)


_WRITERS: Mapping[str, Callable[[Any, Path], None]] = {
    ".tsv": lambda data, path: _frame(data).to_csv(path, sep="\t", index=False, quoting=1),
    ".csv": lambda data, path: _frame(data).to_csv(path, index=False, quoting=1),
    ".xlsx": _write_workbook,
    ".json": lambda data, path: _write_text(path, json.dumps(_records(data), indent=4, ensure_ascii=False)),
    ".jsonl": lambda data, path: _write_text(
        path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in _records(data))
    ),
    ".pkl": lambda data, path: _write_text(path, json.dumps(_packed(data), ensure_ascii=False)),
}


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
