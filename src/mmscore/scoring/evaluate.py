"""Predictions to numbers, with their uncertainty, their counts and their signature."""

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, TypedDict, Unpack

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace

from mmconvert.benchmarks.catalogue import find_benchmark
from mmconvert.core.arrow import build_column, build_scalar
from mmconvert.core.errors import Error, UsageError
from mmconvert.core.multiprocess import count_usable_cores
from mmconvert.core.option_fields import build_options
from mmconvert.storage.source_files import require_unchanged, watch_sources
from mmscore.core.estimates import FEW, describe_few_clusters, describe_few_in_groups
from mmscore.core.judge import AUTO
from mmscore.core.parsed import UNPARSED
from mmscore.core.predictions.join import join
from mmscore.core.predictions.load import Refusal, Rows, describe_own_results, list_model_folders, open_rows, read_for
from mmscore.core.predictions.select import select_rows
from mmscore.core.recipe import OWN, Metrics, Recipe, Row
from mmscore.core.report import Counts, Entry, Report
from mmscore.core.select_recipe import (
    RecipeChoice,
    choose_for_benchmark,
    choose_recipe,
    find_recipe,
    fit_recipe,
    gather_facts,
)
from mmscore.core.table import CLUSTER, EXCLUDED, FAILURE, SCORED, STATUSES, Scored
from mmscore.llm.client import Chat
from mmscore.llm.prices import PriceTable
from mmscore.scoring.benchmark import add_references
from mmscore.scoring.bootstrap import add_errors
from mmscore.scoring.groups import MACRO, Groups, check_breakdown, compute_groups, compute_macro_average
from mmscore.scoring.judging.jury import JudgeCost, JudgeSetting
from mmscore.scoring.judging.panel import Panel, Sitting
from mmscore.scoring.judging.request import (
    JudgedFile,
    JudgeRequest,
    choose_panel,
    open_batch_sittings,
    open_chat,
    open_dry_sitting,
    open_sitting,
)
from mmscore.scoring.parts import RecipeReference
from mmscore.scoring.score import list_columns_read, score_rows
from mmscore.scoring.scored_file import Result
from mmscore.scoring.signature import Fingerprint, write_signature
from mmscore.scoring.stated_numbers import compare_stated_numbers

AVERAGES = ("micro", MACRO)
_MESSAGES = 20
_ALIKE = 5
_ROW = re.compile(r"row \d+ ")


class ScoreOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to score, beside the recipe."""

    recipe_options: str | None = None
    """YAML or JSON file with options of the recipe."""
    format: str | None = None
    """Format of the files. [default: detected]"""
    map: tuple[str, ...] = ()
    """Column (or dotted path) that holds FIELD: prediction, answer, options, id, ...; repeatable."""
    answers: str | None = None
    """Dataset or file with the reference answers, joined by id."""
    allow_mismatch: bool = False
    """Score even if --answers holds other questions than the predictions."""
    benchmark: str | None = None
    """Score as this benchmark of the catalogue (`mmconvert list benchmarks`): its recipe, its dataset name, and its
    references if the files have none and its table is in $LMUData or on the Hub."""
    dataset: str | None = None
    """Benchmark name, if the file does not state it."""
    model: str | None = None
    """Model name, if the file does not state it."""
    where: str | None = None
    """Score only samples that match a condition: "task = 'vqa' and category = 'chart'"."""
    by: tuple[str, ...] = ()
    """Also report scores per value of a column, or of extra.KEY; repeatable."""
    average: Literal["micro", "macro"] = "micro"
    """Average over samples, or over the groups of the first --by."""
    workers: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Number of worker processes. [default: one per core for files that take seconds]"""
    judge: JudgeRequest | None = None
    """A model that judges after the rules; None when the rules stand alone."""
    progress: Callable[[int, int], None] = lambda done, total: None
    """Called now and then with the rows done so far, and those of the file."""


class FileKeywords(TypedDict, total=False):
    """What every verb that scores takes of files of predictions, as keywords."""

    recipe_options: str | Path | None
    format: str | None
    answers: str | Path | None
    dataset: str | None


class JoinKeywords(FileKeywords, total=False):
    """What of these every verb takes that may be told to pass over other questions."""

    allow_mismatch: bool


class ScoreKeywords(JoinKeywords, total=False):
    """The fields of `ScoreOptions` that users name, as keywords."""

    model: str | None
    benchmark: str | None
    map: str | Sequence[str]
    where: str | None
    by: str | Sequence[str]
    workers: int | None
    average: Literal["micro", "macro"]


