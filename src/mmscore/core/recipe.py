"""How one framework scores one kind of question: the contract of the files in `mmscore/recipes`."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mmconvert.core.errors import RowError, show
from mmconvert.core.plugin_struct import PluginStruct
from mmscore.core.estimates import Estimate
from mmscore.core.parsed import Parsed
from mmscore.core.table import Floats, Scored


class Item(NamedTuple):
    """One row of a predictions file: the columns of the same names (docs/schema.md).

    Only the columns that a recipe declares are filled, the others keep their defaults. A named
    tuple, because a run makes a million of them.
    """

    id: str | None = None
    sample: str | None = None
    group: str | None = None
    variant: int | None = None
    round: int | None = None
    dataset: str | None = None
    subset: str | None = None
    task: str | None = None
    question: str | None = None
    options: Sequence[str | None] = ()
    answer: str | None = None
    answers: Sequence[str] = ()
    label: str | None = None
    category: str | None = None
    l2_category: str | None = None
    split: str | None = None
    extra: str = "{}"
    prediction: str = ""
    model: str | None = None
    method: str | None = None
    messages: Sequence[Mapping[str, Any]] = ()
    image_info: Sequence[Mapping[str, Any]] = ()


def read_label(item: Item) -> Any:
    """Give the reference as the source wrote it: a text, a list, a number; None when unlabelled.

    Raises:
        RowError: `label` is no JSON.

    Example:
        >>> read_label(Item(label='["cat", "dog"]')), read_label(Item())
        (['cat', 'dog'], None)
    """
    try:
        return None if item.label is None else json.loads(item.label)
    except (ValueError, RecursionError):
        message = f"expected JSON {show(item.label)}. Put a text in quotes, or call the column `answer`."
        raise RowError("label.json", "label", message) from None


class NoReferenceError(RowError):
    """A row lacks the reference that its rule compares with.

    For recipes whose references are `Recipe.optional`: a file in which no row is scored for this reason is
    refused as a whole, as are files without references under all other recipes.
    """

    def __init__(self, field: str) -> None:
        super().__init__(f"{field}.missing", field, f"the row has no reference {show(None)}. Give --answers.")


def has_options(item: Item) -> bool:
    """Tell whether a row has options; for `Recipe.has_options` of rules that read choices by them."""
    return bool(item.options)


class Facts(PluginStruct, frozen=True):
    """What a predictions file says about itself; a recipe offers itself from it.

    Attributes:
        datasets: Names in `dataset` (or the one that the user gave), as their framework spells them.
        tasks: Values of `task`.
        formats: Formats that the records were read from.
        circular: Some question stands there in more than one variant.
        grouped: Some rows share a `group`.
        rounds: Every row is a round of a conversation.
        columns: Names of all columns.
        logged: Names of benchmarks that the predictions themselves say, whatever the user or the references say.
        asked: A run of mmscore made the predictions, so that they are no framework's result.
        stated: Names of the numbers that a framework itself gives for the file, in its order.
    """

    datasets: frozenset[str] = frozenset()
    tasks: frozenset[str] = frozenset()
    formats: frozenset[str] = frozenset()
    circular: bool = False
    grouped: bool = False
    rounds: bool = False
    columns: frozenset[str] = frozenset()
    logged: frozenset[str] = frozenset()
    asked: bool = False
    stated: tuple[str, ...] = ()

    def list_known_names(self, knows: Callable[[str], bool]) -> frozenset[str]:
        """Give the benchmark's names as a framework knows it: those of `datasets`, else the log's own.

        Args:
            knows: Tells the names that the framework knows.

        Returns:
            None where some name of either is unknown.

        Example:
            >>> facts = Facts(frozenset(["my POPE"]), logged=frozenset(["pope"]))
            >>> sorted(facts.list_known_names({"pope"}.__contains__))
            ['pope']
        """
        either = (names for names in (self.datasets, self.logged) if names and all(map(knows, names)))
        return next(either, frozenset())


class OwnResults(PluginStruct, frozen=True):
    """How a framework treats its own result files; predictions from elsewhere are not treated so.

    Attributes:
        formats: Formats of `mmconvert` that read these files. Ids may repeat in them.
        reading: Reading (`mmconvert.readings`) that reads tables as the framework's loader does, losses included;
            None where it loses nothing.
        failure: What a response holds that stands for a failed call; the framework scores it like any other. Empty
            where there is no such text.
        absent: What the framework scores where its file has no response; None where it scores nothing.
    """

    formats: frozenset[str]
    reading: str | None = None
    failure: str = ""
    absent: str | None = None

    def covers(self, formats: Collection[str]) -> bool:
        """Tell whether rows of some formats all come from the framework's own files."""
        return bool(formats) and self.formats >= {*formats}


class ScoredColumns(PluginStruct, frozen=True):
    """What responses say and what they score, one value a row in each column.

    Attributes:
        decided: The rows that the other columns hold for; the rest is parsed and scored row by row.
        parsed: What `parse` gives, as `mmscore.core.table.build_parsed_columns` lays it out.
        scores: Score name -> its values, the names in the order in which `metrics` gives them. A decided row has all.
    """

    decided: npt.NDArray[np.bool_]
    parsed: pa.RecordBatch
    scores: Mapping[str, Floats]


class Columnar(PluginStruct, frozen=True):
    """Another way to compute what two functions of a recipe give, for many rows at once.

    Attributes:
        parse: The `Recipe.parse` whose results `score` gives.
        metrics: The `Recipe.metrics` whose results `score` gives. A recipe that was made from another one with a
            function of its own in place of one of these two is scored row by row.
        score: (rows, version) -> what the two give for these rows, none of which lacks a prediction. Rows have the
            columns `prediction` and those of `Recipe.fields` that the file has. A row of which it is not certain, or
            which they refuse or leave out, it leaves undecided.
    """

    parse: Callable[[Item, str], Parsed]
    metrics: Callable[[Item, Parsed, str], Mapping[str, float]]
    score: Callable[[pa.RecordBatch, str], ScoredColumns]


