"""A dataset class of the kit as a recipe: its `evaluate` gives the numbers of the report.

`evaluate` reads a table `{model}_{dataset}.xlsx` (TSV where a text is longer than a cell of a workbook) with
index, question, options, answer, category, prediction and the other columns of the source. Rows without a
reply are not in it: the report counts them, where the kit has the text of the failure scored.
"""

import contextlib
import hashlib
import json
import math
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from mmconvert.core.errors import Error, RowError, UsageError, describe_error, show
from mmconvert.core.record import Record, Source, encode_json
from mmconvert.io.write_xlsx import CELL_LENGTH, count_utf16_units
from mmconvert.pipeline.convert import write
from mmconvert.plugins.format import Target
from mmscore.compat.vlmevalkit.tables import load
from mmscore.core.estimates import Estimate
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import OWN, Item, Metrics, Recipe, Row, parse_whole_response
from mmscore.core.table import Scored
from mmscore.infer.adapter import build_plugin_name
from mmscore.infer.backend import identify_file

_WHOLE = "#whole"
"""One value for all rows: they are evaluated together, so a report draws none of them anew."""

_TEXTS = ("sample", "dataset", "question", "hint", "answer", "label", "category", "l2_category", "split", "group")
KEPT = ("id", *_TEXTS, "variant", "round", "task", "options", "answers", "extra", "prediction", "model", "source")
"""Columns that tell all that a result file holds."""


def as_recipe(dataset: Any, eval_file: str | Path | None = None, **judge_kwargs: Any) -> Recipe:
    """Make a recipe of a class, or an object, that has `evaluate(eval_file, **judge_kwargs)`.

    Args:
        dataset: The class is opened with the benchmark's name; without the benchmark's table its `data` is that of
            the predictions.
        eval_file: The table that is read; None writes it from the rows, into a folder that goes away with what
            `evaluate` writes beside it.
        **judge_kwargs: Given to `evaluate`.

    Returns:
        A recipe whose metrics are the numbers, and whose table the rows, of what `evaluate` gives.

    Raises:
        UsageError: There is no `evaluate`.
    """
    if not callable(getattr(dataset, "evaluate", None)):
        raise UsageError(f"expected a class with evaluate(eval_file, **judge_kwargs) {show(dataset)}.")
    named = dataset if isinstance(dataset, type) else type(dataset)
    evaluation = _Evaluation(dataset, None if eval_file is None else Path(eval_file), judge_kwargs)
    return Recipe(
        summary=(named.__doc__ or named.__name__).strip().partition("\n")[0],
        parity=OWN,
        versions={_edition(named): named.__qualname__},
        columns=("prediction",),
        optional=("question", "options", "label", "category"),
        parse=parse_whole_response,
        metrics=_answered,
        default_for=lambda facts: None,
        keep=KEPT,
        groups=(),
        settle=_together,
        reduce=evaluation.metrics,
        table=evaluation.table,
        joint=(_WHOLE,),
        asks_outside=bool(judge_kwargs),
    )


def _edition(named: type) -> str:
    """Tell versions of a class apart by its file, so that a number's signature says which one gave it."""
    return identify_file(build_plugin_name(named)).partition(":")[2][:8] or "1"


