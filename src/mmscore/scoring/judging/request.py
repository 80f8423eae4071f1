"""What the user wants of judges, checked against the judges and the recipe; the service and the store of responses."""

import contextlib
import dataclasses
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec.structs import replace

from mmconvert.core.errors import Error, UsageError, build_missing_path_error, show, suggest_spelling, take_first_line
from mmconvert.plugins.registry import find_plugins, load
from mmscore.core.judge import AUTO, JUDGES, RULE, SYSTEM_PROMPT, Judge
from mmscore.core.predictions.locate import STDIN
from mmscore.core.select_recipe import RecipeChoice, split_version
from mmscore.llm.batches import Batches, list_open, refuse_open
from mmscore.llm.cache_lock import hold
from mmscore.llm.client import API_KEY, Chat, Endpoint, build_chat_url, gather_in_order, read_key
from mmscore.llm.prices import read_prices
from mmscore.llm.response_cache import AnswerStore
from mmscore.scoring.judging.jury import DryJury, Gathering, JudgeSetting, ModelJury, Spent
from mmscore.scoring.judging.panel import AGGREGATIONS, MEAN, Panel, Sitting

DrySitting = tuple[Sitting, Sequence[DryJury]]

FIXED = frozenset(("model", "messages", "stream", "n"))
"""Fields of a chat completion that are no generation options."""


class JudgeRequest(msgspec.Struct, frozen=True):
    """A judge as the user asks for it, or several.

    Attributes:
        name: `NAME[@VERSION]` or `file.py@NAME[@VERSION]`; several judge side by side.
        model: Name of the model at the service, each of several is asked; None for the only one that it offers.
        base_url: Address of the service; None for OPENAI_BASE_URL.
        api_key_env: Environment variable of the key; None for OPENAI_API_KEY, which may be missing.
        strategy: `auto`, `rule`, or a strategy of the judge.
        concurrency: Most questions under way at once.
        prompt: File with the user's prompt template of the prompt, the prompt template itself, or a folder with the
        framework's own
            code; None for ours.
        system: The user's system turn, in the place of the judge's; None for the judge's.
        generation: Options of the chat completion, as a JSON object.
        rejudge: Ask again about rows that the stored responses left without a verdict.
        cache: File of the stored responses; None for the one beside the predictions.
        max_calls: Most calls of the whole run, retries included; None for no cap.
        max_total_tokens: Most tokens of prompts and responses of the whole run; None for no cap.
        prices: File with the prices of models, for the cost in the report; None for no cost.
        repeats: How often each question is asked, from 1.
        aggregation: How several verdicts on a row become one, see `mmscore.scoring.judging.panel`.
        min_valid: Fewest judges that must have a verdict on a row, from 1.
        score_mapping: The user's own verdicts and what each is worth, as a JSON object; None for the judge's.
        score_pattern: The user's own regular expression for the verdict; None for the judge's.
        batch: Send the questions through the server's batch API.
        announce: Called with a line whenever a batch is sent or gets on.
        progress: Called with the rows settled, and those of the batch.
        spent: Called after each file with what its judging took.
    """

    name: str | tuple[str, ...]
    model: str | tuple[str, ...] | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    strategy: str = AUTO
    concurrency: int = 8
    prompt: str | None = None
    system: str | None = None
    generation: str = "{}"
    rejudge: bool = False
    cache: str | None = None
    max_calls: int | None = None
    max_total_tokens: int | None = None
    prices: str | None = None
    repeats: int = 1
    aggregation: str = MEAN
    min_valid: int = 1
    score_mapping: str | None = None
    score_pattern: str | None = None
    batch: bool = False
    announce: Callable[[str], None] = lambda line: None
    progress: Callable[[int, int], None] | None = None
    spent: Callable[[Spent], None] = lambda spent: None

    @property
    def names(self) -> tuple[str, ...]:
        """The judges, each once."""
        return (self.name,) if isinstance(self.name, str) else tuple(dict.fromkeys(self.name))

    @property
    def models(self) -> tuple[str, ...]:
        """The judge models, each once; none where the request names none."""
        return (self.model,) if isinstance(self.model, str) else tuple(dict.fromkeys(self.model or ()))


class JudgeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Who judges after the rules, and how, as every command that scores takes it."""

    judge: tuple[str, ...] = ()
    """Judge protocol, NAME@VERSION for a version; repeatable."""
    judge_model: tuple[str, ...] = ()
    """Judge model on the API server; repeatable."""
    judge_base_url: str | None = None
    """Base URL of the judge's API server. [default: $OPENAI_BASE_URL]"""
    api_key_env: str | None = None
    """Environment variable that holds the API key. [default: OPENAI_API_KEY]"""
    judge_strategy: str | None = None
    """When the judge model is used: auto, rule, llm, llm_recall, or a strategy of the judge."""
    judge_concurrency: Annotated[int, msgspec.Meta(ge=1, le=1000)] | None = None
    """Maximum concurrent requests."""
    judge_batch: bool = False
    """Send requests through the API server's batch API (/v1/batches): cheaper, and done within 24 hours."""
    judge_prompt: str | None = None
    """Your prompt template with the judge's {slots}: a file, the text, or the framework's checkout."""
    judge_system: str | None = None
    """System prompt of the judge."""
    judge_generation: str | None = None
    """Chat completion options of the judge, for example {"temperature": 0}."""
    judge_repeats: Annotated[int, msgspec.Meta(ge=1, le=100)] | None = None
    """Number of times each item is judged."""
    judge_aggregation: str | None = None
    """How several verdicts are combined: mean, median or majority_vote."""
    judge_min_valid: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Minimum number of judges with a verdict."""
    judge_score_mapping: str | None = None
    """Your own labels and their scores, for example {"A": 1, "B": 0.5, "C": 0}."""
    judge_score_pattern: str | None = None
    """Regular expression that finds the verdict in the judge's response."""
    judge_max_calls: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Maximum number of judge requests, retries included."""
    judge_max_total_tokens: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Maximum number of tokens, prompts and responses together."""
    prices: str | None = None
    """YAML or JSON file with prices of models, to report what judging costs."""
    judge_cache: str | None = None
    """Cache of judge responses. [default: PREDICTIONS.judge.sqlite]"""
    rejudge: Literal["failed"] | None = None
    """Judge items without a verdict again."""

    def build_request(
        self,
        spent: Callable[[Spent], None] = lambda spent: None,
        announce: Callable[[str], None] = lambda line: None,
    ) -> JudgeRequest | None:
        """Say who is asked; None for nobody.

        Args:
            spent: Called after each file with what its judging took.
            announce: Called with a line whenever a batch is sent or gets on.

        Raises:
            UsageError: An option is there without `--judge`.
        """
        given = {
            name: value for name in self.__struct_fields__ if (value := getattr(self, name)) not in (None, (), False)
        }
        if not given.pop("judge", ()):
            if given:
                flags = ", ".join("--" + name.replace("_", "-") for name in given)
                raise UsageError(f"{flags}: no judge is named. Add --judge NAME, see `mmscore list judges`.")
            return None
        fields: dict[str, Any] = {name.removeprefix("judge_"): value for name, value in given.items()}
        fields["rejudge"] = self.rejudge is not None
        return JudgeRequest(self.judge, spent=spent, announce=announce, **fields)


def choose_panel(request: JudgeRequest, choice: RecipeChoice) -> Panel:
    """Find the judges for a recipe, and check every option against them.

    Args:
        request: What the user asks for.
        choice: The recipe.

    Returns:
        The judges, their models named only where the request names them.

    Raises:
        UsageError: A judge, its version or its strategy is unknown, it does not fit the recipe, or
            it cannot take an option.
    """
    _check_numbers(request)
    if request.aggregation not in AGGREGATIONS:
        hint = suggest_spelling(request.aggregation, AGGREGATIONS)
        raise UsageError(f"no aggregation {request.aggregation!r}.{hint} Known: {', '.join(AGGREGATIONS)}.")
    chosen = [_choose_judge(name, request, choice) for name in request.names]
    if any(setting.asks for setting in chosen) and not all(setting.asks for setting in chosen):
        idle = next(setting for setting in chosen if not setting.asks)
        others = " or ".join(idle.judge.strategies)
        raise UsageError(
            f"judge {idle.name!r} would send no request, beside others that do. Give --judge-strategy {others}."
        )
    seats = len(chosen) * max(1, len(request.models))
    if request.min_valid > seats:
        raise UsageError(
            f"--judge-min-valid: {request.min_valid} verdicts of {seats} judges. Name more, or lower --judge-min-valid."
        )
    settings = tuple(
        replace(setting, model=model, repeat=repeat)
        for setting in chosen
        for model in request.models or ("",)
        for repeat in range(request.repeats if setting.asks else 1)
    )
    prices = None if request.prices is None else read_prices(request.prices)
    return Panel(settings, request.aggregation, request.min_valid, prices)


