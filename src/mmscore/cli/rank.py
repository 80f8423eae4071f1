"""`mmscore rank`: models side by side over many datasets."""

import json
import os
from collections.abc import Callable, Mapping, Sequence

import click
import msgspec
from msgspec.structs import replace

from mmconvert.console.app import EXIT_PARTIAL, OPTIONS_FILE
from mmconvert.core.errors import UsageError
from mmconvert.storage.atomic import require_apart
from mmscore.analysis.rank import Ranking, measure, measure_entry, rank, require_one_recipe
from mmscore.core.predictions.load import models_in
from mmscore.core.ranking import METHODS, Cell, Place
from mmscore.core.report import Entry, publish
from mmscore.kits.mmtrusteval import ranking as mmtrusteval
from mmscore.kits.reform_eval.ranking import COLUMNS, METHOD_COLUMNS, SIZES, place_in_dimension
from mmscore.reporting.rank_text import to_csv, to_markdown
from mmscore.reporting.report_json import is_report, read_report
from mmscore.scoring.evaluate import Options, score_each

_BY_DIMENSION, _BY_DATASET, _BY_ASPECT, _BY_SUBASPECT = WAYS = ("dimension", "dataset", "aspect", "subaspect")
_TASK_COLUMNS: Mapping[str, Callable[[str], str]] = {_BY_ASPECT: mmtrusteval.aspect, _BY_SUBASPECT: str}


class _Wishes(msgspec.Struct, frozen=True):
    """How files are scored and measured, as the user says; None where nothing is said."""

    recipe: str | None
    recipe_options: str | None
    format: str | None
    metric: str | None
    model: str | None
    method: str | None

    def entries(self, path: str, label: str | None) -> Sequence[Entry] | None:
        """Read the entries of a report, those of the recipe if one is named; None for a file that is none.

        Raises:
            UsageError: The user wants it scored anew or by a recipe that it has no numbers of, or names the dataset
                of several.
        """
        if not is_report(path):
            return None
        scoring = {"--recipe-options": self.recipe_options, "--format": self.format}
        if flags := [flag for flag, value in scoring.items() if value]:
            raise UsageError(f"{path}: is a report, scored already. Leave {', '.join(flags)} out.")
        found = [entry for entry in read_report(path) if self.recipe in (None, entry.recipe, _versioned(entry))]
        if not found:
            known = ", ".join(dict.fromkeys(map(_versioned, read_report(path))))
            raise UsageError(f"{path}: is a report, scored already, by {known}. Name one, or leave --recipe out.")
        if label and len(found) > 1:
            raise UsageError(
                f"{path}: holds {len(found)} entries, and {label}= names the dataset of one. Leave it out."
            )
        return [replace(entry, dataset=label or entry.dataset) for entry in found]


def _versioned(entry: Entry) -> str:
    return f"{entry.recipe}@{entry.version}"