Metrics = Mapping[str, Estimate]
Row = Mapping[str, Any]

OWN = "own"
"""`Recipe.parity` of a recipe that follows no framework."""

BREAKDOWN = ("subset", "split", "l2_category", "category")
"""Columns that a report breaks its numbers down by, where rows have them."""


def average_scores(unit: str = "fraction", scale: float = 1.0) -> Callable[[Scored, str], Metrics]:
    """Make the reduction that most recipes need: the mean of every score, in the order they came.

    Args:
        unit: Unit of the reported number.
        scale: What one is worth in that unit (100 for percent).
    """

    def reduce(scored: Scored, version: str) -> Metrics:
        return {name: scored.mean(name).scale(scale, unit) for name in scored.scores}

    return reduce


MEANS = average_scores()
"""The reduction of a recipe that names none: plain means, as fractions."""


def parse_whole_response(item: Item, version: str) -> Parsed:
    """Take a response as it is: the reading of recipes that compare texts."""
    return Parsed(item.prediction, "whole response", (0, len(item.prediction)))


def keep_rows(scored: Scored, version: str) -> Scored:
    """Leave the rows as they are: the recipe judges every row by itself."""
    return scored


def build_no_table(scored: Scored, version: str) -> Sequence[Row]:
    """Give no table: the recipe's framework has none beside the metrics."""
    return ()


class Recipe(PluginStruct, frozen=True):
    """One way to score, found by file name in `mmscore/recipes` as the constant `RECIPE`.

    Attributes:
        summary: One line for `mmscore list`.
        parity: `OWN`, or the framework whose numbers it gives exactly.
        versions: Version -> which release of the framework it follows, or what changed; the first is the default.
        columns: Fields of `Item` that `parse` and `metrics` read. One of those with references must have a
            value in some row.
        optional: Further such fields, which a file may lack.
        parse: (item, version) -> what the response says.
        metrics: (item, parsed, version) -> the row's scores; empty when the recipe leaves the row out.
        default_for: Facts of a file -> why the recipe fits it, or None.
        version_for: Facts of a file that it fits -> the version that it takes; the first one where there is none.
        fit: Facts of the file that it scores -> the recipe as they configure it; a UsageError where they say
            too little. Options of the user's take its place.
        keep: Columns that `settle`, `reduce` and `table` read.
        groups: Columns to break the numbers down by.
        settle: Sees all rows at once, in file order, at least one of them scored, and may rewrite
            some: seeded fallbacks, joint scores.
        reduce: The numbers of any set of settled rows; called for the whole and for each group. The first
            one is the recipe's main metric: tables, leaderboards and `.eval_results/` of the Hub show it alone.
        table: The report as the framework itself lays it out, one mapping a line.
        judges: Names of the judges that fit, see `mmscore.core.judge`; their verdicts take the place of
            what `parse` reads or of what `metrics` gives.
        needs_judge: There are no scores without one: a run without `--judge` is refused.
        additive: Its numbers are sums over the rows, such as points: `--average macro` is refused.
        joint: Columns whose rows of one value count together in `reduce`; who draws rows again draws them together.
        log: The scored rows as a file that the framework itself would write; None where there is no such file.
        configure: What the user's options (`--recipe-options`) make of the recipe; None where it takes none.
            Unknown options are UsageErrors, see `mmscore.core.recipe_options`.
        options: What it was configured with; a judge sees them too.
        results: How the framework treats its own result files; None where it treats all predictions alike.
        has_options: Item -> whether the row has options to read a response by; a file in which no row has any is
            refused. None where the rule needs none.
        asks_outside: It asks models or services beside the files, so that nobody else can recompute it.
        columnar: A faster way to get what `parse` and `metrics` give; None where there is none.
    """

    summary: str
    parity: str
    versions: Mapping[str, str]
    columns: tuple[str, ...]
    parse: Callable[[Item, str], Parsed]
    metrics: Callable[[Item, Parsed, str], Mapping[str, float]]
    default_for: Callable[[Facts], str | None]
    version_for: Callable[[Facts], str] | None = None
    fit: Callable[[Facts], "Recipe"] | None = None
    keep: tuple[str, ...] = ()
    groups: tuple[str, ...] = BREAKDOWN
    settle: Callable[[Scored, str], Scored] = keep_rows
    reduce: Callable[[Scored, str], Metrics] = MEANS
    table: Callable[[Scored, str], Sequence[Row]] = build_no_table
    judges: tuple[str, ...] = ()
    needs_judge: bool = False
    additive: bool = False
    joint: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    log: Callable[[Scored, str], str] | None = None
    configure: Callable[[Mapping[str, Any]], "Recipe"] | None = None
    options: Mapping[str, Any] = msgspec.field(default_factory=dict)
    results: OwnResults | None = None
    asks_outside: bool = False
    has_options: Callable[[Item], bool] | None = None
    columnar: Columnar | None = None

    @property
    def fields(self) -> tuple[str, ...]:
        """Name all fields of `Item` that are filled where the file has them."""
        return (*self.columns, *self.optional)

    def find_columnar(self) -> Columnar | None:
        """Give `columnar` where it stands for `parse` and `metrics` as they are now."""
        held = self.columnar
        return held if held and held.parse is self.parse and held.metrics is self.metrics else None
