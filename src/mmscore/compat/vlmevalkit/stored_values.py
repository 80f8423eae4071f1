"""Python values in a file that holds JSON: what users' classes keep in files called .pkl, and no pickle.

Keys of any plain type, tuples and numbers of NumPy come back as they were, numbers as plain ones.
"""

import json
from pathlib import Path
from typing import Any

from mmconvert.core.errors import Error, UsageError, show

_PAIRS, _TUPLE = "#pairs", "#tuple"
_PLAIN = (str, int, float, bool, type(None))


def write_values(value: Any, path: Path) -> None:
    """Write a value.

    Raises:
        UsageError: It holds something that is no plain value.
    """
    path.write_text(json.dumps(_packed(value), ensure_ascii=False), encoding="utf-8")


def read_values(path: Path) -> Any:
    """Read a value that `write_values` wrote.

    Raises:
        Error: The file is another, such as a pickle, which could run anything.
    """
    try:
        return _unpacked(json.loads(path.read_bytes()))
    except (ValueError, LookupError, TypeError):
        raise Error(f"{path}: is no file of ours; pickles are not read. Remove it, it is made anew.") from None


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
