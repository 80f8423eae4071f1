"""LLaVA-Bench as VLMEvalKit grades and reports it: a judge compares a response with GPT-4's."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from mmscore.core.recipe import Item
from mmscore.kits.vlmevalkit.rows import read_other_cells, require_cell

OVERALL = "overall"
LOWEST, HIGHEST = 1.0, 10.0
TEMPERATURE = 0.2


class Pair(NamedTuple):
    """What the judge gives GPT-4's answer and the model's, on a scale of 1 to 10."""

    gpt4: float
    model: float


class ReferenceFacts(NamedTuple):
    """What the framework's table knows beside the question: the image in words, and GPT-4's answer."""

    caption: str
    gpt4_answer: str


def read_reference_facts(item: Item) -> ReferenceFacts:
    """Read what the judge is shown of a row.

    Raises:
        RowError: A column of the table is missing, or `extra` is no JSON object.
    """
    cells = read_other_cells(item)
    return ReferenceFacts(require_cell(cells, "caption"), require_cell(cells, "gpt4_ans"))


def parse_pair(response: str) -> Pair | None:
    r"""Read the two scores off the first line of a judge's response.

    Args:
        response: Two numbers with one blank or comma between them, then anything.

    Returns:
        The scores; None when the line holds anything else, or a score lies outside 1 to 10.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/llavabench.py:parse_score. Not
    kept: the framework averages two scores of -1 in place of what it cannot read, and takes any number.

    Example:
        >>> parse_pair("8 6.5\nThe first answer ...")
        Pair(gpt4=8.0, model=6.5)
        >>> parse_pair("Scores: 8 6.5")
    """
    parts = response.split("\n")[0].replace(",", " ").split(" ")
    try:
        gpt4, model = map(float, parts)
    except ValueError:
        return None
    return Pair(gpt4, model) if all(LOWEST <= score <= HIGHEST for score in (gpt4, model)) else None


def build_llavabench_table(rows: Iterable[tuple[str, Pair]]) -> list[dict[str, str | float]]:
    """Average over all rows and over each category.

    Args:
        rows: Category and scores of each row.

    Returns:
        The whole, then categories by first appearance (the framework has no order); the model's mean
        as a percentage of GPT-4's, and ten times either mean, all rounded to one digit as the framework does.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/llavabench.py:LLaVABench_score.

    Example:
        >>> build_llavabench_table([("conv", Pair(8, 6)), ("detail", Pair(8, 7))])[0]
        {'split': 'overall', 'Relative Score (main)': 81.2, 'VLM Score': 65.0, 'GPT4 Score': 80.0}
    """
    parts: dict[str, list[Pair]] = {OVERALL: []}
    for category, pair in rows:
        parts[OVERALL].append(pair)
        parts.setdefault(category, []).append(pair)
    return [_build_line(name, pairs) for name, pairs in parts.items() if pairs]


def _build_line(name: str, pairs: list[Pair]) -> dict[str, str | float]:
    gpt4 = math.fsum(pair.gpt4 for pair in pairs) / len(pairs)
    model = math.fsum(pair.model for pair in pairs) / len(pairs)
    numbers = {"Relative Score (main)": model / gpt4 * 100, "VLM Score": model * 10, "GPT4 Score": gpt4 * 10}
    return {"split": name, **{key: round(value, 1) for key, value in numbers.items()}}
