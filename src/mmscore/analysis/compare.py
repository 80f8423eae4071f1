"""Two predictions files under one recipe: how far apart, and whether that is more than chance."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import asdict, replace

from mmconvert.core.arrow import build_column, number_values, to_numpy
from mmconvert.core.errors import Error, UsageError
from mmconvert.core.notebook import show_html
from mmconvert.storage.atomic import require_apart
from mmconvert.storage.source_files import watch_sources
from mmscore.analysis.align import Pairing, find_unlike_questions, format_ids, pair_rows
from mmscore.core.estimates import FEW, describe_few_clusters, describe_few_in_groups
from mmscore.core.predictions.locate import STDIN
from mmscore.core.report import Entry, drop_infinite, json_text, publish
from mmscore.core.select_recipe import RecipeChoice
from mmscore.core.table import CLUSTER, SCORED, Floats, Scored
from mmscore.scoring.bootstrap import NumberDifference, compare_numbers
from mmscore.scoring.evaluate import JoinKeywords, ScoreOptions, score_results
from mmscore.scoring.judging.request import JudgeRequest
from mmscore.scoring.paired_tests import RESAMPLES, SEED, Difference, adjust_holm, compare_paired
from mmscore.scoring.scored_file import Result

SCHEMA_VERSION = 1


class Group(msgspec.Struct, frozen=True):
    """The rows of one value of a column.

    Attributes:
        scores: Score -> its difference.
        metrics: Number of the recipe -> its difference.
        p_holm: Score -> its p-value, adjusted for all values of the column.
        metrics_p_holm: The same for numbers of the recipe.
    """

    scores: Mapping[str, Difference]
    metrics: Mapping[str, NumberDifference]
    p_holm: Mapping[str, float | None]
    metrics_p_holm: Mapping[str, float | None]


class Comparison(msgspec.Struct, frozen=True):
    """What two files have in common and how they differ; differences are second minus first.

    Attributes:
        a: Report of the whole first file.
        b: Report of the whole second file.
        pairing: The rows of both.
        primary: The metric that decides: the first that the recipe reports, on both sides.
        others: Scores and numbers of both sides that were left out, being neither the primary one nor asked for.
        metrics: The recipe's own numbers over the rows that both scored, where both sides have them; means of
            the same rows are tested as scores.
        scores: Score of single rows -> its difference over the rows that both scored.
        groups: Column -> its value -> the differences of its rows.
        seed: Where the draws of the bootstrap began.
        unlike: Ids of compared rows whose references or options are others in each file.
        notes: Remarks on how the files were joined with their references.
    """

    a: Entry
    b: Entry
    pairing: Pairing
    primary: str
    others: tuple[str, ...]
    metrics: Mapping[str, NumberDifference]
    scores: Mapping[str, Difference]
    groups: Mapping[str, Mapping[str, Group]]
    seed: int
    unlike: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether both files hold the same rows of one dataset and each of them could be compared."""
        lacking = self.pairing.only_a or self.pairing.only_b or self.a.counts.unscored or self.b.counts.unscored
        return not (lacking or self.unlike or self.apart)

    @property
    def apart(self) -> bool:
        """Whether each file names another dataset."""
        return None not in (self.a.dataset, self.b.dataset) and self.a.dataset != self.b.dataset

    @property
    def remarks(self) -> tuple[str, ...]:
        """What makes the intervals rough, or leaves none: few clusters, resamples that are all the same."""
        differing = {name: np.not_equal(*self._drop_unscored(name)).any() for name in self.scores}
        tested: dict[str, Difference | NumberDifference] = {**self.metrics, **self.scores}
        constant = [name for name, found in tested.items() if found.ci95 is None and found.resamples]
        same = [name for name in constant if not differing.get(name, True)]
        equal = [name for name in constant if name not in same]
        few = {name: d for name, d in self.scores.items() if d.clusters < min(FEW, d.n)}
        whole = [describe_few_clusters(min(d.clusters for d in few.values()))] if few else []
        for column, values in () if few else self.groups.items():
            found = (any(d.clusters < min(FEW, d.n) for d in group.scores.values()) for group in values.values())
            whole += describe_few_in_groups(column, sum(found), len(values))
        whole += [f"{', '.join(same)}: no row differs, so there is no interval."] if same else []
        whole += [f"{', '.join(equal)}: all resamples are the same, so there is no interval."] if equal else []
        return tuple(whole)

    def __repr__(self) -> str:
        """Give one line, for a terminal."""
        sides = f"A {self.a.model!r} and B {self.b.model!r} by {self.a.recipe}@{self.a.version}"
        found = self.scores.get(self.primary) or self.metrics.get(self.primary)
        if found is None:
            return f"<Comparison of {sides}>"
        p = "" if found.p is None else f", p {found.p:.2g}"
        return f"<Comparison of {sides}: {self.primary} {found.a:.4f} and {found.b:.4f}, B - A {found.value:+.4f}{p}>"

    def _repr_html_(self) -> str | None:
        return show_html(self)

    def _drop_unscored(self, name: str) -> tuple[Floats, Floats]:
        a, b = self.pairing.a.scores[name], self.pairing.b.scores[name]
        return a[~np.isnan(a + b)], b[~np.isnan(a + b)]

    def to_json(self) -> dict[str, Any]:
        """Give the object of schemas/compare.json."""
        return {
            "schema_version": SCHEMA_VERSION,
            "a": self.a.to_json(),
            "b": self.b.to_json(),
            "primary": self.primary,
            "others": list(self.others),
            "remarks": list(self.remarks),
            "rows": {
                "compared": len(self.pairing),
                "only_a": list(self.pairing.only_a),
                "only_b": list(self.pairing.only_b),
                "unscored": list(self.pairing.unscored),
                "unlike": list(self.unlike),
            },
            "metrics": {name: _build_number_json(number) for name, number in self.metrics.items()},
            "scores": {name: _build_difference_json(difference) for name, difference in self.scores.items()},
            "groups": {
                column: {
                    value: {
                        name: _build_difference_json(d) | {"p_holm": group.p_holm[name]}
                        for name, d in group.scores.items()
                    }
                    for value, group in values.items()
                }
                for column, values in self.groups.items()
            },
            "group_metrics": {
                column: {
                    value: {
                        n: _build_number_json(m) | {"p_holm": group.metrics_p_holm[n]} for n, m in group.metrics.items()
                    }
                    for value, group in values.items()
                }
                for column, values in self.groups.items()
            },
            "seed": self.seed,
        }