def _answered(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    return {"answered": 1.0}


def _together(scored: Scored, version: str) -> Scored:
    return scored.with_array(_WHOLE, pa.array([0] * len(scored), pa.int64()))


@dataclass(slots=True)
class _Evaluation:
    """Calls `evaluate` once for the same rows: a report asks for numbers and for a table."""

    dataset: Any
    eval_file: Path | None
    judge_kwargs: Mapping[str, Any]
    last: tuple[str, Any] = ("", None)
    whole: str = ""
    """Digest of the rows that came first, which are all; a report may ask for groups of them later."""

    def metrics(self, scored: Scored, version: str) -> Metrics:
        numbers = numbers_of(self._result(scored))
        return {name: Estimate(value, len(scored), unit="points") for name, value in numbers.items()}

    def table(self, scored: Scored, version: str) -> Sequence[Row]:
        return rows_of(self._result(scored))

    def _result(self, scored: Scored) -> Any:
        records = records_of(scored.rows)
        content = encode_json([[record.id, record.prediction, record.label] for record in records])
        key = hashlib.sha256(content.encode()).hexdigest()
        self.whole = self.whole or key
        if self.last[0] != key:
            self.last = (key, self._evaluated(records, scored, self.eval_file if key == self.whole else None))
        return self.last[1]

    def _evaluated(self, records: Sequence[Record], scored: Scored, given: Path | None) -> Any:
        model = next(filter(None, scored.column("model")), None) or "model"
        name = getattr(self.dataset, "dataset_name", None) or records[0].dataset or _only_name(self.dataset)
        with tempfile.TemporaryDirectory(prefix="mmscore-") as folder:
            eval_file = given or write_eval_file(records, Path(folder), str(model), str(name))
            # What it prints is for people; standard output is the report's.
            with contextlib.redirect_stdout(sys.stderr), users_code("evaluate"):
                return _opened(self.dataset, str(name), eval_file).evaluate(str(eval_file), **self.judge_kwargs)


@contextlib.contextmanager
def users_code(what: str) -> Iterator[None]:
    """Say of an error that it is the user's own code's, and at which line.

    Args:
        what: The method that is called.

    Raises:
        Error: It raised one; ours go through as they are.
    """
    try:
        yield
    except (Error, RowError):
        raise
    except Exception as error:
        raise Error(
            f"{what} raised {describe_error(error)}. Mend it and run again: replies that stand are kept."
        ) from error


def _only_name(dataset: Any) -> str:
    """Name the benchmark that a class is for; by the class where it does not say one."""
    known = dataset.supported_datasets() if hasattr(dataset, "supported_datasets") else []
    named = dataset if isinstance(dataset, type) else type(dataset)
    return str(known[0]) if len(known) == 1 else named.__name__


def write_eval_file(records: Sequence[Record], folder: Path, model: str, dataset: str) -> Path:
    """Write the table that `evaluate` reads.

    Args:
        records: Rows with a prediction.
        folder: Where to; it is there.
        model: Name for the file.
        dataset: Name for the file.

    Returns:
        `{model}_{dataset}.xlsx`, or `.tsv` where a text is longer than a cell of a workbook.

    Raises:
        Error: It cannot be written.
    """
    long = any(count_utf16_units(text) > CELL_LENGTH for record in records for text in _long_texts(record))
    stem = f"{model.strip('/').replace('/', '_')}_{dataset}"
    path = folder / f"{stem}.{'tsv' if long else 'xlsx'}"
    write(records, Target(path), "vlmevalkit_predictions")
    return path


def _long_texts(record: Record) -> Iterator[str]:
    texts = (record.question, record.prediction, record.label, *record.options, *map(str, record.extra.values()))
    return (text for text in texts if text and len(text) * 2 > CELL_LENGTH)


def records_of(rows: pa.Table) -> list[Record]:
    """Make records of rows of a predictions file, without turns and pictures, which a result file does not hold.

    Args:
        rows: A table with the columns of `KEPT`.
    """
    return [
        Record(
            id=row["id"],
            sample=row["sample"] or row["id"],
            messages=(),
            task=row["task"] or "vqa",
            source=Source(**row["source"]) if row["source"] else Source("", "dataset", 0),
            options=tuple(row["options"] or ()),
            answers=tuple(row["answers"] or ()),
            extra=json.loads(row["extra"] or "{}"),
            variant=row["variant"],
            round=row["round"],
            prediction=row["prediction"],
            **{name: row[name] for name in _TEXTS if name != "sample"},
        )
        for row in rows.select(KEPT).to_pylist()
    ]


def _opened(dataset: Any, name: str, eval_file: Path) -> Any:
    if not isinstance(dataset, type):
        return dataset
    made: Any
    if dataset.__init__ is object.__init__:  # type: ignore[misc]
        made = dataset()
    else:
        try:
            return dataset(name)
        except UsageError:
            # The benchmark's table is not at hand, and most evaluations do without.
            made = object.__new__(dataset)
            made.data = load(eval_file)
    made.dataset_name = name
    return made


def numbers_of(result: Any, prefix: str = "") -> dict[str, float]:
    """Name the numbers in what `evaluate` gave.

    Args:
        result: A DataFrame, or a dict of numbers, of dicts, or of lists that are columns; None has none.
        prefix: What their names begin with.

    Returns:
        Numbers by name: of a table with several rows `TEXTS OF THE ROW COLUMN`.

    Example:
        >>> numbers_of({"Overall": 0.5, "by": {"cat": "1.0"}}), numbers_of({"split": ["a", "b"], "acc": [1, 0]})
        ({'Overall': 0.5, 'by.cat': 1.0}, {'a acc': 1.0, 'b acc': 0.0})
    """
    if not isinstance(result, pd.DataFrame) and not _is_columns(result):
        if not isinstance(result, Mapping):
            return {} if result is None else _named(prefix.rstrip(".") or "score", result)
        return {k: v for name, value in result.items() for k, v in numbers_of(value, f"{prefix}{name}.").items()}
    rows = rows_of(result)
    found: dict[str, float] = {}
    for row in rows:
        texts = [str(value) for value in row.values() if value is not None and _number(value) is None]
        label = " ".join(texts) + " " if len(rows) > 1 and texts else ""
        for name, value in row.items():
            found |= _named(f"{prefix}{label}{name}", value)
    return found


def rows_of(result: Any) -> list[dict[str, Any]]:
    """Lay out what `evaluate` gave as rows of plain values.

    Example:
        >>> rows_of({"split": ["a"], "acc": [0.5]}), rows_of({"acc": 1}), rows_of(None)
        ([{'split': 'a', 'acc': 0.5}], [{'acc': 1}], [])
    """
    if isinstance(result, pd.DataFrame):
        named = result if isinstance(result.index, pd.RangeIndex) else result.reset_index()
        result = {str(name): named[name].tolist() for name in named.columns}
    if _is_columns(result):
        lengths = {len(values) for values in result.values()}
        if len(lengths) > 1:
            raise Error(f"evaluate gave columns of {sorted(lengths)} values. Give them the same number.")
        return [
            dict(zip(map(str, result), map(_plain, row), strict=True)) for row in zip(*result.values(), strict=True)
        ]
    return [{str(name): _plain(value) for name, value in result.items()}] if isinstance(result, Mapping) else []


def _is_columns(result: Any) -> bool:
    return isinstance(result, Mapping) and bool(result) and all(isinstance(v, list | tuple) for v in result.values())


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)


def _number(value: Any) -> float | None:
    value = value.item() if hasattr(value, "item") else value
    try:
        return float(value) if isinstance(value, int | float | str) else None
    except ValueError:
        return None


def _named(name: str, value: Any) -> dict[str, float]:
    number = _number(value)
    return {} if number is None else {name: number}
