"""What several commands share: options of a judge and of a push, how far scoring is, what a judge would take."""

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeVar

import click
import msgspec
from msgspec.structs import replace

from mmconvert.console.options import add_struct_options
from mmconvert.console.published import format_published
from mmconvert.core.errors import UsageError
from mmconvert.core.progress import Advance, Done, print_message, show_progress
from mmconvert.core.text.printable import escape_control
from mmscore.llm.prices import TokenUsage
from mmscore.reporting.publish import HubOptions, PushedPredictions
from mmscore.scoring.evaluate import JudgeEstimate, ScoreOptions, estimate_each
from mmscore.scoring.judging.request import JudgeOptions, JudgeRequest

_NAMES = ("recipe", "format", "benchmark", "dataset", "model", "metric", "score", "columns", "api_key_env")
_FILES = ("recipe_options", "csv", "html", "rows", "markdown", "output", "judge_cache", "prices", "json_schema")
_METAVARS = {
    **dict.fromkeys((*_NAMES, "judge", "judge_model", "judge_strategy", "judge_aggregation"), "NAME"),
    **dict.fromkeys(_FILES, "FILE"),
    **dict.fromkeys(("answers", "html_pictures"), "DATASET"),
    **dict.fromkeys(("base_url", "judge_base_url"), "URL"),
    **dict.fromkeys(("extra_body", "judge_generation", "judge_score_mapping"), "JSON"),
    **dict.fromkeys(("stop", "system"), "TEXT"),
    "by": "COLUMN",
    "log": "TRACKER|FILE",
    "log_project": "NAME",
    "map": "FIELD=COLUMN",
    "judge_prompt": "FILE|FOLDER",
    "judge_score_pattern": "REGEX",
    "timeout": "SECONDS",
    "price": "PROMPT,COMPLETION|FILE",
    "push": "USER/REPO",
    "serve": "COMMAND",
    "shard": "I/N",
    "revision": "REV",
    "model_card": "USER/MODEL",
    "eval_results": "USER/DATASET[#TASK]",
}
"""Field of options -> what the help calls its value, where its type does not say it."""

_Options = TypeVar("_Options", bound=ScoreOptions)


