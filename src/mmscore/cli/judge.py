"""`mmscore judge`: ask a judge about every row, and keep what it responses."""

import json

import click
from msgspec.structs import asdict, replace

from mmconvert.console.app import EXIT_PARTIAL, OPTIONS_FILE
from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.options import add_struct_options
from mmconvert.console.summary import close, format_command
from mmconvert.core.errors import UsageError
from mmconvert.core.text.printable import escape_control
from mmscore.cli.shared import (
    describe_fields,
    judge_options,
    recipe_option,
    scoring_progress,
    show_estimates,
    show_notes,
)
from mmscore.scoring.evaluate import ScoreOptions, score_each
from mmscore.scoring.judging.jury import Spent
from mmscore.scoring.judging.request import JudgeOptions, store_place

_OF_THIS_RUN = ("predictions", "rejudge", "dry_run", "as_json", "quiet")
"""Parameters that say nothing of what a score depends on."""


@click.command(cls=GroupedCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("predictions", nargs=-1, required=True)
@recipe_option
@add_struct_options(
    ScoreOptions, describe_fields(ScoreOptions), without=["model", "by", "average", "workers", "judge", "progress"]
)
@judge_options
@click.option("--dry-run", is_flag=True, help="Estimate requests and tokens; send nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Print no progress.")
@OPTIONS_FILE
def judge(
    predictions: tuple[str, ...],
    recipes: tuple[str, ...],
    judge: JudgeOptions,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
    options: ScoreOptions,
) -> int:
    """Run a judge model on PREDICTIONS and cache its verdicts; `mmscore score` with the same judge reads the cache.

    An interrupted run continues when it is run again. Exit code 3: some samples have no verdict.
    """
    runs: list[Spent] = []
    request = judge.build_request(runs.append)
    if request is None:
        raise UsageError("no judge is named. Add --judge NAME, see `mmscore list judges`.")
    options = replace(options, judge=request)
    if dry_run:
        return show_estimates(predictions, recipes, options, as_json=as_json)
    with scoring_progress(options, quiet=quiet) as options:
        notes = [note for entry, _ in score_each(predictions, recipes, options) for note in entry.messages]
    if as_json:
        click.echo(json.dumps({"runs": [asdict(run) for run in runs]}, ensure_ascii=False, indent=1))
    else:
        for run in runs:
            click.echo(escape_control(str(run)))
        if not quiet:
            kept = dict.fromkeys(str(store_place(request, run.predictions)) for run in runs)
            files = dict.fromkeys(run.predictions for run in runs)
            close({"cache": ", ".join(kept), "next": format_command("mmscore", *files, *_given()) if runs else None})
    if not quiet:
        show_notes(notes)
    return EXIT_PARTIAL if any(run.failed for run in runs) else 0


def _given() -> list[str]:
    """Give the options that were given as the words that `mmscore score` reads the same from."""
    context = click.get_current_context()
    words = []
    for option in context.command.params:
        value = context.params.get(option.name or "")
        values = value if isinstance(value, tuple) else (value,)
        if option.name not in _OF_THIS_RUN:
            given = [one for one in values if one is not None and one is not False]
            words += [word for one in given for word in (option.opts[0], *([] if one is True else [str(one)]))]
    return words
