"""What `--dry-run` prints: calls and tokens that a judge would take."""

import json
from collections.abc import Sequence
from dataclasses import asdict

import click

from mmconvert.core.errors import UsageError
from mmconvert.core.text.printable import escape_control
from mmscore.scoring.evaluate import JudgeEstimate, ScoreOptions, estimate_each


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
    if as_json:
        click.echo(json.dumps({"estimates": [_json(one) for one in found]}, ensure_ascii=False, indent=1))
        return 0
    for one in found:
        click.echo(escape_control(_sentence(one)))
    return 0


def _json(one: JudgeEstimate) -> dict[str, object]:
    named = {
        "predictions": one.predictions,
        "recipe": one.recipe,
        "judge": one.setting.title,
        "strategy": one.setting.strategy,
        "model": one.setting.model or None,
        "repeat": one.setting.repeat,
    }
    return {**named, **asdict(one.estimate)}


def _sentence(one: JudgeEstimate) -> str:
    guess = one.estimate
    limit = guess.most_completion_tokens
    responses = "" if limit is None else f" and at most {limit:,} tokens of replies"
    tries = f", at most {guess.most_calls:,} when every try is needed" if guess.most_calls > guess.calls else ""
    setting = one.setting
    model = f" ({setting.model})" if setting.model else ""
    kept = "no model is named, so stored replies were not looked for"
    kept = kept if guess.stored is None else f"{guess.stored:,} replies are stored"
    again = f", repeat {setting.repeat + 1}" if setting.repeat else ""
    return (
        f"{one.predictions} under {one.recipe}: judge {setting.title}{model}{again}, strategy "
        f"{setting.strategy}: {guess.rows:,} rows, {guess.calls:,} calls{tries}; {kept}; "
        f"about {guess.prompt_tokens:,} tokens of prompts{responses}. Nobody was asked."
    )
