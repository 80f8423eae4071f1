"""`mmscore explain`: which rule read each row, and why two recipes differ."""

import json

import click

from mmconvert.console.app import OPTIONS_FILE
from mmconvert.storage.atomic import require_apart
from mmscore.analysis.explain import LIMIT, Explanation
from mmscore.analysis.explain import explain as run
from mmscore.core.report import publish


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("predictions")
@click.option("--recipe", "recipes", multiple=True, metavar="NAME", help="One recipe, or two to hold together.")
@click.option("--recipe-options", metavar="FILE", help="Options of the recipe itself, as YAML or JSON.")
@click.option("--format", metavar="NAME", help="Format of the file. [default: recognised by content]")
@click.option("--answers", metavar="DATASET", help="Dataset with the references, joined by id.")
@click.option("--dataset", metavar="NAME", help="Name of the benchmark, for files that do not say it.")
@click.option("--score", metavar="NAME", help="The score to explain. [default: the first that the recipes share]")
@click.option("--limit", type=click.IntRange(0), default=LIMIT, show_default=True, help="Most rows to show.")
@click.option("-o", "--output", metavar="FILE", help="Write the explanation as JSON.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@OPTIONS_FILE
def explain(
    predictions: str,
    recipes: tuple[str, ...],
    recipe_options: str | None,
    format: str | None,
    answers: str | None,
    dataset: str | None,
    score: str | None,
    limit: int,
    output: str | None,
    as_json: bool,
) -> int:
    """Show what was read out of each reply of PREDICTIONS, by which rule, and where.

    With --recipe given twice: the rows that get another score, and how much of the difference of the two
    numbers comes from each pair of rules; these contributions add up to the difference.
    """
    places = {"answers": answers, "dataset": dataset, "format": format, "recipe_options": recipe_options}
    require_apart([output], [predictions])
    found = run(predictions, recipes, score=score, limit=limit, **places)
    text = json.dumps(found.to_json(), ensure_ascii=False, indent=1)
    if output:
        publish(output, text.encode() + b"\n")
    if as_json:
        click.echo(text)
    else:
        _show(found)
    return 0


def _show(found: Explanation) -> None:
    # Loaded only where a table is printed, as in `mmscore score`.
    from mmscore.reporting.explain_table import show

    show(found)
