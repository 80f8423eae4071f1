"""What ReForm-Eval's recipes share: which files are theirs, how a choice is read, what the framework logs."""

import json
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
from msgspec.structs import replace

from mmconvert.core.errors import Error, RowError, show
from mmconvert.core.record import LETTERS
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import MEANS, Facts, Item, Metrics, Recipe, Row
from mmscore.core.table import CLUSTER, SCORED, Scored
from mmscore.kits.reform_eval.evaluation import SINGLE_CHOICE, format_log_lines
from mmscore.metrics.reform_instability import compute_entropy
from mmscore.parsers.reform_choice import reform_choice

KIT = "ReForm-Eval"
VERSIONS: Mapping[str, str] = {"1": "FudanDISC/ReForm-Eval@df1cfa7"}
FORMATS = frozenset(("reform_predictions", "reform_eval"))
LIKELIHOOD = "likelihood"
INSTABILITY = "instability"

CHOICE_KEEP = ("sample", "options", "prediction")


def is_from_kit(facts: Facts, task: str) -> bool:
    """Tell whether a file holds predictions for the framework's data, all of one task."""
    return facts.tasks == {task} and bool(facts.formats) and facts.formats <= FORMATS


def build_log_table(formulation: str, numbers: Mapping[str, float]) -> Sequence[Row]:
    """Lay out numbers as the framework's log does, one line a row."""
    return [{"log": line} for line in format_log_lines(formulation, numbers)]


def parse_choice(item: Item, version: str) -> Parsed:
    """Read the choice: the letter of a likelihood run, else the first mark in brackets."""
    if _read_method(item) == LIKELIHOOD:
        return Parsed(item.prediction, LIKELIHOOD)
    return reform_choice(item.prediction)


def _read_method(item: Item) -> str | None:
    if item.method is not None or "infer_method" not in item.extra:
        return item.method
    try:
        fields = json.loads(item.extra)
    except (ValueError, RecursionError):
        return None
    return fields.get("infer_method") if isinstance(fields, dict) else None


def score_choice(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    """Judge the choice, and whether there is one.

    Raises:
        RowError: The row has no answer.
    """
    if item.answer is None:
        raise RowError("answer.missing", "answer", f"the row has no reference {show(None)}. Give --answers.")
    return {"accuracy": float(parsed.value == item.answer), "format_hit_rate": float(parsed.value is not None)}


def measure_instability(scored: Scored) -> Scored:
    """Measure how the predictions for one sample differ, where samples stand in several rows.

    Args:
        scored: All rows, with `CHOICE_KEEP`.

    Returns:
        The rows, those of a sample one cluster, with the score `instability` on the first scored row of
        each sample: the entropy of the texts that were chosen, 0 where no sample has copies.
    """
    columns = (scored.column(name) for name in ("status", "id", "value", *CHOICE_KEEP))
    groups: dict[str, list[int]] = {}
    said: list[str | None] = []
    for number, (status, id, letter, sample, options, prediction) in enumerate(zip(*columns, strict=True)):
        if status == SCORED:
            groups.setdefault(sample or id, []).append(number)
        said.append(_find_chosen_text(letter, options or (), prediction))
    values, clusters = np.full(len(scored), np.nan), np.arange(len(scored))
    for rows in groups.values():
        values[rows[0]] = compute_entropy(said[row] for row in rows)
        clusters[rows] = rows[0]
    scored = scored.with_scores(instability=values)
    known = CLUSTER in scored.rows.column_names or len(groups) == sum(map(len, groups.values()))
    return scored if known else scored.with_array(CLUSTER, pa.array(clusters))


def _find_chosen_text(letter: str | None, options: Sequence[str | None], prediction: str | None) -> str | None:
    """Give the text of an option by its letter or, as Python counts, by a number that has none."""
    if letter is None:
        return prediction
    place = LETTERS.index(letter) if letter in LETTERS else int(letter)
    return options[place] if -len(options) <= place < len(options) else prediction


def average_choices(scored: Scored, version: str) -> Metrics:
    """Average the scores of choices; instability is in natural logarithms, and less of it is better."""
    metrics = dict(MEANS(scored, version))
    if INSTABILITY in metrics:
        metrics[INSTABILITY] = replace(metrics[INSTABILITY], unit="points", higher_is_better=False)
    return metrics


def build_choice_recipe(summary: str, default_for: Callable[[Facts], str | None]) -> Recipe:
    """Make the recipe of single choice; others change what they do besides.

    Args:
        summary: What it scores, in a line.
        default_for: When it offers itself.
    """
    return Recipe(
        summary=summary,
        parity=KIT,
        versions=VERSIONS,
        columns=("options", "answer", "method", "extra"),
        parse=parse_choice,
        metrics=score_choice,
        settle=lambda scored, version: measure_instability(scored),
        reduce=average_choices,
        table=lambda scored, version: build_choice_table(scored, average_choices(scored, version)),
        keep=CHOICE_KEEP,
        default_for=default_for,
    )


def build_choice_table(scored: Scored, metrics: Metrics) -> Sequence[Row]:
    """Lay out the numbers of choices as the framework's log does.

    Args:
        scored: Scored rows, with the column `sample`.
        metrics: Their estimates.

    Raises:
        Error: Some samples stand more often than others, which the framework cannot average.
    """
    copies = {len(part) for _, part in scored.split("sample")}
    if len(copies) > 1:
        raise Error("sample: some samples have more answered rows than others, and the framework cannot average them.")
    shown = [name for name in metrics if copies != {1} or name != INSTABILITY]
    return build_log_table(SINGLE_CHOICE, {name: metrics[name].value for name in shown})