def _build_number_json(number: NumberDifference) -> dict[str, Any]:
    return {
        "a": drop_infinite(number.a),
        "b": drop_infinite(number.b),
        "difference": drop_infinite(number.value),
        "unit": number.unit,
        "ci95": None if number.ci95 is None else list(number.ci95),
        "p": number.p,
        "test": number.test,
        "why_no_p": number.why_no_p,
        "resamples": number.resamples,
    }


def _build_difference_json(difference: Difference) -> dict[str, Any]:
    return {
        "n": difference.n,
        "clusters": difference.clusters,
        "a": difference.a,
        "b": difference.b,
        "difference": difference.value,
        "stderr": difference.stderr,
        "ci95": None if difference.ci95 is None else list(difference.ci95),
        "p": difference.p,
        "test": difference.test,
        "why_no_p": difference.why_no_p,
        "p_bootstrap": difference.p_bootstrap,
        "resamples": difference.resamples,
        "mcnemar": None if difference.mcnemar is None else asdict(difference.mcnemar),
    }


class CompareOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How two files are scored and compared, and where the result goes."""

    recipe: str | None = None
    """Recipe for both files; NAME@VERSION for a version."""
    recipe_options: str | None = None
    """YAML or JSON file with options of the recipe."""
    format: str | None = None
    """Format of the files. [default: detected]"""
    answers: str | None = None
    """Dataset or file with the reference answers, joined by id."""
    allow_mismatch: bool = False
    """Score even if --answers holds other questions than the predictions."""
    dataset: str | None = None
    """Benchmark name, if the file does not state it."""
    by: tuple[str, ...] = ()
    """Also compare per value of a column, or of extra.KEY."""
    all: bool = False
    """Test every metric, not only the primary one (the first that the recipe reports)."""
    judge: JudgeRequest | None = None
    """A model that judges after the rules; None when the rules stand alone."""
    resamples: Annotated[int, msgspec.Meta(ge=100)] = RESAMPLES
    """Number of bootstrap resamples."""
    seed: Annotated[int, msgspec.Meta(ge=0)] = SEED
    """Random seed of the bootstrap."""
    output: str | None = None
    """Write the comparison as JSON to this file."""


class CompareKeywords(JoinKeywords, total=False):
    """Keywords of `compare`: the options of `mmscore compare` by their names."""

    recipe: str | None
    by: str | Sequence[str]
    all: bool
    resamples: int
    seed: int
    output: str | Path | None


@watch_sources()
def compare_files(a: str, b: str, options: CompareOptions) -> Comparison:
    """Compare two predictions files row by row, and write the comparison where the options name a file.

    Args:
        a: The first file, the one to start from.
        b: The second file.
        options: How to score and to compare; the columns of `by` are compared value by value.

    Returns:
        Differences over the rows that both files have a score for.

    Raises:
        UsageError: As `score`; or no recipe was named and another fits each file, or a file would be written over
            what is read.
        Error: As `score`; or no row has a score in both files.
    """
    if [a, b, options.answers].count(STDIN) > 1:
        raise UsageError(f"{STDIN}: standard input cannot be read twice. Write it to a file first.")
    require_apart([options.output], [a, b])
    shared = {name: getattr(options, name) for name in ScoreOptions.__struct_fields__ if hasattr(options, name)}
    scoring = ScoreOptions(**shared)
    one, other = score_results([a, b], [options.recipe] if options.recipe else [], scoring)
    found = compare_results(
        one, other, by=options.by, every=options.all, resamples=options.resamples, seed=options.seed
    )
    if options.output:
        publish(options.output, json_text(found.to_json()).encode() + b"\n")
    return found


def compare_results(
    a: Result,
    b: Result,
    *,
    by: Sequence[str] = (),
    every: bool = False,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Comparison:
    """Compare two files that are scored already, in the primary metric or in every one; see `compare_files`.

    Raises:
        UsageError: Another recipe scored each file.
        Error: No row has a score in both files.
    """
    entry_a, entry_b = a.entry, b.entry
    if (entry_a.recipe, entry_a.version) != (entry_b.recipe, entry_b.version):
        raise UsageError(
            f"{entry_a.predictions} is scored by {entry_a.recipe}, {entry_b.predictions} by {entry_b.recipe}, "
            "which cannot be compared. Choose one for both with --recipe; to compare two recipes, "
            "use `mmscore explain`."
        )
    # Rows are settled as if neither file had one that the other lacks: some scores are of several rows.
    whole = pair_rows(a.scored, b.scored)
    lone = build_column([*whole.only_a, *whole.only_b], pa.string())
    cut = pair_rows(_drop_rows(a, lone), _drop_rows(b, lone))
    pairing = replace(cut, only_a=whole.only_a, only_b=whole.only_b)
    if not len(pairing):
        raise Error(
            f"{entry_a.predictions} and {entry_b.predictions}: no row has a score in both (only in the first: "
            f"{len(pairing.only_a)} ids, such as {format_ids(pairing.only_a) or 'none'}; only in the second: "
            f"{len(pairing.only_b)}, such as {format_ids(pairing.only_b) or 'none'}). "
            "Compare answers to the same questions."
        )
    listed = [_list_names(side, a.choice) for side in (pairing.a, pairing.b)]
    names = [name for name in listed[0] if name in listed[1]]
    means = [name for name in names if _is_same_mean(name, pairing)]
    # The primary metric has one test: by rows where it is the mean of the same ones, else as a number.
    chosen = [name for name in pairing.a.scores if name in names] if every else [n for n in means if n == names[0]]
    draws = _Draws(a.choice, resamples, seed, None if every else names[:1], chosen, means)
    groups = {column: _compare_groups(pairing, column, draws) for column in by}
    scores = _compute_differences(pairing, np.ones(len(pairing), np.bool_), draws)
    numbers = draws.test_numbers(pairing.a, pairing.b)
    unlike = find_unlike_questions(a.rows, b.rows, pairing.a.rows["id"].combine_chunks())
    others = () if every else tuple(names[1:])
    own = (f"{entry.predictions}: {note}" for entry in (entry_a, entry_b) for note in entry.notes)
    notes = tuple(dict.fromkeys((*a.rows.notes, *b.rows.notes, *own)))
    return Comparison(entry_a, entry_b, pairing, names[0], others, numbers, scores, groups, seed, unlike, notes)


def _list_names(side: Scored, choice: RecipeChoice) -> list[str]:
    """List what the recipe reports of the rows, in its order, then their other scores."""
    found = choice.recipe.reduce(side.only(choice.recipe.keep), choice.version)
    return list(dict.fromkeys([*found, *side.scores]))


def _is_same_mean(name: str, pairing: Pairing) -> bool:
    """Tell whether a number is a score that the same rows have on both sides."""
    a, b = (side.scores.get(name) for side in (pairing.a, pairing.b))
    return a is not None and b is not None and np.array_equal(np.isnan(a), np.isnan(b))


def _drop_rows(result: Result, ids: pa.Array) -> Scored:
    kept = to_numpy(pc.invert(pc.is_in(result.raw.rows["id"], value_set=ids)))
    if kept.all():
        return result.scored
    rest = result.raw.where(kept)
    # A recipe settles rows of which at least one is scored.
    return result.choice.recipe.settle(rest, result.choice.version) if len(rest.with_status(SCORED)) else rest


class _Draws(msgspec.Struct, frozen=True):
    choice: RecipeChoice
    resamples: int
    seed: int
    metrics: Sequence[str] | None
    scores: Sequence[str]
    means: Sequence[str]

    def test_numbers(self, a: Scored, b: Scored) -> Mapping[str, NumberDifference]:
        """Test the recipe's numbers, but for means of the same rows: those are tested row by row."""
        return compare_numbers(
            a,
            b,
            self.choice.recipe,
            self.choice.version,
            names=self.metrics,
            means=self.means,
            resamples=self.resamples,
            seed=self.seed,
        )


