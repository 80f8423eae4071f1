"""Recipes for tables of the framework: those that give its scores, and dataset classes with `evaluate`.

`evaluate` reads a table `{model}_{dataset}.xlsx` (TSV where a text is longer than a cell of a workbook) with
index, question, options, answer, category, prediction and the other columns of the source. Rows without a
response are not in it: the report counts them, where the framework has the text of the failure scored.
"""

import contextlib
import hashlib
import json
import math
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mmconvert.core.command_output import divert_prints
from mmconvert.core.errors import Error, RowError, UsageError, describe_error, show, suggest_spelling
from mmconvert.core.record import Record, Source, encode_json
from mmconvert.io.write_xlsx import CELL_LENGTH, count_utf16_units
from mmconvert.pipeline.convert import write
from mmconvert.plugins.format import Target
from mmconvert.storage.temporary import build_temporary_prefix
from mmscore.compat.vlmevalkit.tables import load
from mmscore.core.estimates import Estimate
from mmscore.core.predictions.load import open_rows
from mmscore.core.recipe import OWN, Metrics, Recipe, Row, parse_whole_response
from mmscore.core.report import Entry
from mmscore.core.select_recipe import RecipeChoice, choose_recipe, find_recipe, gather_facts
from mmscore.core.table import Scored
from mmscore.infer.adapter import build_plugin_name
from mmscore.infer.backend import identify_file
from mmscore.scoring.evaluate import score
from mmscore.scoring.judging.request import JudgeRequest

_WHOLE = "#whole"
"""One value for all rows: they are evaluated together, so a report draws none of them again."""

_TEXTS = ("sample", "dataset", "question", "hint", "answer", "label", "category", "l2_category", "split", "group")
KEPT = ("id", *_TEXTS, "variant", "round", "task", "options", "answers", "extra", "prediction", "model", "source")
"""Columns that tell all that a result file holds."""

RULES_ONLY = ("exact_matching", "", None)
"""Values of `model` by which nobody is asked."""
_WITHOUT_EFFECT = ("verbose", "retry", "timeout", "use_verifier", "use_vllm", "key", "dataset")
_KNOWN = ("model", "nproc", "api_nproc", "api_base", "base_url", "temperature", "max_tokens")


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
        # The file's digest, so that a number's signature says which state of the class gave it.
        versions={identify_file(build_plugin_name(named)).partition(":")[2][:8] or "1": named.__qualname__},
        columns=("prediction",),
        optional=("question", "options", "answer", "answers", "label", "category"),
        parse=parse_whole_response,
        metrics=lambda item, parsed, version: {"answered": 1.0},
        default_for=lambda facts: None,
        keep=KEPT,
        groups=(),
        settle=lambda scored, version: scored.with_array(_WHOLE, pa.array([0] * len(scored), pa.int64())),
        reduce=evaluation.metrics,
        table=evaluation.table,
        joint=(_WHOLE,),
        asks_outside=bool(judge_kwargs),
    )


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
        if self.last[0] == key:
            return self.last[1]
        model = next(filter(None, scored.column("model")), None) or "model"
        name = getattr(self.dataset, "dataset_name", None) or records[0].dataset
        if not name:
            # The benchmark that the class is for; the class itself where it does not say one.
            known = self.dataset.supported_datasets() if hasattr(self.dataset, "supported_datasets") else []
            named = self.dataset if isinstance(self.dataset, type) else type(self.dataset)
            name = known[0] if len(known) == 1 else named.__name__
        with tempfile.TemporaryDirectory(prefix=build_temporary_prefix()) as folder:
            given = self.eval_file if key == self.whole else None
            eval_file = given or write_eval_file(records, Path(folder), str(model), str(name))
            with divert_prints(), users_code("evaluate"):
                result = _opened(self.dataset, str(name), eval_file).evaluate(str(eval_file), **self.judge_kwargs)
        self.last = (key, result)
        return result


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
            f"{what} raised {describe_error(error)}. Fix it and run again: finished responses are kept."
        ) from error


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
    cells = (
        (record.question, record.prediction, record.label, *record.options, *map(str, record.extra.values()))
        for record in records
    )
    texts = (text for row in cells for text in row if text and len(text) * 2 > CELL_LENGTH)
    suffix = "tsv" if any(count_utf16_units(text) > CELL_LENGTH for text in texts) else "xlsx"
    path = folder / f"{model.strip('/').replace('/', '_')}_{dataset}.{suffix}"
    write(records, Target(path), "vlmevalkit_predictions")
    return path


