"""Files in which frameworks leave the numbers that they computed: JSON objects, and small tables."""

import csv
import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mmconvert.storage.source_files import read_source


def load_object(path: Path) -> dict[str, Any]:
    """Read a JSON object, NaN allowed; an empty one where the file is not there or holds something else."""
    found = json.loads(read_source(path)) if path.is_file() else {}
    return found if isinstance(found, dict) else {}


def load_table(path: Path) -> list[dict[str, Any]]:
    """Read the lines of a table, CSV or JSON with one object a line or one alone; cells that are numbers as such.

    Raises:
        Error: It is larger than such a file is.
        ValueError: It is none.
    """
    if path.suffix == ".json":
        found = json.loads(read_source(path))
        return found if isinstance(found, list) else [found]
    with io.StringIO(read_source(path).decode("utf-8-sig"), newline="") as file:
        try:
            return [{name: _read_cell(text) for name, text in line.items() if name} for line in csv.DictReader(file)]
        except csv.Error as error:
            raise ValueError(f"{path}: {error}") from None


def _read_cell(text: str | None) -> float | str | None:
    try:
        return float(text or "")
    except ValueError:
        return text


def keep_numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """Keep the numbers among some values, those in a list by their place.

    Example:
        >>> keep_numbers({"alias": "pope", "acc": 1, "flag": True, "Bleu": [0.5, 0.25]})
        {'acc': 1.0, 'Bleu 1': 0.5, 'Bleu 2': 0.25}
    """
    lists = {k: {f"{k} {n}": one for n, one in enumerate(v, 1)} for k, v in values.items() if isinstance(v, list)}
    return {
        name: float(number)
        for key, value in values.items()
        for name, number in lists.get(key, {key: value}).items()
        if isinstance(number, int | float) and not isinstance(number, bool)
    }


def flatten_table(lines: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Name every number of a table: by its column, in a table of several lines behind the texts of its line.

    Example:
        >>> flatten_table([{"split": "none", "Overall": 0.5}])
        {'Overall': 0.5}
        >>> flatten_table([{"split": "dev", "Overall": 0.5}, {"split": "val", "Overall": 0.25}])
        {'dev Overall': 0.5, 'val Overall': 0.25}
    """
    lines = list(lines)
    found: dict[str, float] = {}
    for line in lines:
        label = " ".join(value for value in line.values() if isinstance(value, str)) if len(lines) > 1 else ""
        found |= {f"{label} {name}".strip(): number for name, number in keep_numbers(line).items()}
    return found
