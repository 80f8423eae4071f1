"""What the user wants of a judge, checked against the judge and the recipe; and its store of replies."""

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mmconvert.errors import UsageError, did_you_mean, first_line, got, no_such_path
from mmconvert.plugins import available, load
from mmscore.answers import AnswerStore
from mmscore.choice import Choice
from mmscore.holding import hold
from mmscore.judge import AUTO, JUDGES, RULE, Judge
from mmscore.judging import DryJury, Setting, Spent
from mmscore.places import STDIN

FIXED = frozenset(("model", "messages", "stream", "n"))
"""Fields of a chat completion that are no generation options."""


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """A judge as the user asks for it.

    Attributes:
        name: `NAME[@VERSION]` or `file.py@NAME[@VERSION]`.
        model: Name of the model at the service; None for the only one that it offers.
        base_url: Address of the service; None for OPENAI_BASE_URL.
        api_key_env: Environment variable of the key; None for OPENAI_API_KEY, which may be missing.
        strategy: `auto`, `rule`, or a strategy of the judge.
        concurrency: Most questions under way at once.
        prompt: File with the user's wording of the prompt; None for ours.
        generation: Options of the chat completion, as a JSON object.
        rejudge: Ask anew about rows that the stored replies left without a verdict.
        cache: File of the stored replies; None for the one beside the predictions.
        max_calls: Most calls of the whole run, retries included; None for no cap.
        progress: Called with the rows settled, and those of the batch.
        spent: Called after each file with what its judging took.
    """

    name: str
    model: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    strategy: str = AUTO
    concurrency: int = 8
    prompt: str | None = None
    generation: str = "{}"
    rejudge: bool = False
    cache: str | None = None
    max_calls: int | None = None
    progress: Callable[[int, int], None] = field(default=lambda done, total: None, compare=False)
    spent: Callable[[Spent], None] = field(default=lambda spent: None, compare=False)


def chosen_judge(request: JudgeRequest, choice: Choice) -> Setting:
    """Find a judge for a recipe, and check every option against it.

    Args:
        request: What the user asks for.
        choice: The recipe.

    Returns:
        The judge, its model named only where the request names it.

    Raises:
        UsageError: The judge, its version or its strategy is unknown, it does not fit the recipe, or
            it cannot take an option.
    """
    name, version = _split(request.name)
    judge: Judge = load(JUDGES, name)
    _check_fit(name, choice)
    if version is None:
        version = choice.version if choice.version in judge.versions else next(iter(judge.versions))
    elif version not in judge.versions:
        hint = did_you_mean(version, judge.versions)
        raise UsageError(f"judge {name!r} has no version {version!r}.{hint} Known: {', '.join(judge.versions)}.")
    strategy = _strategy(request.strategy, name, judge)
    if strategy == RULE and choice.recipe.needs_judge:
        raise UsageError(f"recipe {choice.name!r} has no rules without a judge. Give another --judge-strategy.")
    generation = _generation(request.generation)
    wording = None if request.prompt is None else _wording(request.prompt, name, judge)
    return Setting(name, judge, version, strategy, request.model or "", wording, generation)


def _split(name: str) -> tuple[str, str | None]:
    head, *rest = name.split("@")
    if head.endswith(".py") and rest:
        head = f"{head}@{rest.pop(0)}"
    return head, "@".join(rest) if rest else None


def _check_fit(name: str, choice: Choice) -> None:
    """Refuse a judge of ours that the recipe does not name; a judge of the user's own is their word."""
    fitting = choice.recipe.judges
    plugin = available(JUDGES).get(name)
    if name in fitting or plugin is None or plugin.origin != "built-in":
        return
    known = f"Judges that do: {', '.join(fitting)}." if fitting else "No judge does; leave --judge out."
    raise UsageError(f"judge {name!r} does not fit recipe {choice.name!r}. {known}")


def _strategy(wanted: str, name: str, judge: Judge) -> str:
    if wanted == AUTO:
        return judge.auto
    known = [RULE, *judge.strategies]
    if wanted not in known:
        hint = did_you_mean(wanted, known)
        raise UsageError(f"judge {name!r} has no strategy {wanted!r}.{hint} Known: {AUTO}, {', '.join(known)}.")
    return wanted


def _generation(text: str) -> Mapping[str, Any]:
    try:
        options = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--judge-generation: is no JSON ({first_line(error)}) {got(text)}.") from None
    if not isinstance(options, dict):
        raise UsageError(f'--judge-generation: expected an object such as {{"temperature": 0}} {got(text)}.')
    if fixed := FIXED & options.keys():
        raise UsageError(f"--judge-generation: {', '.join(sorted(fixed))} cannot be set here. See --judge-model.")
    return options


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def _wording(path: str, name: str, judge: Judge) -> str:
    file = Path(path)
    if not judge.slots:
        raise UsageError(f"judge {name!r} takes no wording of yours. Leave --judge-prompt out.")
    if not file.is_file():
        raise no_such_path(file)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read ({first_line(error)}). Write it as UTF-8 text.") from None
    missing = [f"{{{slot}}}" for slot in judge.required if f"{{{slot}}}" not in text]
    if missing:
        slots = ", ".join(f"{{{slot}}}" for slot in judge.slots)
        raise UsageError(f"{path}: lacks {', '.join(missing)}; judge {name!r} fills in {slots}.")
    return text


def judge_store_path(predictions: str | Path) -> Path:
    """Name the store of a judge's replies, beside the predictions.

    Example:
        >>> judge_store_path("run/predictions.parquet").name
        'predictions.parquet.judge.sqlite'
    """
    place = Path(predictions).resolve()
    return place.with_name(place.name + ".judge.sqlite")


@contextlib.contextmanager
def opened_dry_jury(request: JudgeRequest, setting: Setting, predictions: str) -> Iterator[DryJury]:
    """Count what a judge would be asked; the store is looked at where it stands, and nothing is made.

    Raises:
        Error: Another process holds the store, or it is damaged.
    """
    place = store_place(request, predictions)
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(opened_store(place)) if place.is_file() else None
        yield DryJury(setting, store, again=request.rejudge)


def store_place(request: JudgeRequest, predictions: str) -> Path:
    """Name the file of the stored replies to a predictions file's questions.

    Raises:
        UsageError: Nothing stands beside standard input, and no file is named.
    """
    if not request.cache and predictions == STDIN:
        raise UsageError("-: the judge's replies have no place beside standard input. Name a file with --judge-cache.")
    return Path(request.cache) if request.cache else judge_store_path(predictions)


@contextlib.contextmanager
def opened_store(place: Path) -> Iterator[AnswerStore]:
    """Open a store of replies, and keep other processes away from it.

    Raises:
        UsageError: Its folder may not be written to.
        Error: Another process holds it, or it is damaged.
    """
    if not os.access(place.parent, os.W_OK):
        raise UsageError(f"{place}: the judge's replies cannot be kept there. Name another file with --judge-cache.")
    with hold(place) as held, AnswerStore(held, fingerprint="") as store:
        yield store