def write_answered_rows(predictions: Path, folder: Path, model: str, dataset: str) -> Path | None:
    """Write the rows of a predictions file that have a response as the table that `evaluate` reads.

    Returns:
        As `write_eval_file`; None where no row has a response.
    """
    rows = pq.read_table(predictions, columns=list(KEPT))
    records = [record for record in records_of(rows) if record.prediction is not None]
    return write_eval_file(records, folder, model, dataset) if records else None


def records_of(rows: pa.Table) -> list[Record]:
    """Make records of rows of a predictions file, without turns and images, which a result file does not hold.

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
            # The benchmark's table is not available, and most evaluations do without.
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


def kit_result(eval_file: str, dataset: str, judge_kwargs: Mapping[str, Any], recipe: str = "") -> Any:
    """Score a file of predictions as the framework does.

    Args:
        eval_file: `{model}_{dataset}.xlsx`, or another result file.
        dataset: The benchmark.
        judge_kwargs: What the framework's `evaluate` takes: `model` (`exact_matching` for none), `nproc`, `api_base`.
        recipe: The recipe where the benchmark's name tells none of the framework's; "" for none.

    Returns:
        The framework's table as a DataFrame; a dict of the numbers where the framework has none.

    Raises:
        UsageError: No recipe fits the benchmark, an argument is unknown, or a judge must be named.
        Error: The file is damaged.
    """
    entry = kit_entry(eval_file, dataset, judge_kwargs, recipe)
    if entry.table:
        return pd.DataFrame(list(entry.table))
    return {name: estimate.value for name, estimate in entry.metrics.items()}


def kit_entry(
    predictions: str, dataset: str, judge_kwargs: Mapping[str, Any], recipe: str = "", *, model: str | None = None
) -> Entry:
    """Score predictions of any form as the framework does; see `kit_result`."""
    try:
        chosen = choose_recipe(gather_facts(open_rows(predictions), dataset))
        if recipe and chosen.recipe.parity == OWN and chosen.instead is None:
            chosen = find_recipe(recipe)
    except UsageError:
        if not recipe:
            raise
        chosen = find_recipe(recipe)
    if chosen.instead is not None:
        raise UsageError(f"{chosen.reason}. Score the file by itself: mmscore {predictions} --dataset {dataset}.")
    request = judge_request(judge_kwargs, chosen)
    report = score(predictions, chosen.name, dataset=dataset, judge=request, model=model)
    return report.entries[0]


def judge_request(judge_kwargs: Mapping[str, Any], choice: RecipeChoice) -> JudgeRequest | None:
    """Read the framework's arguments of a judge.

    Returns:
        The judge; None where nobody is to be asked.

    Raises:
        UsageError: An argument is unknown, or the recipe has no judge.
    """
    for name in judge_kwargs:
        if name not in (*_KNOWN, *_WITHOUT_EFFECT):
            raise UsageError(f"no judge argument {name!r}.{suggest_spelling(name, _KNOWN)} Known: {', '.join(_KNOWN)}.")
    model = judge_kwargs.get("model")
    if model in RULES_ONLY:
        if choice.recipe.needs_judge:
            raise UsageError(
                f"recipe {choice.name!r} has no scores without a judge. "
                "Fix: --judge MODEL --judge-base-url URL (in Python model=, api_base=)"
            )
        return None
    if not choice.recipe.judges:
        raise UsageError(f"recipe {choice.name!r} knows no judge. Leave the judge out, or name exact_matching.")
    address = judge_kwargs.get("api_base") or judge_kwargs.get("base_url") or os.environ.get("OPENAI_API_BASE")
    generation = {name: judge_kwargs[name] for name in ("temperature", "max_tokens") if name in judge_kwargs}
    return JudgeRequest(
        name=choice.recipe.judges[0],
        model=model,
        base_url=str(address).removesuffix("/chat/completions") if address else None,
        concurrency=int(judge_kwargs.get("nproc") or judge_kwargs.get("api_nproc") or 8),
        generation=json.dumps(generation),
    )