class JudgeEstimate(msgspec.Struct, frozen=True):
    """What judging one file under one recipe would cost.

    Attributes:
        predictions: The file, as the user wrote it.
        recipe: Name and version of the recipe.
        setting: The judge, one of several where the user names several.
        estimate: Rows, calls and tokens.
        prices: What models cost; None where nobody knows.
        batch: The calls would go through a batch API.
    """

    predictions: str
    recipe: str
    setting: JudgeSetting
    estimate: JudgeCost
    prices: PriceTable | None = None
    batch: bool = False


@watch_sources()
def score(
    predictions: str | Path | Sequence[str | Path],
    recipe: str | Recipe | Sequence[str | Recipe] = (),
    *,
    judge: JudgeRequest | str | None = None,
    **options: Unpack[ScoreKeywords],
) -> Report:
    """Score predictions as each recipe's framework would.

    Args:
        predictions: Places of predictions, see `mmscore.score`; several are models side by side.
        recipe: Names, with `@version` where wanted, or recipes; none takes the one that fits the file.
        judge: A model that judges after the rules; the name of a judge is a request with nothing else said.
        **options: Fields of `ScoreOptions`.

    Returns:
        One entry for each file and recipe, files first, with the rows behind it.

    Raises:
        UsageError: A path, a recipe or a column does not exist, no recipe fits, or it takes no such options.
        Error: A file is damaged or holds nothing that can be scored.
    """
    request = JudgeRequest(judge) if isinstance(judge, str) else judge
    asked = build_options(ScoreOptions, {**options, "judge": request}, "score")
    found = list(score_results(list_files(predictions), list_recipes(recipe), asked))
    return Report(tuple(one.entry for one in found), tuple(one.scored for one in found))


def list_files(predictions: str | Path | Sequence[str | Path]) -> list[str | Path]:
    """List the files of one place of predictions, or of several.

    Raises:
        UsageError: There is none.
    """
    named = [predictions] if isinstance(predictions, str | Path) else predictions
    files: list[str | Path] = [one for path in named for one in list_model_folders(path)]
    if not files:
        raise UsageError("predictions: no file is named. Name one at least.")
    return files


def list_recipes(recipe: str | Recipe | Sequence[str | Recipe] | None) -> list[str | Recipe]:
    """List recipes, of which a caller may give one by itself, or none."""
    return [recipe] if isinstance(recipe, str | Recipe) else list(recipe or ())


def score_each(
    paths: Sequence[str | Path], recipes: Sequence[str | Recipe], options: ScoreOptions, *, log: bool = False
) -> Iterator[tuple[Entry, Scored]]:
    """Score file after file, recipe after recipe; all names and files are looked at before the first row.

    Args:
        paths: Predictions files.
        recipes: Names of recipes; none takes the one that fits each file.
        options: How to score.
        log: The log of the recipe's framework is wanted (`format_kit_log`): one file, one recipe that has one.

    Yields:
        The entry of the report, and the settled rows behind it.

    Raises:
        UsageError: As `score`.
        Error: As `score`.
    """
    for result in score_results(paths, recipes, options, log=log):
        yield result.entry, result.scored


def score_results(
    paths: Sequence[str | Path], recipes: Sequence[str | Recipe], options: ScoreOptions, *, log: bool = False
) -> Iterator[Result]:
    """Score as `score_each`, and give the file and the recipe as well."""
    options = _add_name(options)
    work = _plan(paths, recipes, options, log=log)
    if options.judge is not None and any(panel.asks for _, _, panel in work if panel):
        yield from _judge_all(work, options, options.judge)
        return
    for rows, choice, panel in work:
        yield _score_one(rows, choice, options, panel)


def _judge_all(
    work: Sequence[tuple[Rows, RecipeChoice, Panel | None]], options: ScoreOptions, request: JudgeRequest
) -> list[Result]:
    """Score with a judge; all at once, so that no connection stays open while the caller holds an entry."""
    with contextlib.ExitStack() as stack:
        chat = stack.enter_context(open_chat(request))
        batched = iter(stack.enter_context(_open_batches(work, options, request, chat)) if request.batch else ())
        found = []
        for rows, choice, panel in work:
            if panel is None or not panel.asks:
                found.append(_score_one(rows, choice, options, panel))
            elif request.batch:
                sitting = next(batched)
                found.append(_score_one(rows, choice, options, sitting.panel, sitting))
            else:
                with open_sitting(request, panel, chat, rows.path, choice) as sitting:
                    found.append(_score_one(rows, choice, options, sitting.panel, sitting))
    return found


