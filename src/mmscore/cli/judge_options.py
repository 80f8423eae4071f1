"""The options of a judge, for every command that has one."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import click

from mmconvert.core.errors import UsageError
from mmconvert.core.text.printable import printable
from mmscore.scoring.judging.jury import Spent
from mmscore.scoring.judging.request import JudgeRequest

_OPTIONS = (
    click.option("--judge", multiple=True, metavar="NAME", help="Judge protocol, NAME@VERSION; may be repeated."),
    click.option("--judge-model", multiple=True, metavar="NAME", help="Model at the service; may be repeated."),
    click.option("--judge-base-url", metavar="URL", help="Service of the judge. [default: OPENAI_BASE_URL]"),
    click.option("--api-key-env", metavar="NAME", help="Variable of the service's key. [default: OPENAI_API_KEY]"),
    click.option("--judge-strategy", metavar="NAME", help="auto, rule, llm, llm_recall, or the judge's own."),
    click.option("--judge-concurrency", type=click.IntRange(1, 1000), metavar="N", help="Questions at once."),
    click.option("--judge-prompt", metavar="FILE", help="Your wording of the prompt, with the judge's {slots}."),
    click.option("--judge-generation", metavar="JSON", help='Chat completion options, {"temperature": 0}.'),
    click.option("--judge-repeats", type=click.IntRange(1, 100), metavar="N", help="How often to ask each question."),
    click.option("--judge-aggregation", metavar="NAME", help="Of several verdicts: mean, median or majority_vote."),
    click.option("--judge-min-valid", type=click.IntRange(1), metavar="N", help="Judges that must have a verdict."),
    click.option("--judge-score-mapping", metavar="JSON", help='Labels of your own, {"A": 1, "B": 0.5, "C": 0}.'),
    click.option("--judge-score-pattern", metavar="REGEX", help="Where a verdict stands in the reply."),
    click.option("--judge-max-calls", type=click.IntRange(1), metavar="N", help="Most calls, retries included."),
    click.option(
        "--judge-max-total-tokens", type=click.IntRange(1), metavar="N", help="Most tokens, replies included."
    ),
    click.option("--judge-cache", metavar="FILE", help="Stored replies. [default: PREDICTIONS.judge.sqlite]"),
    click.option("--rejudge", type=click.Choice(["failed"]), help="Ask again about rows without a verdict."),
)
_FIELDS = {
    "judge_model": "model",
    "judge_base_url": "base_url",
    "api_key_env": "api_key_env",
    "judge_strategy": "strategy",
    "judge_concurrency": "concurrency",
    "judge_prompt": "prompt",
    "judge_generation": "generation",
    "judge_repeats": "repeats",
    "judge_aggregation": "aggregation",
    "judge_min_valid": "min_valid",
    "judge_score_mapping": "score_mapping",
    "judge_score_pattern": "score_pattern",
    "judge_max_calls": "max_calls",
    "judge_max_total_tokens": "max_total_tokens",
    "judge_cache": "cache",
    "rejudge": "rejudge",
}


def judge_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a judge; it gets them as `JudgeRequest | None` in `judge`."""

    @functools.wraps(command)
    def filled(*args: Any, **given: Any) -> Any:
        wishes = {name: given.pop(name) for name in ("judge", *_FIELDS)}
        return command(*args, judge=judge_request(wishes, quiet=given.get("quiet", False)), **given)

    for option in reversed(_OPTIONS):
        filled = option(filled)
    return filled


def judge_request(given: Mapping[str, Any], *, quiet: bool) -> JudgeRequest | None:
    """Read the options of a judge.

    Args:
        given: Values by parameter name, None or none of them where the user gave none.
        quiet: No count of calls.

    Raises:
        UsageError: An option is there without `--judge`.
    """
    set_ = {name: value for name, value in given.items() if value not in (None, ()) and name in _FIELDS}
    if not given["judge"]:
        if set_:
            flags = ", ".join("--" + name.replace("_", "-") for name in set_)
            raise UsageError(f"{flags}: no judge is named. Add --judge NAME, see `mmscore list judges`.")
        return None
    fields = {_FIELDS[name]: value for name, value in set_.items()}
    fields["rejudge"] = "rejudge" in fields
    return JudgeRequest(given["judge"], spent=_tell(quiet), **fields)


def _tell(quiet: bool) -> Callable[[Spent], None]:
    def tell(spent: Spent) -> None:
        if not quiet:
            click.echo(printable(f"mmscore: {spent}"), err=True)

    return tell