@click.command("rank", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("predictions", nargs=-1, required=True, metavar="[NAME=]PATH...")
@click.option(
    "--by",
    type=click.Choice(WAYS),
    default=_BY_DIMENSION,
    show_default=True,
    help="Rank in ReForm-Eval's eight dimensions, in each dataset, or in MMTrustEval's aspects or sub-aspects.",
)
@click.option("--recipe", metavar="NAME", help="Recipe for all files, or which of a report. [default: what fits each]")
@click.option("--recipe-options", metavar="FILE", help="Options of the recipe itself, as YAML or JSON.")
@click.option("--format", metavar="NAME", help="Format of the files. [default: recognised by content]")
@click.option("--model", metavar="NAME", help="Name of the model, for predictions that do not say it.")
@click.option("--method", type=click.Choice(METHODS), help="How answers were made, for files that do not say it.")
@click.option("--metric", metavar="NAME", help="Number to rank by. [default: the recipe's first; cider for captions]")
@click.option("-o", "--output", metavar="FILE", help="Write the ranking as JSON.")
@click.option("--csv", "csv_file", metavar="FILE", help="Write it as CSV.")
@click.option("--markdown", "markdown_file", metavar="FILE", help="Write it as Markdown tables.")
@click.option("--allow-rejects", is_flag=True, help="Exit 0 although datasets or rows are missing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@OPTIONS_FILE
def rank_models(
    predictions: tuple[str, ...],
    by: str,
    recipe: str | None,
    recipe_options: str | None,
    format: str | None,
    model: str | None,
    method: str | None,
    metric: str | None,
    output: str | None,
    csv_file: str | None,
    markdown_file: str | None,
    allow_rejects: bool,
    as_json: bool,
) -> int:
    """Give each model its average score and average rank, generation and likelihood apart.

    Each PATH holds the answers of one model to one dataset, or is a report (`mmscore -o`); NAME= says which
    dataset, where the file does not (TDIUC is seven datasets of ReForm-Eval: TDIUC-Color=PATH). Numbers of
    several recipes are not ranked together. Equal scores share the mean of their ranks. With --by aspect or
    subaspect the average score is MMTrustEval's total.

    Exit code 3: some model lacks a dataset that another has, or one of MMTrustEval's 32 tasks, a file covers a part
    of its dataset only, or rows have no score; they are named.
    """
    require_apart((output, csv_file, markdown_file), [path for path, _ in map(_taken_apart, predictions)])
    found = _ranking(predictions, by, _Wishes(recipe, recipe_options, format, metric, model, method))
    text = json.dumps(found.to_json(), ensure_ascii=False, indent=1)
    for path, data in ((output, text + "\n"), (csv_file, to_csv(found)), (markdown_file, to_markdown(found))):
        if path:
            publish(path, data.encode())
    if as_json:
        click.echo(text)
    else:
        _show(found)
    return 0 if found.complete or allow_rejects else EXIT_PARTIAL


def _ranking(predictions: Sequence[str], by: str, wishes: _Wishes) -> Ranking:
    named = map(_taken_apart, predictions)
    files = [(one, label) for path, label in named for one in models_in(path)]
    if by in _TASK_COLUMNS:
        if wishes.metric:
            raise UsageError(f"--metric: --by {by} ranks by scores of its own. Leave one of them out.")
        name_of = _TASK_COLUMNS[by]
        entries = [entry for file in files for entry in _scored(*file, wishes)]
        needed = mmtrusteval.columns(name_of)
        return rank(mmtrusteval.task_cells(entries, name_of), by, needed=needed, by_score=True)
    placed = _in_dimension if by == _BY_DIMENSION else _in_dataset
    cells = [cell for path, label in files for cell in _cells(path, label, placed(path, label), wishes)]
    require_one_recipe(cells)
    return rank(cells, by, COLUMNS, SIZES) if by == _BY_DIMENSION else rank(cells, by)


def _taken_apart(argument: str) -> tuple[str, str | None]:
    """Give path and name of the dataset of NAME=PATH."""
    label, found, path = argument.partition("=")
    return (argument, None) if not found or os.path.exists(argument) else (path, label or None)


def _scored(path: str, label: str | None, wishes: _Wishes) -> Sequence[Entry]:
    if (entries := wishes.entries(path, label)) is not None:
        if label:
            raise UsageError(f"{path}: is a report, whose logs have their names. Leave {label}= out.")
        return entries
    options = Options(dataset=label, format=wishes.format, model=wishes.model, recipe_options=wishes.recipe_options)
    return [entry for entry, _ in score_each([path], [wishes.recipe] if wishes.recipe else [], options)]


def _cells(
    path: str, label: str | None, place: Callable[[str | None, frozenset[str]], Place], wishes: _Wishes
) -> list[Cell]:
    about = {"metric": wishes.metric, "method": wishes.method}
    if (entries := wishes.entries(path, label)) is not None:
        return [measure_entry(entry, path, place, **about) for entry in entries]
    about |= {"format": wishes.format, "recipe_options": wishes.recipe_options, "model": wishes.model}
    return [measure(path, place, wishes.recipe, method_columns=METHOD_COLUMNS, **about)]


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
    from mmscore.reporting.rank_table import show

    show(found)
