"""`mmscore bundle`: predictions, recipe, versions and hashes in one folder."""

import json
from pathlib import Path

import click

from mmconvert.console.app import EXIT_PARTIAL, OPTIONS_FILE
from mmconvert.core.errors import UsageError
from mmconvert.core.text.printable import printable
from mmscore.analysis.bundle import Request
from mmscore.analysis.bundle import bundle as run
from mmscore.core.predictions.locate import STDIN
from mmscore.scoring.evaluate import AVERAGES


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("predictions", nargs=-1, required=True)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="DIR", help="A new folder.")
@click.option("--recipe", "recipes", multiple=True, metavar="NAME", help="Recipe, NAME@VERSION for a version.")
@click.option("--recipe-options", metavar="FILE", help="Options of the recipe itself, as YAML or JSON.")
@click.option("--format", metavar="NAME", help="Format of the files. [default: recognised by content]")
@click.option("--answers", metavar="DATASET", help="Dataset with the references; they come along, without pictures.")
@click.option("--dataset", metavar="NAME", help="Name of the benchmark, for files that do not say it.")
@click.option("--by", multiple=True, metavar="COLUMN", help="Break down by a column, or by extra.KEY.")
@click.option("--average", type=click.Choice(AVERAGES), default="micro", help="As in `mmscore score`.")
@click.option("--allow-rejects", is_flag=True, help="Exit 0 although rows have no score.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
@click.option("--quiet", is_flag=True, help="No summary.")
@OPTIONS_FILE
def bundle(
    predictions: tuple[str, ...],
    output: Path,
    recipes: tuple[str, ...],
    recipe_options: str | None,
    format: str | None,
    answers: str | None,
    dataset: str | None,
    by: tuple[str, ...],
    average: str,
    allow_rejects: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Put PREDICTIONS and all that their score depends on into one folder that anyone can recompute.

    `mmscore verify DIR` compares every byte and every number; bundle.json holds the command that gives
    the report by hand.
    """
    if STDIN in (*predictions, answers):
        raise UsageError(f"{STDIN}: a bundle is made of files. Write standard input to a file first.")
    report = run(Request(predictions, recipes, answers, dataset, by, average, format, recipe_options), output)
    if as_json:
        click.echo(json.dumps(report, ensure_ascii=False, indent=1))
    elif not quiet:
        for entry in report["entries"]:
            name, number = next(iter(entry["metrics"].items()), ("no number", {"value": None}))
            click.echo(printable(f"{entry['model']} {entry['recipe']}@{entry['version']} {name}: {number['value']}"))
        click.echo(printable(f"{output}: recompute with `mmscore verify {output}`"))
    lacking = ("failed", "judge_failed", "missing", "rejected")
    complete = not any(entry["counts"][fate] for entry in report["entries"] for fate in lacking)
    return 0 if complete or allow_rejects else EXIT_PARTIAL