def describe_fields(struct: type[msgspec.Struct], **more: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Give what the terminal needs to know of the options of a command; see `add_struct_options`.

    Args:
        struct: Class of the options.
        more: What goes before the common metavars, field by field.
    """
    found: dict[str, Mapping[str, Any]] = {
        name: {"metavar": _METAVARS[name]} | ({"short": "-o"} if name == "output" else {})
        for name in struct.__struct_fields__
        if name in _METAVARS
    }
    return found | more


judge_options = add_struct_options(JudgeOptions, describe_fields(JudgeOptions), into="judge")
"""Decorator that gives a command the options of a judge, as `JudgeOptions` in `judge`."""


recipe_option = click.option(
    "--recipe",
    "recipes",
    multiple=True,
    metavar="NAME",
    help="Recipe: how predictions are parsed and scored; NAME@VERSION for a version; repeatable. "
    "[default: chosen by task and source]",
)
"""Decorator that gives a command `--recipe`, once or several times."""


def request_of(judge: JudgeOptions, *, quiet: bool) -> JudgeRequest | None:
    """Say who is asked; what it took is told unless quiet."""
    return judge.build_request() if quiet else judge.build_request(lambda spent: print_message(f"mmscore: {spent}"))


def push_options(*without: str) -> Callable[[Any], Any]:
    """Give a command the options of a push but `dry_run`, as `HubOptions` in `hub`.

    Args:
        without: Further ones that it has not.
    """
    return add_struct_options(HubOptions, describe_fields(HubOptions), into="hub", without=["dry_run", *without])


def show_notes(notes: Iterable[str]) -> None:
    """Print remarks on stderr, each once."""
    for note in dict.fromkeys(notes):
        click.echo(escape_control(f"mmscore: {note}"), err=True)


def pushed_text(done: PushedPredictions) -> str:
    """Say in a few lines what was pushed."""
    proposed = [f"{done['model_card']}: numbers proposed for the model's card"] if done["model_card"] else []
    for_leaderboards = [f"{path}: for the benchmark's leaderboard" for path in done["eval_results"]]
    return escape_control("\n".join([format_published(done), *proposed, *for_leaderboards, *done["left_out"]]))


@contextlib.contextmanager
def scoring_progress(options: _Options, *, quiet: bool) -> Iterator[_Options]:
    """Report on stderr while the context lasts.

    Args:
        options: How to score.
        quiet: Report nothing.

    Yields:
        The same options, which report.
    """
    request = options.judge
    if request is None:
        with show_progress("score", quiet=quiet) as advance:
            yield replace(options, progress=lambda done, total: advance(Done(done, total=total)))
        return
    with show_progress("judge", unit="verdicts", quiet=quiet) as advance:
        verdicts = _Verdicts(advance, request)
        told = (lambda line: None) if quiet else (lambda line: print_message(f"mmscore: {line}"))
        judge = replace(request, progress=verdicts.settled, announce=told)
        yield replace(options, progress=verdicts.rows, judge=judge)


class _Verdicts:
    """Counts what each of several judges has said about each row of a file."""

    def __init__(self, advance: Advance, request: JudgeRequest) -> None:
        self._advance = advance
        self._judges = len(request.names) * max(1, len(request.models)) * request.repeats
        self._total = self._done = self._fresh = 0

    def rows(self, done: int, total: int) -> None:
        """Take the rows of a file that are through, those that no judge sees among them."""
        self._done, self._total = done * self._judges, total * self._judges
        self._fresh = 0 if not done else self._fresh
        self._tell()

    def settled(self, _done: int, _batch: int) -> None:
        """Take one more row that one judge has settled."""
        self._done += 1
        self._fresh += 1
        self._tell()

    def _tell(self) -> None:
        self._advance(Done(self._done, total=self._total, fresh=self._fresh))


def show_estimates(predictions: Sequence[str], recipes: Sequence[str], options: ScoreOptions, *, as_json: bool) -> int:
    """Print what judging would take; nobody is asked.

    Returns:
        The exit code.

    Raises:
        UsageError: There is no judge to estimate.
    """
    if options.judge is None:
        raise UsageError("--dry-run: estimates what a judge would take. Add --judge NAME.")
    found = list(estimate_each(predictions, recipes, options))
    if not as_json:
        for one in found:
            click.echo(escape_control(_sentence(one)))
        return 0
    lines = []
    for one in found:
        judge = {"judge": one.setting.title, "strategy": one.setting.strategy, "model": one.setting.model or None}
        named = {"predictions": one.predictions, "recipe": one.recipe, **judge, "repeat": one.setting.repeat}
        lines.append({**named, **asdict(one.estimate), **_estimate_cost(one)})
    click.echo(json.dumps({"estimates": lines}, ensure_ascii=False, indent=1))
    return 0


def _estimate_cost(one: JudgeEstimate) -> dict[str, Any]:
    """Say what the calls would cost, the most where responses have a limit, else their prompts alone."""
    if one.prices is None:
        return {}
    guess, found = one.estimate, one.prices.find(one.setting.model)
    usage = TokenUsage(prompt=guess.prompt_tokens, completion=guess.most_completion_tokens or 0)
    cost = None if found is None else usage.compute_cost(found[1], batch=one.batch)
    return {"cost": cost, "currency": one.prices.currency, "prices_of": str(one.prices.date)}


def _describe_cost(one: JudgeEstimate) -> str:
    facts = _estimate_cost(one)
    if not facts:
        return ""
    if facts["cost"] is None:
        named = f"for {one.setting.model}" if one.setting.model else "without --judge-model"
        return f"; the table of {facts['prices_of']} has no price {named}"
    most = "the prompts alone" if one.estimate.most_completion_tokens is None else "at most"
    return f"; {most} {facts['cost']:.4g} {facts['currency']} by the prices of {facts['prices_of']}"


def _sentence(one: JudgeEstimate) -> str:
    guess = one.estimate
    limit = guess.most_completion_tokens
    responses = "" if limit is None else f" and at most {limit:,} tokens of responses"
    tries = f", at most {guess.most_calls:,} when every try is needed" if guess.most_calls > guess.calls else ""
    setting = one.setting
    model = f" ({setting.model})" if setting.model else ""
    kept = "no model is named, so the cache was not searched"
    kept = kept if guess.stored is None else f"{guess.stored:,} responses are cached"
    again = f", repeat {setting.repeat + 1}" if setting.repeat else ""
    return (
        f"{one.predictions} under {one.recipe}: judge {setting.title}{model}{again}, strategy "
        f"{setting.strategy}: {guess.rows:,} rows, {guess.calls:,} calls{tries}; {kept}; "
        f"about {guess.prompt_tokens:,} tokens of prompts{responses}{_describe_cost(one)}. "
        "No request was sent."
    )
