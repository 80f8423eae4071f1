"""The file of `mmscore run`: which datasets, models and recipes, under the option names of the commands."""

import contextlib
import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

import msgspec

from mmconvert.core.errors import Error, UsageError, refuse_long_paths, show, suggest_spelling
from mmconvert.core.option_fields import build_options, list_option_fields
from mmconvert.core.record import list_missing_columns
from mmconvert.dataset.dataset import open_dataset
from mmconvert.io.parquet import open_checked_parquet
from mmconvert.pipeline.convert_files import ConvertOptions
from mmconvert.pipeline.inputs import plan_inputs as plan_inputs
from mmconvert.pipeline.prompting import build_prompt_step
from mmconvert.plugins.registry import find_plugins, load
from mmconvert.plugins.transform import load_steps
from mmscore.core.predictions.locate import STDIN, locate_predictions
from mmscore.core.recipe_options import read_options
from mmscore.core.select_recipe import RECIPES, find_recipe, split_version
from mmscore.infer.backend import GROUP as BACKENDS
from mmscore.infer.json_schema import read_response_format
from mmscore.infer.options import LOCAL, PredictOptions
from mmscore.infer.protocol import open_protocol
from mmscore.infer.server import resolve_served
from mmscore.scoring.judging.request import JudgeOptions, JudgeRequest, choose_panel
from mmscore.workflow.named import split_frameworks
from mmscore.workflow.score import ReportOptions
from mmscore.workflow.task_readers import find_reader

_TOP = ("datasets", "models", "recipes", "also", "convert", "predict", "score", "steps", "work-dir")
STEPS = ALL, PREDICT, SCORE = ("all", "predict", "score")
"""What is done: both, responses alone, or numbers of the responses that stand."""

_NOT_HERE = frozenset(
    (
        *(
            "output",
            "overwrite",
            "append",
            "push",
            "private",
            "revision",
            "create-pr",
            "config-name",
            "view",
            "rejects",
        ),
        *("resume", "restart", "share", "shard", "csv", "rows", "recipe", "dry-run", "json", "quiet", "options"),
        *("html", "html-pictures", "log", "log-project", "model-card", "eval-results"),
    )
)
"""Options that have no place in a task: where things go, and what is done again, is for `run` to say."""

_OF_DATASET = ("input", "name", "recipes", "limit")
_UNFIT = frozenset('/\\:*?"<>|\0')


class Conversion(ConvertOptions, frozen=True, kw_only=True):
    """How a dataset of the task is converted."""

    allow_rejects: bool = False
    """Go on without a word even if rows were refused."""


class DatasetTask(msgspec.Struct, frozen=True):
    """A dataset of the task.

    Attributes:
        name: Name of its folder.
        input: What to read.
        conversion: How it is converted; None for a dataset created by mmconvert, asked as it is.
        recipes: Recipes to score with; () follows from the dataset.
        limit: Only the first rows; None for all.
    """

    name: str
    input: str
    conversion: Conversion | None
    recipes: tuple[str, ...]
    limit: int | None


class ModelTask(msgspec.Struct, frozen=True):
    """A model of the task.

    Attributes:
        name: Name of its folder.
        options: Who is asked, and how.
        title: The name that the task gives it, for its reports; None for what the responses say.
    """

    name: str
    options: PredictOptions
    title: str | None


class Plan(msgspec.Struct, frozen=True):
    """A task that was read and checked.

    Attributes:
        work_dir: Folder for everything that is made.
        datasets: Datasets in the order of the file.
        models: Models in the order of the file; each is asked about every dataset.
        scoring: How responses are scored.
        judging: Who judges them.
        steps: One of `STEPS`.
        also: Frameworks by whose recipes responses are scored as well.
    """

    work_dir: Path
    datasets: tuple[DatasetTask, ...]
    models: tuple[ModelTask, ...]
    scoring: ReportOptions
    judging: JudgeOptions
    steps: str = ALL
    also: tuple[str, ...] = ()


