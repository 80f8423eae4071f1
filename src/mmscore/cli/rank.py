"""`mmscore rank`: models side by side over many datasets."""

import json
import os
from collections.abc import Callable

import click

from mmconvert.command_line import EXIT_PARTIAL, OPTIONS_FILE
from mmconvert.errors import UsageError
from mmscore.kits.reform_eval.ranking import COLUMNS, METHOD_COLUMNS, SIZES, place_in_dimension
from mmscore.rank import Cell, Place, Ranking, measure, rank
from mmscore.rank_text import to_csv, to_markdown
from mmscore.report import publish

_BY_DIMENSION, _BY_DATASET = WAYS = ("dimension", "dataset")


@click.command("rank", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("predictions", nargs=-1, required=True, metavar="[NAME=]PATH...")
@click.option(
    "--by",
    type=click.Choice(WAYS),
    default=_BY_DIMENSION,
    show_default=True,
    help="Rank in ReForm-Eval's eight dimensions, or in each dataset.",
)
@click.option("--recipe", metavar="NAME", help="Recipe for all files. [default: the one that fits each]")
@click.option("--format", metavar="NAME", help="Format of the files. [default: recognised by content]")
@click.option("--metric", metavar="NAME", help="Number to rank by. [default: the recipe's first; cider for captions]")
@click.option("-o", "--output", metavar="FILE", help="Write the ranking as JSON.")
@click.option("--csv", "csv_file", metavar="FILE", help="Write it as CSV.")
@click.option("--markdown", "markdown_file", metavar="FILE", help="Write it as Markdown tables.")
@click.option("--allow-rejects", is_flag=True, help="Exit 0 although models lack datasets or rows have no score.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@OPTIONS_FILE
def rank_models(
    predictions: tuple[str, ...],
    by: str,
    recipe: str | None,
    format: str | None,
    metric: str | None,
    output: str | None,
    csv_file: str | None,
    markdown_file: str | None,
    allow_rejects: bool,
    as_json: bool,
) -> int:
    """Give each model its average score and average rank, generation and likelihood apart.

    Each PATH holds the answers of one model to one dataset; NAME= says which, where the file does not
    (TDIUC is seven datasets of ReForm-Eval: TDIUC-Color=PATH). Equal scores share the mean of their ranks.

    Exit code 3: some model lacks a dataset that another has, or rows have no score; they are named.
    """
    cells = [_cell(argument, by, recipe, metric, format) for argument in predictions]
    found = rank(cells, by, COLUMNS, SIZES) if by == _BY_DIMENSION else rank(cells, by)
    text = json.dumps(found.to_json(), ensure_ascii=False, indent=1)
    for path, data in ((output, text + "\n"), (csv_file, to_csv(found)), (markdown_file, to_markdown(found))):
        if path:
            publish(path, data.encode())
    if as_json:
        click.echo(text)
    else:
        _show(found)
    return 0 if found.complete or allow_rejects else EXIT_PARTIAL


def _cell(argument: str, by: str, recipe: str | None, metric: str | None, format: str | None) -> Cell:
    label, found, path = argument.partition("=")
    if not found or os.path.exists(argument):
        label, path = "", argument
    place = _in_dimension(path, label or None) if by == _BY_DIMENSION else _in_dataset(path, label or None)
    return measure(path, place, recipe, metric=metric, method_columns=METHOD_COLUMNS, format=format)


def _in_dimension(path: str, label: str | None) -> Callable[[str | None, frozenset[str]], Place]:
    def place(dataset: str | None, tasks: frozenset[str]) -> Place:
        try:
            return place_in_dimension(label, dataset, tasks)
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from None

    return place


def _in_dataset(path: str, label: str | None) -> Callable[[str | None, frozenset[str]], Place]:
    def place(dataset: str | None, tasks: frozenset[str]) -> Place:
        name = label or dataset
        if name is None:
            raise UsageError(f"{path}: the file does not say which dataset it is for. Say it: NAME=PATH.")
        return Place(name, name)

    return place


def _show(found: Ranking) -> None:
    # Loaded only where a table is printed, as in `mmscore score`.
    from mmscore.rank_view import show

    show(found)
