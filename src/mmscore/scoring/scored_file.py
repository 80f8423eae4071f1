"""One predictions file under one recipe: its rows, and the entry of the report they make."""

from collections.abc import Sequence

import msgspec
import pyarrow.compute as pc

from mmconvert.core.errors import Error, UsageError
from mmscore.core.predictions.join import join
from mmscore.core.predictions.load import Refusal, Rows, open_rows, read_for
from mmscore.core.recipe import Metrics
from mmscore.core.report import Entry
from mmscore.core.select_recipe import RecipeChoice, choose_recipe, find_recipe, fit_recipe, gather_facts
from mmscore.core.table import EXCLUDED, SCORED, STATUSES, Scored
from mmscore.scoring.score import score_rows


class ScoredFile(msgspec.Struct, frozen=True):
    """What a recipe made of a file.

    Attributes:
        choice: The recipe.
        rows: All rows, judged.
        refusals: Why rows were rejected.
    """

    choice: RecipeChoice
    rows: Scored
    refusals: tuple[Refusal, ...]

    def metrics(self) -> Metrics:
        """Give the recipe's numbers over all scored rows."""
        return self.choice.recipe.reduce(self.rows.with_status(SCORED), self.choice.version)

    @property
    def unscored(self) -> int:
        """Count the rows that should have a score and have none."""
        return sum(len(self.rows.with_status(status)) for status in STATUSES if status not in (SCORED, EXCLUDED))


def choose_recipes(
    rows: Rows, recipes: Sequence[str], dataset: str | None = None, options: str | None = None
) -> list[RecipeChoice]:
    """Find the recipes that were named, or the one that fits the file.

    Args:
        rows: The file.
        recipes: Names; none takes the one that fits.
        dataset: Benchmark name, if the file does not state it.
        options: File of options for the recipes.

    Raises:
        UsageError: A name is unknown, none was given and no recipe fits, one has no scores without a judge, or
            one does not take these options.
    """
    named = [find_recipe(name, options) for name in recipes]
    facts = gather_facts(rows, dataset)
    choices = [fit_recipe(choice, facts) for choice in named] or [choose_recipe(facts, options)]
    for choice in choices:
        if choice.recipe.needs_judge:
            raise UsageError(f"recipe {choice.name!r} needs a judge, and none is given.")
    return choices


def open_joined(
    predictions: str, answers: str | None = None, format: str | None = None, *, allow_mismatch: bool = False
) -> Rows:
    """Open a predictions file, with the references of a dataset where one is given.

    Raises:
        UsageError: Nothing stands there.
        Error: A file is damaged, they have no row in common, or they differ in what they ask.
    """
    rows = open_rows(predictions, format=format, repeated=True)
    if answers is None:
        return rows
    return join(rows, open_rows(answers, required=("id",)), allow_mismatch=allow_mismatch)


def score_by_recipe(
    rows: Rows, choice: RecipeChoice, *, dataset: str | None = None, keep: Sequence[str] = ()
) -> ScoredFile:
    """Score a file by one recipe.

    Args:
        rows: The file.
        choice: The recipe.
        dataset: Benchmark name, if the file does not state it.
        keep: Columns of the file to keep beside those of the recipe, `extra.key` for a key of `extra`.

    Raises:
        Error: The file has no references, or no row is scored.
    """
    rows = read_for(rows, choice.recipe.results)
    raw, refusals = score_rows(rows, choice.recipe, choice.version, dataset=dataset, by=keep)
    if not raw.scores:
        first = f" The first of {len(refusals)} rejected rows: {refusals[0].message}" if refusals else ""
        raise Error(f"{rows.path}: {choice.name} scores no row.{first} See `mmscore score`.")
    return ScoredFile(choice, _restore_columns(keep, choice.recipe.settle(raw, choice.version), raw), refusals)


def _restore_columns(columns: Sequence[str], settled: Scored, raw: Scored) -> Scored:
    """Put back columns that the recipe dropped once it had no more use for them."""
    dropped = [name for name in columns if name not in settled.rows.column_names]
    if dropped:
        place = pc.index_in(settled.rows["id"], value_set=raw.rows["id"].combine_chunks(), skip_nulls=True)
        for name in dropped:
            settled = settled.with_array(name, raw.rows[name].take(place.combine_chunks()))
    return settled


class Result(msgspec.Struct, frozen=True):
    """What scoring one file by one recipe gave.

    Attributes:
        entry: The entry of the report.
        scored: All rows, settled.
        raw: All rows before the recipe settled them.
        rows: The file, joined with its references.
        choice: The recipe.
        refusals: Why rows were rejected, or got no verdict.
    """

    entry: Entry
    scored: Scored
    raw: Scored
    rows: Rows
    choice: RecipeChoice
    refusals: tuple[Refusal, ...] = ()

    @property
    def settled(self) -> ScoredFile:
        """Give what the recipe made of the file, for whoever needs no report."""
        return ScoredFile(self.choice, self.scored, self.refusals)