def build_plan(given: Mapping[str, Any], work_dir: Path | None, path: str = "task") -> Plan:
    """Read a task, and refuse it before anything is done.

    Args:
        given: What the file of `mmscore run` holds (docs/run.md), or a task of a framework.
        work_dir: Folder that goes before the task's own `work-dir`; None takes that.
        path: Where the task stands, for messages.

    Raises:
        UsageError: A key, recipe, transform, protocol or judge is unknown, a value is none that the option takes,
            an input is missing, or two entries would share a folder.
    """
    with _name_place(path):
        reader = find_reader(given)
        task = _use_hyphens(given if reader is None else reader.adopted(given))
    _check_keys(task, _TOP, path, "a task")
    recipes = _read_recipes(task.get("recipes"), f"{path} recipes")
    known = {
        "convert": _list_conversion_names(),
        "predict": _list_names(PredictOptions),
        "score": _list_scoring_names(),
    }
    common = {command: _read_mapping(task.get(command), f"{path} {command}") for command in known}
    for command, names in known.items():
        _check_keys(common[command], names, f"{path} {command}", command)
    datasets = [
        _read_dataset(entry, common["convert"], recipes, f"{path} datasets[{number}]")
        for number, entry in enumerate(_read_entries(task.get("datasets"), f"{path} datasets", "input"))
    ]
    models = [
        _read_model(entry, common["predict"], f"{path} models[{number}]")
        for number, entry in enumerate(_read_entries(task.get("models"), f"{path} models", "model"))
    ]
    for part, entries in (("datasets", datasets), ("models", models)):
        counts = Counter(entry.name for entry in entries)
        if twice := {name for name, count in counts.items() if count > 1}:
            raise UsageError(
                f"{path} {part}: several are called {', '.join(sorted(twice))}. Give each a name: of its own."
            )
    place = work_dir or (Path(str(task["work-dir"])) if task.get("work-dir") else None)
    if place is None:
        raise UsageError(f"{path}: where shall the results go? Give --work-dir DIR, or work-dir: in the file.")
    if "\0" in str(place):
        raise UsageError(f"{path} work-dir: no path has a NUL {show(str(place))}. Name another folder.")
    chosen = task.get("steps", ALL)
    if chosen not in STEPS:
        raise UsageError(
            f"{path} steps: expected {', '.join(STEPS)} {show(chosen)}.{suggest_spelling(str(chosen), STEPS)}"
        )
    own = {name.replace("-", "_"): value for name, value in common["score"].items()}
    judged = {name: own.pop(name) for name in JudgeOptions.__struct_fields__ if name in own}
    judging = build_options(JudgeOptions, judged, f"{path} score", "score")
    scoring = build_options(ReportOptions, own, f"{path} score", "score")
    if chosen != PREDICT:
        with _name_place(f"{path} score"):
            _check_scoring(scoring, judging, [entry.recipes for entry in datasets])
    with _name_place(f"{path} also"):
        also = split_frameworks(_read_names(task.get("also"), f"{path} also"))
    return Plan(place, tuple(datasets), tuple(models), scoring, judging, chosen, tuple(also))


def _read_dataset(
    entry: Mapping[str, Any], common: Mapping[str, Any], recipes: tuple[str, ...], where: str
) -> DatasetTask:
    own = {key: value for key, value in entry.items() if key not in _OF_DATASET}
    _check_keys(own, [*_OF_DATASET, *_list_conversion_names()], where, "a dataset")
    source, limit = entry.get("input"), entry.get("limit")
    if not isinstance(source, str):
        raise UsageError(f"{where}: expected input: with a file, folder or name {show(source)}.")
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise UsageError(f"{where} limit: expected a number from 1 {show(limit)}.")
    given = {key: value for key, value in {**common, **own}.items() if value is not None}
    conversion = None
    with _name_place(where):
        ours = not given and _is_ours(Path(source))
    if not ours:
        conversion = build_options(Conversion, given, where, "convert")
        with _name_place(where):
            if not conversion.allow_remote:
                plan_inputs([source], split=conversion.split, subsets=conversion.subset)
            load_steps(conversion.transform, conversion.seed)
            build_prompt_step(conversion.prompt)
    chosen = _read_recipes(entry["recipes"], f"{where} recipes") if "recipes" in entry else recipes
    name = _read_folder(entry.get("name"), Path(source.rpartition("=")[2]).stem, where)
    return DatasetTask(name, source, conversion, chosen, limit)


def _is_ours(path: Path) -> bool:
    """Tell a dataset created by mmconvert from a file that is to be converted."""
    try:
        files = [file for split in open_dataset(path).files.values() for file in split]
    except Error:
        return False
    return bool(files) and not list_missing_columns(open_checked_parquet(files[0]).schema_arrow.names)


def _read_model(entry: Mapping[str, Any], common: Mapping[str, Any], where: str) -> ModelTask:
    own = {key: value for key, value in entry.items() if key != "name"}
    _check_keys(own, ["name", *_list_names(PredictOptions)], where, "a model")
    options = build_options(PredictOptions, {**common, **own}, where, "predict")
    with _name_place(where):
        options = resolve_served(options)
        service = options.build_model_options(quiet=True).service
        if options.engine != LOCAL or options.several:
            service.check_alone()
        if "@" in options.plugin or options.plugin not in find_plugins(BACKENDS):
            # Those that are known are not loaded yet: it takes seconds.
            load(BACKENDS, options.plugin)
        if options.protocol is not None:
            open_protocol(options.protocol)
        if options.json_schema is not None:
            read_response_format(options.json_schema)
    name = _read_folder(entry.get("name"), PurePath(options.model).name, where)
    return ModelTask(name, options, None if entry.get("name") is None else name)


