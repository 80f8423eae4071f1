"""Run a benchmark class of VLMEvalKit on a table of questions and a workbook of predictions, both of ours."""

import contextlib
import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import openpyxl  # noqa: F401 - before a package that it would use is stood in for
import pandas as pd
from checkout import open_checkout
from PIL import Image

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
    judge: "ScriptedJudge | None" = None,
    sizes: Sequence[tuple[int, int]] = (),
) -> dict:
    """Evaluate a workbook of predictions as the framework does, without a judge where none is given.

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
        judge: What the judge says.
        sizes: Width and height of the image of each row, which lies at its `image_path`.

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
    benchmark.img_root = f"{os.environ[DATA]}/images/{dataset}"
    for row, size in zip(rows, sizes, strict=False):
        image = Path(benchmark.img_root, row[columns.index("image_path")])
        image.parent.mkdir(parents=True, exist_ok=True)
        Image.new("1", size).save(image)
    given = {"dataset": dataset, "columns": columns, "rows": rows, "predictions": said}
    case = {"rule": "table", "input": {**given, "image_sizes": list(map(list, sizes))} if sizes else given}
    if judge is not None and judge.replies:
        case["rule"], case["input"]["judge_replies"] = "judged_table", judge.replies
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/model_{dataset}.xlsx"
        frame = benchmark.data.drop(columns="image", errors="ignore")
        frame["prediction"] = said
        dump(frame, file)
        try:
            score = benchmark.evaluate(file, model="exact_matching") if judge is None else judge.score(benchmark, file)
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


class ScriptedJudge:
    """A judge that replies by a script: it says what is next of the question whose text stands in the prompt.

    Attributes:
        replies: Text of a question, or of the response to it -> what the judge says about it, one reply a call; none
            where it fails at each call, which is how the framework scores without a judge.
    """

    model = "scripted"

    def __init__(self, replies: Mapping[str, Sequence[str]]) -> None:
        self.replies = replies
        self._left = {question: iter(said) for question, said in replies.items()}

    def working(self) -> bool:
        return True

    def generate(self, prompt: str, **options: Any) -> str:
        """Reply, or fail as a service does."""
        said = next((said for question, said in self._left.items() if question in prompt), iter(()))
        return next(said, "Failed to obtain answer via API.")

    def score(self, benchmark: Any, file: str) -> Any:
        """Evaluate with this judge; a class that gives no report writes one."""
        module = sys.modules[type(benchmark).__module__]
        client = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=self._create)))
        stood_in = {"build_judge": lambda **options: self, "OpenAI": lambda **options: client}
        with contextlib.ExitStack() as stack:
            for name in stood_in.keys() & vars(module).keys():
                stack.enter_context(patch.object(module, name, stood_in[name]))
            score = benchmark.evaluate(file, model=self.model, nproc=1)
        if score is not None:
            return score
        (report,) = Path(file).parent.glob("*_score.csv")
        return pd.read_csv(report)

    def _create(self, messages: list[dict], **options: Any) -> Any:
        message = SimpleNamespace(content=self.generate(messages[-1]["content"]))
        return SimpleNamespace(choices=[SimpleNamespace(message=message)])


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