def _check_numbers(request: JudgeRequest) -> None:
    for name in ("concurrency", "repeats", "min_valid", "max_calls", "max_total_tokens"):
        value = getattr(request, name)
        if value is not None and (type(value) is not int or value < 1):
            raise UsageError(f"{name} is a whole number from 1 {show(value)}.")


def _choose_judge(named: str, request: JudgeRequest, choice: RecipeChoice) -> JudgeSetting:
    name, version = split_version(named)
    judge: Judge = load(JUDGES, name)
    _check_fit(name, choice)
    if version is None:
        version = choice.version if choice.version in judge.versions else next(iter(judge.versions))
    elif version not in judge.versions:
        hint = suggest_spelling(version, judge.versions)
        raise UsageError(f"judge {name!r} has no version {version!r}.{hint} Known: {', '.join(judge.versions)}.")
    strategy = _choose_strategy(request.strategy, name, judge)
    if strategy == RULE and choice.recipe.needs_judge:
        raise UsageError(f"recipe {choice.name!r} has no rules without a judge. Give another --judge-strategy.")
    options = _read_json_object("--judge-generation", request.generation, '{"temperature": 0}')
    if fixed := FIXED & options.keys():
        raise UsageError(f"--judge-generation: {', '.join(sorted(fixed))} cannot be set here. See --judge-model.")
    kit, prompts, text = judge.kit_prompts, None, None
    if request.prompt is not None and os.path.isdir(request.prompt):  # False for a text too long for a name
        prompts = _read_kit_prompts(Path(request.prompt), name, judge)
    elif request.prompt is not None:
        text = _read_prompt(request.prompt, name, judge)
    own = request.prompt is None and kit is not None and kit.option not in choice.recipe.options
    return JudgeSetting(
        name,
        judge,
        version,
        strategy,
        wording=text,
        system=request.system,
        kit_prompts=prompts,
        built_in=kit.kit if own and kit is not None else None,
        generation=options,
        labels=None if request.score_mapping is None else _read_labels(request, name, judge, version),
        pattern=None if request.score_pattern is None else _read_pattern(request.score_pattern, name, judge, version),
    )


def _check_fit(name: str, choice: RecipeChoice) -> None:
    """Refuse a judge of ours that the recipe does not name; a judge of the user's own is their word."""
    fitting = choice.recipe.judges
    plugin = find_plugins(JUDGES).get(name)
    if name in fitting or plugin is None or plugin.origin != "built-in":
        return
    known = f"Judges that do: {', '.join(fitting)}." if fitting else "No judge does; leave --judge out."
    raise UsageError(f"judge {name!r} does not fit recipe {choice.name!r}. {known}")


def _choose_strategy(wanted: str, name: str, judge: Judge) -> str:
    if wanted == AUTO:
        return judge.auto
    known = [RULE, *judge.strategies]
    if wanted not in known:
        hint = suggest_spelling(wanted, known)
        raise UsageError(f"judge {name!r} has no strategy {wanted!r}.{hint} Known: {AUTO}, {', '.join(known)}.")
    return wanted


def _read_labels(request: JudgeRequest, name: str, judge: Judge, version: str) -> Mapping[str, float]:
    """Read `--judge-score-mapping`, and refuse it where the judge or its prompt cannot know such labels."""
    if version not in judge.takes_labels:
        raise UsageError(f"judge {name!r}@{version} has verdicts of its own. Leave --judge-score-mapping out.")
    if request.prompt is None:
        raise UsageError("--judge-score-mapping: explain the labels in your own prompt template, --judge-prompt FILE.")
    found = _read_json_object("--judge-score-mapping", request.score_mapping or "", '{"A": 1, "B": 0.5, "C": 0}')
    wrong = [key for key, worth in found.items() if not key or not _is_fraction(worth)]
    if not found or wrong:
        what = f"{wrong[0]!r} is not {show(found[wrong[0]])}" if wrong else "there is none"
        raise UsageError(f"--judge-score-mapping: expected labels that are worth 0 to 1 each; {what}.")
    return {key: float(worth) for key, worth in found.items()}


