"""Run a benchmark class of VLMEvalKit on a table of questions and a workbook of predictions, both of ours."""

import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import openpyxl  # noqa: F401 - before a package that it would use is stood in for
import pandas as pd
from checkout import open_checkout

DATA = "LMUData"  # as the framework spells its variable
HOSTILE = (
    "", " ", "None", "nan", "NaN", "A", "B.", "(C)", "D)", "E", "a", "[A]", "**B**", "The answer is C.", "Answer: D",
    "A or B", "ABCD", "答案是B", "Ａ",
    "I cannot see the picture.", "=1+1", "-", "0", "1e3", "\\boxed{A}", "\\boxed{42}",
    "<answer>B</answer>", "{}", "{A}", "[]", "[0.1, 0.2, 0.3, 0.4]", "A\nB", "Option B is wrong, so A", "x" * 300,
    "Yes", "No", "yes.", "I think it is the second one, since the first one shows nothing of the kind at all.",
)  # fmt: skip
"""Responses that any benchmark may meet: blank, odd and hostile ones."""


def open_kit(checkout: Path) -> None:
    """Make the framework's benchmarks importable, one module at a time."""
    os.environ[DATA] = tempfile.mkdtemp()
    open_checkout(checkout, ["vlmeval"], bare=["vlmeval", "vlmeval.dataset"])
    import vlmeval.smp

    # Some modules look for their logger in a package that is not there.
    sys.modules["vlmeval.dataset.smp"] = vlmeval.smp
    sys.modules["vlmeval.dataset.smp.log"] = sys.modules["vlmeval.smp.log"]


def say(rng: Random, right: str, others: Sequence[str]) -> str:
    """Draw a response: the right one, another one, or a hostile one."""
    return rng.choices((right, rng.choice(list(others) or [""]), rng.choice(HOSTILE)), (5, 3, 2))[0]


def evaluate(
    module: str,
    name: str,
    dataset: str,
    columns: list[str],
    rows: list[list],
    said: list[str],
    labels: Sequence[str] = (),
    unread: Sequence[str] = (),
    prepare: Callable[[Any], None] | None = None,
) -> dict:
    """Evaluate a workbook of predictions as the framework does without a judge.

    Args:
        module: Module of `vlmeval.dataset`, such as `image_mcq`.
        name: The class.
        dataset: Name of the benchmark.
        columns: Those of the table of questions.
        rows: Its rows.
        said: A response for each.
        labels: Columns of its report that name something, so that a number there is a text.
        unread: Columns of its report that repeat the others.
        prepare: What else is to be done to the benchmark, such as to replace its table by one with more columns.

    Returns:
        A case: `expected` holds what `evaluate` returns as a list of lines, or the name of its error.
    """
    from vlmeval.smp import dump, load

    table = Path(os.environ[DATA]) / f"{dataset}.tsv"
    pd.DataFrame(rows, columns=columns).to_csv(table, sep="\t", index=False)
    benchmark = object.__new__(getattr(import_module(f"vlmeval.dataset.{module}"), name))
    benchmark.dataset_name, benchmark.data, benchmark.meta_only = dataset, load(str(table)), True
    if prepare:
        prepare(benchmark)
        frame = benchmark.data.drop(columns="image", errors="ignore")
        columns = list(frame)
        rows = [[None if pd.isna(cell) else build_plain(cell) for cell in row] for row in frame.itertuples(index=False)]
    case = {"rule": "table", "input": {"dataset": dataset, "columns": columns, "rows": rows, "predictions": said}}
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/model_{dataset}.xlsx"
        frame = benchmark.data.drop(columns="image", errors="ignore")
        frame["prediction"] = said
        dump(frame, file)
        try:
            score = benchmark.evaluate(file, model="exact_matching")
        except Exception as error:
            return {**case, "expected": {"error": type(error).__name__}}
    lines = build_lines(score, labels)
    return {**case, "expected": {"table": [{k: v for k, v in line.items() if k not in unread} for line in lines]}}


def evaluate_until_scored(draw: Callable[[], dict]) -> dict:
    """Draw cases until the framework scores one, for benchmarks at which it stops for many a response."""
    return next(case for case in iter(draw, None) if "table" in case["expected"])


def flatten(case: dict, names: Sequence[str], value: str) -> dict:
    """Turn an expected line that holds dictionaries in dictionaries into a line for each number.

    Args:
        case: What `evaluate` gives.
        names: Columns of the names on the way to a number; "" where there are fewer.
        value: Column of the numbers.
    """
    if "table" not in case["expected"]:
        return case
    (tree,) = case["expected"]["table"]
    lines = [
        {**dict(zip(names, [*path, *[""] * len(names)], strict=False)), value: number}
        for path, number in _list_leaves(tree, ())
    ]
    return {**case, "expected": {"table": lines}}


def _list_leaves(tree: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not isinstance(tree, dict):
        yield path, tree
    for name, inner in tree.items() if isinstance(tree, dict) else ():
        yield from _list_leaves(inner, (*path, name))


def build_lines(score: Any, labels: Sequence[str]) -> list[dict]:
    """Give a table, or a dictionary of numbers, as lines of plain values; those of `labels` as texts."""
    lines = score.to_dict("records") if isinstance(score, pd.DataFrame) else [score]
    plain = [{str(name): build_plain(value) for name, value in line.items()} for line in lines]
    return [{name: str(value) if name in labels else value for name, value in line.items()} for line in plain]


def build_plain(value: Any) -> Any:
    """Give a value as JSON has it; NaN as the text `NaN`."""
    if isinstance(value, dict):
        return {str(name): build_plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [build_plain(inner) for inner in value]
    value = value.item() if isinstance(value, np.generic) else value
    return "NaN" if isinstance(value, float) and math.isnan(value) else value