def _compute_differences(pairing: Pairing, mask: npt.NDArray[np.bool_], draws: _Draws) -> Mapping[str, Difference]:
    a, b = pairing.a.where(mask), pairing.b.where(mask)
    sides = (side.rows for side in (a, b) if CLUSTER in side.rows.column_names)
    clusters = next((to_numpy(rows[CLUSTER]) for rows in sides), None)
    found = {
        name: compare_paired(a.scores[name], b.scores[name], clusters, resamples=draws.resamples, seed=draws.seed)
        for name in draws.scores
    }
    return {name: difference for name, difference in found.items() if difference.n}


def _compare_groups(pairing: Pairing, column: str, draws: _Draws) -> Mapping[str, Group]:
    """Compare the rows of each value that the first file gives; those without one take no part."""
    codes, values = number_values(pairing.a.rows[column])
    masks = {str(value): codes == code for code, value in enumerate(values)}
    scores = {value: _compute_differences(pairing, mask, draws) for value, mask in masks.items()}
    numbers = {value: draws.test_numbers(pairing.a.where(mask), pairing.b.where(mask)) for value, mask in masks.items()}
    p_scores, p_numbers = _adjust_p_values(scores), _adjust_p_values(numbers)
    return {value: Group(scores[value], numbers[value], p_scores[value], p_numbers[value]) for value in masks}


def _adjust_p_values(
    found: Mapping[str, Mapping[str, Difference] | Mapping[str, NumberDifference]],
) -> Mapping[str, Mapping[str, float | None]]:
    """Adjust the p-values of each name for all groups that have it."""
    adjusted = {value: dict[str, float | None]() for value in found}
    for name in dict.fromkeys(name for part in found.values() for name in part):
        having = [value for value, part in found.items() if name in part]
        for value, p in zip(having, adjust_holm([found[value][name].p for value in having]), strict=True):
            adjusted[value][name] = p
    return adjusted
