"""`mmscore compare`: two predictions files, row by row."""

import json

import click

from mmconvert.console.app import EXIT_PARTIAL, OPTIONS_FILE
from mmconvert.core.errors import UsageError
from mmconvert.storage.atomic import require_apart
from mmscore.analysis.compare import Comparison
from mmscore.analysis.compare import compare as run
from mmscore.cli.judge_options import judge_options
from mmscore.core.predictions.locate import STDIN
from mmscore.core.report import publish
from mmscore.scoring.evaluate import Options
from mmscore.scoring.judging.request import JudgeRequest
from mmscore.scoring.paired_tests import RESAMPLES, SEED


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("a")
@click.argument("b")
@click.option("--recipe", metavar="NAME", help="Recipe for both, NAME@VERSION for a version.")
@click.option("--recipe-options", metavar="FILE", help="Options of the recipe itself, as YAML or JSON.")
@click.option("--format", metavar="NAME", help="Format of the files. [default: recognised by content]")
@click.option("--answers", metavar="DATASET", help="Dataset with the references, joined by id.")
@click.option("--dataset", metavar="NAME", help="Name of the benchmark, for files that do not say it.")
@click.option("--by", multiple=True, metavar="COLUMN", help="Compare each value of a column, or of extra.KEY, too.")
@judge_options
@click.option("--resamples", type=click.IntRange(100), default=RESAMPLES, show_default=True, help="Of the bootstrap.")
@click.option("--seed", type=click.IntRange(0), default=SEED, show_default=True, help="Start of the bootstrap's draws.")
@click.option("-o", "--output", metavar="FILE", help="Write the comparison as JSON.")
@click.option("--allow-rejects", is_flag=True, help="Exit 0 although rows could not be compared.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@OPTIONS_FILE
def compare(
    a: str,
    b: str,
    recipe: str | None,
    recipe_options: str | None,
    format: str | None,
    answers: str | None,
    dataset: str | None,
    by: tuple[str, ...],
    judge: JudgeRequest | None,
    resamples: int,
    seed: int,
    output: str | None,
    allow_rejects: bool,
    as_json: bool,
) -> int:
    """Say how far predictions B lie above predictions A, and whether that is more than chance.

    Rows are found by their id. Scores of 0 and 1 get the exact test of McNemar, all scores a paired bootstrap
    that draws whole groups (dialogs, pictures), and so do numbers that are no mean of rows, such as F1; with --by,
    p-values are adjusted for the number of groups.

    Exit code 3: some rows have no score on one of the sides, or other references or options, or the files name two
    datasets; that is said.
    """
    options = Options(answers, dataset, by, judge=judge, format=format, recipe_options=recipe_options)
    if [a, b, answers].count(STDIN) > 1:
        raise UsageError(f"{STDIN}: standard input cannot be read twice. Write it to a file first.")
    require_apart([output], [a, b])
    found = run(a, b, recipe, options, resamples=resamples, seed=seed)
    text = json.dumps(found.to_json(), ensure_ascii=False, indent=1)
    if output:
        publish(output, text.encode() + b"\n")
    if as_json:
        click.echo(text)
    else:
        _show(found)
    return 0 if found.complete or allow_rejects else EXIT_PARTIAL


def _show(found: Comparison) -> None:
    # Loaded only where a table is printed, as in `mmscore score`.
    from mmscore.reporting.compare_table import show

    show(found)