def _open_batches(
    work: Sequence[tuple[Rows, RecipeChoice, Panel | None]], options: ScoreOptions, request: JudgeRequest, chat: Chat
) -> contextlib.AbstractContextManager[list[Sitting]]:
    def build_walk(rows: Rows, choice: RecipeChoice) -> Callable[[Sitting], object]:
        return lambda sitting: score_rows(rows, choice.recipe, choice.version, dataset=options.dataset, sitting=sitting)

    files = [
        JudgedFile(rows.path, panel, choice, build_walk(rows, choice))
        for rows, choice, panel in work
        if panel is not None and panel.asks
    ]
    return open_batch_sittings(request, chat, files)


def estimate_each(
    paths: Sequence[str | Path], recipes: Sequence[str], options: ScoreOptions
) -> Iterator[JudgeEstimate]:
    """Count what the judge would be asked; nobody is asked, and nothing is written.

    Args:
        paths: Predictions files.
        recipes: Names of recipes; none takes the one that fits each file.
        options: How to score, with a judge.

    Yields:
        The count for each file, recipe and judge.

    Raises:
        UsageError: As `score`.
        Error: As `score`.
    """
    options = _add_name(options)
    for rows, choice, panel in _plan(paths, recipes, options):
        if options.judge is None or panel is None:
            continue
        name = f"{choice.name}@{choice.version}"
        if not panel.asks:
            yield from (JudgeEstimate(rows.path, name, setting, JudgeCost()) for setting in panel.settings)
            continue
        with open_dry_sitting(options.judge, panel, rows.path, choice) as (sitting, juries):
            score_rows(rows, choice.recipe, choice.version, dataset=options.dataset, sitting=sitting)
            more = (panel.prices, options.judge.batch)
            estimates = [JudgeEstimate(rows.path, name, jury.setting, jury.estimate, *more) for jury in juries]
        yield from estimates


def _plan(
    paths: Sequence[str | Path], recipes: Sequence[str | Recipe], options: ScoreOptions, *, log: bool = False
) -> list[tuple[Rows, RecipeChoice, Panel | None]]:
    """Look at every file and name before the first row is read."""
    if options.average not in AVERAGES:
        raise UsageError(f"no average {options.average!r}. Known: {', '.join(AVERAGES)}.")
    named = [find_recipe(name, options.recipe_options) for name in recipes]
    opened = [open_rows(path, format=options.format, mapping=options.map, repeated=True) for path in paths]
    if options.answers is not None:
        references = open_rows(options.answers, required=("id",))
        opened = [join(rows, references, allow_mismatch=options.allow_mismatch) for rows in opened]
    elif options.benchmark is not None:
        benchmark = find_benchmark(options.benchmark)
        known = named or ([find_recipe(benchmark.recipe)] if benchmark.recipe else [])
        used, allow = [choice.recipe for choice in known], options.allow_mismatch
        opened = [add_references(rows, benchmark, used, allow_mismatch=allow) for rows in opened]
    chosen = [(rows, choice) for rows in opened for choice in _choose_recipes(rows, named, options)]
    chosen = [(read_for(rows, choice.recipe.results), choice) for rows, choice in chosen]
    if options.where is not None:
        chosen = [(select_rows(rows, options.where), choice) for rows, choice in chosen]
    if log:
        _check_log([choice for _, choice in chosen])
    for rows, choice in chosen:
        check_breakdown(rows, options.by, choice.recipe.groups)
        if options.average == MACRO and choice.recipe.additive:
            raise UsageError(
                f"recipe {choice.name!r} adds points up, which have no mean over groups. Leave --average macro out."
            )
    return [(rows, choice, _choose_panel(choice, options)) for rows, choice in chosen]


def _choose_recipes(rows: Rows, named: Sequence[RecipeChoice], options: ScoreOptions) -> list[RecipeChoice]:
    facts = gather_facts(rows, options.dataset)
    if not named and options.benchmark is not None:
        return [choose_for_benchmark(find_benchmark(options.benchmark), facts, options.recipe_options)]
    return [fit_recipe(choice, facts) for choice in named] or [choose_recipe(facts, options.recipe_options)]


def _add_name(options: ScoreOptions) -> ScoreOptions:
    """Take the dataset's name from the benchmark, where the user gives no other."""
    if options.benchmark is None or options.dataset is not None:
        return options
    return replace(options, dataset=find_benchmark(options.benchmark).name)