def _is_fraction(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _read_pattern(text: str, name: str, judge: Judge, version: str) -> str:
    if version not in judge.takes_pattern:
        known = f" Only {', '.join(judge.takes_pattern)} do." if judge.takes_pattern else ""
        raise UsageError(f"judge {name!r}@{version} takes no pattern.{known} Leave --judge-score-pattern out.")
    try:
        re.compile(text)
    except re.error as error:
        raise UsageError(
            f"--judge-score-pattern: is not a regular expression ({take_first_line(error)}) {show(text)}."
        ) from None
    return text


def _read_json_object(flag: str, text: str, example: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text, parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{flag}: is not JSON ({take_first_line(error)}) {show(text)}.") from None
    if not isinstance(found, dict):
        raise UsageError(f"{flag}: expected an object such as {example} {show(text)}.")
    return found


def _reject_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _read_kit_prompts(folder: Path, name: str, judge: Judge) -> Mapping[str, str]:
    """Read the framework's own prompts from the user's copy of it."""
    if judge.kit_prompts is None or judge.kit_prompts.read is None:
        raise UsageError(f"{folder}: judge {name!r} reads no prompts from a folder. Give --judge-prompt a FILE.")
    prompts = judge.kit_prompts.read(folder.resolve())
    for prompt_name, text in prompts.items():
        missing = [f"{{{slot}}}" for slot in judge.required if f"{{{slot}}}" not in text]
        if missing and prompt_name != SYSTEM_PROMPT:
            raise Error(f"{folder}: {prompt_name} shows the judge no {', '.join(missing)}. Give --judge-prompt FILE.")
    return prompts


def _read_prompt(path: str, name: str, judge: Judge) -> str:
    if not judge.slots:
        raise UsageError(f"judge {name!r} takes no prompt template. Leave --judge-prompt out.")
    if any(f"{{{slot}}}" in path for slot in judge.slots):  # the prompt template itself
        text, path = path, "--judge-prompt"
    else:
        text = _read_text(path)
    missing = [f"{{{slot}}}" for slot in judge.required if f"{{{slot}}}" not in text]
    if missing:
        slots = ", ".join(f"{{{slot}}}" for slot in judge.slots)
        raise UsageError(f"{path}: lacks {', '.join(missing)}; judge {name!r} fills in {slots}.")
    return text


def _read_text(path: str) -> str:
    if not Path(path).is_file():
        raise build_missing_path_error(Path(path))
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read ({take_first_line(error)}). Write it as UTF-8 text.") from None


def build_store_path(predictions: str | Path) -> Path:
    """Name the store of a judge's responses, beside the predictions.

    Example:
        >>> build_store_path("run/predictions.parquet").name
        'predictions.parquet.judge.sqlite'
    """
    place = Path(predictions).resolve()
    return place.with_name(place.name + ".judge.sqlite")


@contextlib.contextmanager
def open_dry_sitting(request: JudgeRequest, panel: Panel, path: str, choice: RecipeChoice) -> Iterator[DrySitting]:
    """Count what judges would be asked; the store is looked at where it stands, and nothing is made.

    Raises:
        Error: Another process holds the store, or it is damaged.
    """
    place = store_place(request, path)
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(open_store(place)) if place.is_file() else None
        juries = [DryJury(setting, store, again=request.rejudge) for setting in panel.settings]
        yield Sitting(panel, juries, choice), juries


def store_place(request: JudgeRequest, predictions: str) -> Path:
    """Name the file of the stored responses to a predictions file's questions.

    Raises:
        UsageError: Nothing stands beside standard input, and no file is named; or a folder is.
    """
    if not request.cache and predictions == STDIN:
        raise UsageError(
            "-: the judge's responses have no place beside standard input. Name a file with --judge-cache."
        )
    if request.cache and (place := Path(request.cache)).is_dir():
        raise UsageError(f"{place}: is a folder. Name a file for the judge's responses: {place / 'judge.sqlite'}.")
    return Path(request.cache) if request.cache else build_store_path(predictions)


@contextlib.contextmanager
def open_store(place: Path) -> Iterator[AnswerStore]:
    """Open a store of responses, and keep other processes away from it.

    Raises:
        UsageError: Its folder may not be written to.
        Error: Another process holds it, or it is damaged.
    """
    if not os.access(place.parent, os.W_OK):
        raise UsageError(f"{place}: the judge's responses cannot be kept there. Name another file with --judge-cache.")
    with hold(place, other="name another file with --judge-cache") as held, AnswerStore(held, fingerprint="") as store:
        yield store


@contextlib.contextmanager
def open_chat(request: JudgeRequest) -> Iterator[Chat]:
    """Open the service; the name of the judge model is known then.

    Raises:
        UsageError: There is no address or key, or the service offers several models and none is named.
    """
    url, key = build_chat_url(request.base_url), read_key(request.api_key_env)
    endpoint = Endpoint(
        url,
        next(iter(request.models), ""),
        key,
        request.api_key_env or API_KEY,
        concurrency=request.concurrency,
        max_calls=request.max_calls,
        max_total_tokens=request.max_total_tokens,
    )
    with Chat(endpoint) as chat:
        if not endpoint.model:
            chat.endpoint = dataclasses.replace(endpoint, model=_find_only_model(chat))
        yield chat


def _find_only_model(chat: Chat) -> str:
    models = chat.run(chat.models())
    if len(models) == 1:
        return models[0]
    offered = f" It offers {', '.join(models[:10])}." if models else ""
    raise UsageError(f"no judge model is named.{offered} Name it with --judge-model.")


@contextlib.contextmanager
def open_sitting(request: JudgeRequest, panel: Panel, chat: Chat, path: str, choice: RecipeChoice) -> Iterator[Sitting]:
    """Open the store of responses for one predictions file, and say at the end what was done.

    Raises:
        UsageError: Batches under way hold questions that would be asked one by one.
        Error: Another process holds the store, or it cannot be written.
    """
    with open_store(store_place(request, path)) as store:
        refuse_open(list_open(store, chat.endpoint.url))
        panel, juries = _seat(request, panel, chat, store)
        try:
            yield Sitting(panel, juries, choice)
        finally:
            _tell_spent(request, path, juries)


class JudgedFile(msgspec.Struct, frozen=True):
    """A predictions file whose questions go in batches.

    Attributes:
        path: The file.
        panel: Its judges.
        choice: Its recipe.
        walk: Puts every row of it before a sitting.
    """

    path: str
    panel: Panel
    choice: RecipeChoice
    walk: Callable[[Sitting], object]


@contextlib.contextmanager
def open_batch_sittings(request: JudgeRequest, chat: Chat, files: Sequence[JudgedFile]) -> Iterator[list[Sitting]]:
    """Send the questions about all files in batches, and give sittings that find the responses in the stores.

    Questions of all files go together, round by round: the second questions of a judge are the second batch.

    Raises:
        UsageError: The service has no batch API.
        Error: Another process holds a store, or it cannot be written.
    """
    desks: dict[Path, Batches] = {}
    seats = []
    with contextlib.ExitStack() as stack:
        for file in files:
            place = store_place(request, file.path)
            if place not in desks:
                desks[place] = Batches(chat, stack.enter_context(open_store(place)), request.announce)
            desk = desks[place]
            seats.append((file, desk, *_seat(request, file.panel, chat, desk.store, desk)))
        try:
            while True:
                for file, _, panel, juries in seats:
                    file.walk(Sitting(panel, [*map(Gathering, juries)], file.choice))
                answers = chat.run(gather_in_order(desk.send() for desk in desks.values()))
                if not any(answers):
                    break
                fetched = dict(zip(map(id, desks.values()), answers, strict=True))
                for _, desk, _, juries in seats:
                    for jury in juries:
                        jury.take_fetched(fetched[id(desk)])
            yield [Sitting(panel, juries, file.choice) for file, _, panel, juries in seats]
        finally:
            for file, _, _, juries in seats:
                _tell_spent(request, file.path, juries)


def _seat(
    request: JudgeRequest, panel: Panel, chat: Chat, store: AnswerStore, batches: Batches | None = None
) -> tuple[Panel, list[ModelJury]]:
    """Name the model of each judge, and join judges and store."""
    named = [replace(setting, model=setting.model or chat.endpoint.model) for setting in panel.settings]
    again, progress = request.rejudge, request.progress
    juries = [ModelJury(one, chat, store, again=again, progress=progress, batches=batches) for one in named]
    return replace(panel, settings=tuple(named)), juries


def _tell_spent(request: JudgeRequest, path: str, juries: Sequence[ModelJury]) -> None:
    for jury in juries:
        judge = jury.setting
        facts = dataclasses.asdict(jury.tally)
        request.spent(Spent(path, judge.title, judge.model, judge.repeat, **facts, built_in=judge.built_in))
