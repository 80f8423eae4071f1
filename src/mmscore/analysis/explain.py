"""Why a number is what it is: the rule that fired in each row, and what two recipes make of the same responses."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import pyarrow.compute as pc
from msgspec.structs import asdict

from mmconvert.core.errors import Error, UsageError, suggest_spelling
from mmconvert.storage.atomic import require_apart
from mmconvert.storage.source_files import require_unchanged, watch_sources
from mmscore.analysis.align import pair_rows
from mmscore.analysis.rule_contributions import Gap, RuleShare, Side, count_rules, split_gap
from mmscore.core.predictions.join import REFERENCES
from mmscore.core.predictions.load import describe_own_results
from mmscore.core.recipe import Metrics
from mmscore.core.report import build_metrics_json, json_text, publish
from mmscore.core.select_recipe import RecipeChoice
from mmscore.core.table import SCORED, Floats, Scored
from mmscore.scoring.evaluate import JoinKeywords
from mmscore.scoring.scored_file import ScoredFile, choose_recipes, open_joined, score_by_recipe

SCHEMA_VERSION = 1
LIMIT = 20
MOST_RECIPES = 2
_TEXT = "prediction"


class Reader(msgspec.Struct, frozen=True):
    """One recipe and all it made of the file.

    Attributes:
        choice: The recipe.
        score: Name of the score that is explained.
        value: Its mean over the rows that have it; NaN where none does.
        n: Rows that have it.
        metrics: The recipe's own numbers.
        rules: The rules that fired, the most frequent first.
        settled: All rows.
    """

    choice: RecipeChoice
    score: str
    value: float
    n: int
    metrics: Metrics
    rules: tuple[RuleShare, ...]
    settled: Scored


class ParsedSide(msgspec.Struct, frozen=True):
    """What one recipe made of one row; `span` is start and end in the response, in characters."""

    status: str
    value: str | None
    how: str | None
    span: tuple[int, int] | None
    score: float | None


class ExplainedRow(msgspec.Struct, frozen=True):
    """One row: its id, what was right, what the model said, and one reading a recipe."""

    id: str | None
    reference: tuple[str, ...]
    prediction: str | None
    readings: tuple[ParsedSide, ...]


class Explanation(msgspec.Struct, frozen=True):
    """The outcome.

    Attributes:
        predictions: The file, as the user wrote it.
        readers: One a recipe.
        gap: Where two recipes' numbers part; None for one recipe.
        found: Rows there are to show: all, or with two recipes those whose scores differ.
        rows: The first of them.
        refusals: Why rows were rejected.
        notes: Remarks on how the file was joined with its references.
    """

    predictions: str
    readers: tuple[Reader, ...]
    gap: Gap | None
    found: int
    rows: tuple[ExplainedRow, ...]
    refusals: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Give the object of schemas/explain.json."""
        return {
            "schema_version": SCHEMA_VERSION,
            "predictions": self.predictions,
            "recipes": [
                {
                    "recipe": reader.choice.name,
                    "version": reader.choice.version,
                    "parity": reader.choice.recipe.parity,
                    "reason": reader.choice.reason,
                    "score": reader.score,
                    "value": None if math.isnan(reader.value) else reader.value,
                    "n": reader.n,
                    "metrics": build_metrics_json(reader.metrics),
                    "rules": [asdict(rule) for rule in reader.rules],
                }
                for reader in self.readers
            ],
            "gap": None if self.gap is None else self.gap.to_json(),
            "rows_found": self.found,
            "rows": [
                {
                    "id": row.id,
                    "reference": list(row.reference),
                    "prediction": row.prediction,
                    "readings": [asdict(r) | {"span": None if r.span is None else list(r.span)} for r in row.readings],
                }
                for row in self.rows
            ],
            "messages": [*self.notes, *self.refusals],
        }


class ExplainOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a file is scored and explained, and where the result goes."""

    recipe: tuple[str, ...] = ()
    """Recipe; give it twice to compare two recipes."""
    recipe_options: str | None = None
    """YAML or JSON file with options of the recipe."""
    format: str | None = None
    """Format of the file. [default: detected]"""
    answers: str | None = None
    """Dataset or file with the reference answers, joined by id."""
    allow_mismatch: bool = False
    """Score even if --answers holds other questions than the predictions."""
    dataset: str | None = None
    """Benchmark name, if the file does not state it."""
    score: str | None = None
    """Score to explain. [default: the first that the recipes share]"""
    limit: Annotated[int, msgspec.Meta(ge=0)] = LIMIT
    """Maximum number of samples to show."""
    output: str | None = None
    """Write the explanation as JSON to this file."""


class ExplainKeywords(JoinKeywords, total=False):
    """Keywords of `explain`: the options of `mmscore explain` by their names."""

    recipe: str | Sequence[str]
    score: str | None
    limit: int
    output: str | Path | None


@watch_sources()
def explain_file(predictions: str, options: ExplainOptions) -> Explanation:
    """Say which rule read each row, and with two recipes why their numbers differ.

    Args:
        predictions: A predictions file.
        options: The recipes, none for the one that fits; and where the explanation is written.

    Raises:
        UsageError: More than two recipes, or names that nobody knows; or a file would be written over what is read.
        Error: The file is damaged, has no references, or no row is scored (by both recipes).
    """
    require_apart([options.output], [predictions])
    if len(options.recipe) > MOST_RECIPES:
        raise UsageError(f"explain compares at most two recipes, not {len(options.recipe)}. Drop some.")
    rows = open_joined(predictions, options.answers, options.format, allow_mismatch=options.allow_mismatch)
    shown = sorted({_TEXT, *(REFERENCES & rows.names)})
    choices = choose_recipes(rows, options.recipe, options.dataset, options.recipe_options)
    found = [score_by_recipe(rows, choice, dataset=options.dataset, keep=shown) for choice in choices]
    names = _list_score_names([one.rows for one in found], options.score)
    readers = tuple(map(_build_reader, found, names))
    gap, sides = None, [one.rows for one in found]
    if len(readers) == MOST_RECIPES:
        gap, sides = explain_gap(found[0], found[1], names), [*_find_differing_rows(*readers)]
    listed = _explain_rows([side.take(np.arange(min(options.limit, len(side)))) for side in sides], names)
    refusals = tuple(dict.fromkeys(refusal.message for one in found for refusal in one.refusals))
    own = [note for choice in choices for note in describe_own_results(rows, choice.recipe.results)]
    notes = tuple(dict.fromkeys((*rows.notes, *own)))
    explanation = Explanation(predictions, readers, gap, len(sides[0]), listed, refusals, notes)
    require_unchanged()
    if options.output:
        publish(options.output, json_text(explanation.to_json()).encode() + b"\n")
    return explanation


def _list_score_names(settled: Sequence[Scored], wanted: str | None) -> list[str]:
    having = [list(side.scores) for side in settled]
    common = [name for name in having[0] if all(name in names for names in having)]
    if wanted is None:
        return [common[0]] * len(having) if common else [names[0] for names in having]
    if wanted not in common:
        hint = suggest_spelling(wanted, common)
        raise UsageError(f"no score {wanted!r} of every recipe.{hint} Found: {', '.join(common) or 'none in common'}.")
    return [wanted] * len(having)


def _build_reader(settled: ScoredFile, name: str) -> Reader:
    valid = settled.rows.with_status(SCORED)
    having = valid.where(~np.isnan(valid.scores[name]))
    values, n = having.scores[name], len(having)
    mean = math.fsum(values) / n if n else math.nan
    rules = count_rules(having, values)
    return Reader(settled.choice, name, mean, n, settled.metrics(), rules, settled.rows)


def explain_gap(a: ScoredFile, b: ScoredFile, scores: Sequence[str]) -> Gap:
    """Split the difference of two recipes' numbers by the pair of rules that fired.

    Args:
        a: The same file as one recipe read it.
        b: And as the other did.
        scores: The score of each that is explained.

    Raises:
        Error: No row is scored by both.
    """
    pairing = pair_rows(a.rows, b.rows)
    score_a, score_b = scores
    having = ~(np.isnan(pairing.a.scores[score_a]) | np.isnan(pairing.b.scores[score_b]))
    if not having.any():
        raise Error(f"no row is scored by both {a.choice.name} and {b.choice.name}. Choose recipes of one task.")
    side_a, side_b = pairing.a.where(having), pairing.b.where(having)
    return split_gap(
        Side(side_a, side_a.scores[score_a], _list_values(a.rows, score_a)),
        Side(side_b, side_b.scores[score_b], _list_values(b.rows, score_b)),
    )


def _list_values(settled: Scored, score: str) -> Floats:
    values = settled.with_status(SCORED).scores[score]
    return values[~np.isnan(values)]


def _find_differing_rows(a: Reader, b: Reader) -> tuple[Scored, Scored]:
    """Find the rows that get another score, or one from one recipe alone; in the order of the first recipe."""
    everything = []
    for rows in (a.settled, b.settled):
        # Every row that has an id is called scored, so that none is left out; `fate` keeps what it is.
        named = rows.where(pc.is_valid(rows.rows["id"]).to_numpy())
        everything.append(named.with_array("fate", named.rows["status"]).with_column("status", [SCORED] * len(named)))
    pairing = pair_rows(*everything)
    of_a, of_b = (
        np.where(np.array(reader_rows.column("fate")) == SCORED, reader_rows.scores[reader.score], np.nan)
        for reader_rows, reader in ((pairing.a, a), (pairing.b, b))
    )
    differ = (of_a != of_b) & ~(np.isnan(of_a) & np.isnan(of_b))
    return pairing.a.where(differ), pairing.b.where(differ)


def _explain_rows(sides: Sequence[Scored], names: Sequence[str]) -> tuple[ExplainedRow, ...]:
    first = sides[0]
    ids, texts, references = first.column("id"), first.column(_TEXT), _list_references(first)
    readings = zip(*map(_list_readings, sides, names), strict=True)
    return tuple(map(ExplainedRow, ids, references, texts, readings))


def _list_references(scored: Scored) -> list[tuple[str, ...]]:
    """Give the references of each row as texts: `answers`, else `answer`, else `label`."""
    having = [scored.column(name) for name in ("answers", "answer", "label") if name in scored.rows.column_names]
    found = [next((value for value in values if value), ()) for values in zip(*having, strict=True)]
    return [(value,) if isinstance(value, str) else tuple(value) for value in found] or [()] * len(scored)


def _list_readings(side: Scored, name: str) -> list[ParsedSide]:
    fates = side.column("fate" if "fate" in side.rows.column_names else "status")
    spans = zip(side.column("start"), side.column("end"), strict=True)
    columns = zip(fates, side.column("value"), side.column("how"), spans, side.scores[name].tolist(), strict=True)
    return [
        ParsedSide(fate, value, how, None if span[0] is None else span, None if math.isnan(score) else score)
        for fate, value, how, span, score in columns
    ]