def _check_scoring(scoring: ReportOptions, judging: JudgeOptions, recipes: Sequence[Sequence[str]]) -> None:
    """Refuse what would leave responses without numbers, before anybody is asked.

    Args:
        scoring: How responses are scored.
        judging: Who judges them.
        recipes: Those of each dataset; none where it follows from the responses.
    """
    if scoring.answers == STDIN:
        raise UsageError("answers: standard input cannot be read twice. Write it to a file first.")
    if scoring.answers is not None:
        locate_predictions(scoring.answers)
    if scoring.recipe_options is not None:
        read_options(scoring.recipe_options)
    request = judging.build_request()
    for name in dict.fromkeys(itertools.chain.from_iterable(recipes)):
        choice = find_recipe(name, scoring.recipe_options)
        if request is not None:
            choose_panel(request, choice)
        elif choice.recipe.needs_judge:
            known = ", ".join(choice.recipe.judges)
            raise UsageError(f"recipe {name!r} has no scores without a judge. Add judge: with one of {known}.")
    if request is not None and not all(recipes):
        _check_judges(request)


def _check_judges(request: JudgeRequest) -> None:
    """Refuse judges that no recipe takes, where the one that they are for is not known yet."""
    first, _ = split_version(request.names[0])
    # Of several refusals the one is told that is not about recipes which the judge is not for.
    choices = sorted(map(find_recipe, find_plugins(RECIPES)), key=lambda choice: first not in choice.recipe.judges)
    refusals = []
    for choice in choices:
        try:
            choose_panel(request, choice)
        except UsageError as error:
            refusals.append(error)
        else:
            return
    raise refusals[0]


@contextlib.contextmanager
def _name_place(where: str) -> Iterator[None]:
    try:
        with refuse_long_paths():
            yield
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None


def _list_conversion_names() -> list[str]:
    # A dataset's limit is that of predict, which marks the numbers as partial.
    return [name for name in _list_names(Conversion) if name != "limit"]


def _list_scoring_names() -> list[str]:
    """List the options of scoring, those of a judge among them; predictions need no format."""
    names = [name for name in _list_names(ReportOptions) if name not in ("format", "progress")]
    place = names.index("judge")
    return [*names[:place], *_list_names(JudgeOptions), *names[place + 1 :]]


def _list_names(struct: type[msgspec.Struct]) -> list[str]:
    return [name for field in list_option_fields(struct) if (name := field.replace("_", "-")) not in _NOT_HERE]


def _use_hyphens(values: Mapping[str, Any]) -> dict[str, Any]:
    return {str(key).replace("_", "-"): value for key, value in values.items()}


def _check_keys(values: Mapping[str, Any], known: Collection[str], where: str, what: str) -> None:
    for key in values:
        if key not in known:
            raise UsageError(
                f"{where}: {what} has no {key!r}.{suggest_spelling(key, known)} Known: {', '.join(known)}."
            )


def _read_mapping(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict | None):
        raise UsageError(f"{where}: expected names and values {show(value)}.")
    return _use_hyphens(value or {})


def _read_entries(value: Any, where: str, key: str) -> list[dict[str, Any]]:
    """Read a list whose entries are mappings, or texts that stand for one key."""
    if not isinstance(value, list) or not value:
        raise UsageError(f"{where}: expected a list with at least one entry {show(value)}.")
    return [
        {key: entry} if isinstance(entry, str) else _read_mapping(entry, f"{where}[{n}]")
        for n, entry in enumerate(value)
    ]


def _read_recipes(value: Any, where: str) -> tuple[str, ...]:
    values = _read_names(value, where)
    with _name_place(where):
        for name in values:
            find_recipe(name)
    return tuple(values)


def _read_names(value: Any, where: str) -> list[str]:
    values = [value] if isinstance(value, str) else value or []
    if not isinstance(values, list) or not all(isinstance(item, str) for item in values):
        raise UsageError(f"{where}: expected a list of names {show(value)}.")
    return values


def _read_folder(name: Any, otherwise: str, where: str) -> str:
    chosen = str(name) if name is not None else otherwise
    if not chosen or chosen.startswith(".") or _UNFIT & set(chosen) or not chosen.isprintable():
        raise UsageError(f"{where}: {chosen!r} cannot be a folder's name. Give name: one of your own.")
    return chosen