def _check_log(choices: Sequence[RecipeChoice]) -> None:
    if len(choices) > 1:
        raise UsageError("--log: a log is of one file by one recipe. Score each on its own.")
    for choice in choices:
        if choice.recipe.log is None:
            raise UsageError(f"--log: recipe {choice.name!r} knows no log of its framework. Leave --log out.")


def format_kit_log(result: Result) -> str:
    """Write scored rows as the log that the recipe's framework would save; rows without a score are not in it.

    Args:
        result: What `score_results` gave.

    Raises:
        Error: The log cannot hold the rows.
    """
    choice = result.choice
    if choice.recipe.log is None:
        raise UsageError(f"recipe {choice.name!r} knows no log of its framework.")
    return choice.recipe.log(result.scored.with_status(SCORED), choice.version)


def _choose_panel(choice: RecipeChoice, options: ScoreOptions) -> Panel | None:
    if options.judge is not None:
        return choose_panel(options.judge, choice)
    if choice.recipe.needs_judge:
        judges = ", ".join(choice.recipe.judges)
        raise UsageError(f"recipe {choice.name!r} has no scores without a judge. Add --judge, one of: {judges}.")
    return None


def _score_one(
    rows: Rows, choice: RecipeChoice, options: ScoreOptions, panel: Panel | None, sitting: Sitting | None = None
) -> Result:
    recipe, version = choice.recipe, choice.version
    fingerprint = Fingerprint(
        list_columns_read(recipe, panel), rows.names | {"dataset"} if options.dataset else rows.names
    )
    raw, refusals = score_rows(
        rows,
        recipe,
        version,
        dataset=options.dataset,
        by=options.by,
        progress=options.progress,
        sitting=sitting,
        fingerprint=fingerprint,
        workers=options.workers or count_usable_cores(),
        reference=_refer(choice, options),
    )
    settled = recipe.settle(raw, version) if raw.scores else raw
    numbers = _compute_numbers(rows, settled, choice, options) if raw.scores else _Numbers()
    datasets = gather_facts(rows, options.dataset).datasets
    statuses = Counter({one["values"]: one["counts"] for one in pc.value_counts(settled.rows["status"]).to_pylist()})
    require_unchanged()
    kept = pc.is_in(raw.rows["status"], value_set=build_column([SCORED, EXCLUDED], pa.string()))
    unparsed = pc.sum(pc.and_(kept, pc.equal(raw.rows["how"], build_scalar(UNPARSED.how)))).as_py() or 0
    entry = Entry(
        recipe=choice.name,
        version=version,
        parity=_describe_parity(choice, options, panel),
        reason=choice.reason,
        metrics=numbers.metrics,
        without_failures=_reduce_without_failures(raw, choice),
        groups=numbers.groups,
        counts=Counts(
            total=len(settled),
            unparsed=unparsed,
            **{status: statuses[status] for status in STATUSES},
            blank=rows.count_blank(),
            failures=pc.sum(raw.rows[FAILURE]).as_py() or 0 if FAILURE in raw.rows.column_names else 0,
        ),
        partial=rows.partial or bool(rows.missing),
        model=options.model or ", ".join(rows.list_distinct("model")) or rows.title,
        method=", ".join(rows.list_distinct("method")) or None,
        dataset=next(iter(datasets)) if len(datasets) == 1 else None,
        signature=write_signature(
            choice,
            average=options.average,
            column=numbers.average,
            panel=panel,
            answers=options.answers,
            mismatch=rows.mismatch,
            digests=fingerprint.digests(),
        ),
        table=numbers.table,
        predictions=rows.path,
        messages=[
            *rows.notes,
            *_describe_unasked(options, panel),
            *_list_messages(refusals),
            *(sitting.remarks() if sitting else ()),
            *numbers.remarks,
        ],
        notes=(*describe_own_results(rows, recipe.results), *_compare_stated(rows, numbers, recipe)),
        judging=sitting.facts() if sitting else None,
    )
    return Result(entry, settled, raw, rows, choice, refusals)


def _refer(choice: RecipeChoice, options: ScoreOptions) -> RecipeReference | None:
    """Say how another process finds the recipe, which may be a value of this one alone."""
    if not choice.known:
        return None
    return RecipeReference(choice.name, choice.version, choice.options and options.recipe_options, choice.facts)


def _compare_stated(rows: Rows, numbers: "_Numbers", recipe: Recipe) -> tuple[str, ...]:
    if rows.stated is None or not numbers.metrics:
        return ()
    return compare_stated_numbers(rows.stated, numbers.metrics, numbers.table, own=recipe.parity == OWN)


def _reduce_without_failures(raw: Scored, choice: RecipeChoice) -> Metrics:
    rest = raw.without_failures() if raw.scores else None
    if rest is None or not len(rest.with_status(SCORED)):
        return {}
    settled = choice.recipe.settle(rest, choice.version)
    return choice.recipe.reduce(settled.with_status(SCORED), choice.version)


class _Numbers(msgspec.Struct, frozen=True):
    metrics: Metrics = msgspec.field(default_factory=dict)
    groups: Mapping[str, Mapping[str, Metrics]] = msgspec.field(default_factory=dict)
    table: Sequence[Row] = ()
    remarks: tuple[str, ...] = ()
    average: str | None = None


def _compute_numbers(rows: Rows, settled: Scored, choice: RecipeChoice, options: ScoreOptions) -> _Numbers:
    recipe, version = choice.recipe, choice.version
    valid = settled.with_status(SCORED)
    metrics, groups = recipe.reduce(valid, version), compute_groups(valid, recipe, version, options.by)
    few = _describe_clusters(valid, groups)
    if options.average != MACRO:
        found = _Numbers(add_errors(metrics, valid, recipe, version), groups, remarks=few)
    else:
        averaged = compute_macro_average(valid, metrics, groups, options.by, rows.path)
        found = _Numbers(averaged.metrics, groups, average=averaged.column, remarks=(*averaged.remarks, *few))
    try:
        return replace(found, table=recipe.table(valid, version))
    except Error as error:
        # The framework itself breaks off here; the numbers beside its table stand all the same.
        return replace(found, remarks=(*found.remarks, f"the framework's table cannot be made: {error}"))


def _describe_clusters(valid: Scored, groups: Groups) -> tuple[str, ...]:
    """Say that intervals, of the whole or of groups, come from few clusters, where some hold several rows."""
    if CLUSTER not in valid.rows.column_names:
        return ()
    whole = pc.count_distinct(valid.rows[CLUSTER]).as_py()
    if whole < min(FEW, len(valid)):
        return (describe_few_clusters(whole),)
    remarks: list[str] = []
    for column, values in groups.items():
        sizes = valid.rows.group_by(column).aggregate([(CLUSTER, "count_distinct"), (CLUSTER, "count")]).to_pylist()
        few = [one for one in sizes if one[f"{CLUSTER}_count_distinct"] < min(FEW, one[f"{CLUSTER}_count"])]
        remarks += describe_few_in_groups(column, sum(str(one[column]) in values for one in few), len(values))
    return tuple(remarks)


def _describe_parity(choice: RecipeChoice, options: ScoreOptions, panel: Panel | None) -> str:
    """Name whose score it is; with another average or judge prompt the framework's own may differ."""
    recipe = choice.recipe
    if recipe.parity == OWN:
        return OWN
    prompt = "" if panel is None or not panel.asks else _name_prompt_owner(panel.settings[0], choice)
    named = f"{recipe.parity}, {recipe.versions[choice.version]}"
    named += "; with options of the user's" if choice.options else ""
    named += f"; judged, prompt template {prompt}" if prompt else ""
    return named + ("; averaged over groups, which the framework does not do" if options.average == MACRO else "")


def _name_prompt_owner(setting: JudgeSetting, choice: RecipeChoice) -> str:
    if setting.kit_prompts is not None:
        return "the framework's"
    return "the user's" if setting.wording or choice.options else "ours"


def _describe_unasked(options: ScoreOptions, panel: Panel | None) -> list[str]:
    """Say that the judge's own choice was to ask nobody: whoever names a judge may expect otherwise."""
    if options.judge is None or panel is None or panel.asks or options.judge.strategy != AUTO:
        return []
    setting = panel.settings[0]
    others = " or ".join(setting.judge.strategies)
    return [f"judge {setting.name}: strategy auto means rule, no request was sent. Give --judge-strategy {others}."]


def _list_messages(refusals: Sequence[Refusal]) -> list[str]:
    """Name the first rows, a few of each reason, and count the others."""
    reasons = Counter[str]()
    shown = []
    for refusal in refusals:
        reason = _ROW.sub("", refusal.message, count=1)
        reasons[reason] += 1
        if reasons[reason] <= _ALIKE:
            shown.append(refusal.message)
    shown = shown[:_MESSAGES]
    more = len(refusals) - len(shown)
    return [*shown, f"... and {more} more such rows."] if more else shown
