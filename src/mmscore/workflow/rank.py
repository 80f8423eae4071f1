"""Rank models over many datasets, from predictions or reports."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypedDict

import msgspec
from msgspec.structs import replace

from mmconvert.core.errors import UsageError
from mmconvert.storage.atomic import require_apart
from mmconvert.storage.source_files import watch_sources
from mmscore.analysis.rank import Ranking, compute_ranking, require_one_recipe, score_entry, score_file
from mmscore.core.predictions.load import list_model_folders
from mmscore.core.ranking import RankCell, RankColumn
from mmscore.core.report import Entry, json_text, publish
from mmscore.kits.mmtrusteval import ranking as mmtrusteval
from mmscore.kits.reform_eval.ranking import COLUMNS, METHOD_COLUMNS, SIZES, find_dimension
from mmscore.reporting.rank_table import to_csv, to_markdown
from mmscore.reporting.report_json import is_report, read_report
from mmscore.scoring.evaluate import ScoreOptions, score_each

_BY_DIMENSION, _BY_DATASET, _BY_ASPECT, _BY_SUBASPECT = ("dimension", "dataset", "aspect", "subaspect")
_TASK_COLUMNS: Mapping[str, Callable[[str], str]] = {_BY_ASPECT: mmtrusteval.find_aspect, _BY_SUBASPECT: str}


class RankOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How files are scored and measured, what they are ranked in, and where the result goes."""

    by: Literal["dimension", "dataset", "aspect", "subaspect"] = "dimension"
    """Rank by ReForm-Eval's eight dimensions, by dataset, or by MMTrustEval's aspects or sub-aspects."""
    recipe: str | None = None
    """Recipe for all files, or the one to take from reports. [default: chosen per file]"""
    recipe_options: str | None = None
    """YAML or JSON file with options of the recipe."""
    format: str | None = None
    """Format of the files. [default: detected]"""
    model: str | None = None
    """Model name, if the predictions do not state it."""
    method: Literal["generation", "likelihood"] | None = None
    """How predictions were made, if the file does not state it."""
    metric: str | None = None
    """Metric to rank by. [default: the recipe's primary metric; cider for captions]"""
    output: str | None = None
    """Write the ranking as JSON to this file."""
    csv: str | None = None
    """Write the ranking as CSV to this file."""
    markdown: str | None = None
    """Write the ranking as Markdown tables to this file."""

    def entries(self, path: str, label: str | None) -> Sequence[Entry] | None:
        """Read the entries of a report, those of the recipe if one is named; None for a file that is none.

        Raises:
            UsageError: The user wants it scored again or by a recipe that it has no numbers of, or names the dataset
                of several.
        """
        if not is_report(path):
            return None
        scoring = {"--recipe-options": self.recipe_options, "--format": self.format}
        if flags := [flag for flag, value in scoring.items() if value]:
            raise UsageError(f"{path}: is a report, scored already. Leave {', '.join(flags)} out.")
        found = [entry for entry in read_report(path) if self.recipe in (None, entry.recipe, _format_version(entry))]
        if not found:
            known = ", ".join(dict.fromkeys(map(_format_version, read_report(path))))
            raise UsageError(f"{path}: is a report, scored already, by {known}. Name one, or leave --recipe out.")
        if label and len(found) > 1:
            raise UsageError(
                f"{path}: holds {len(found)} entries, and {label}= names the dataset of one. Leave it out."
            )
        return [replace(entry, dataset=label or entry.dataset) for entry in found]


class RankKeywords(TypedDict, total=False):
    """Keywords of `rank`: the options of `mmscore rank` by their names."""

    by: Literal["dimension", "dataset", "aspect", "subaspect"]
    recipe: str | None
    recipe_options: str | Path | None
    format: str | None
    model: str | None
    method: Literal["generation", "likelihood"] | None
    metric: str | None
    output: str | Path | None
    csv: str | Path | None
    markdown: str | Path | None


def _format_version(entry: Entry) -> str:
    return f"{entry.recipe}@{entry.version}"


@watch_sources()
def rank_files(predictions: Sequence[str], options: RankOptions) -> Ranking:
    """Rank models, and write the ranking where the options name files.

    Args:
        predictions: Places of predictions or reports, with `NAME=` in front where a file does not name its dataset.
        options: How.

    Raises:
        UsageError: A file would be written over what is read, or its dataset cannot be told, or as `score`.
        Error: A file is damaged, or numbers of several recipes would be ranked together.
    """
    outputs = (options.output, options.csv, options.markdown)
    require_apart(outputs, [path for path, _ in map(_split_argument, predictions)])
    found = _compute_ranking(predictions, options)
    texts = (json_text(found.to_json()) + "\n", to_csv(found), to_markdown(found))
    for path, data in zip(outputs, texts, strict=True):
        if path:
            publish(path, data.encode())
    return found


def _compute_ranking(predictions: Sequence[str], options: RankOptions) -> Ranking:
    by = options.by
    named = map(_split_argument, predictions)
    files = [(one, label) for path, label in named for one in list_model_folders(path)]
    if by in _TASK_COLUMNS:
        if options.metric:
            raise UsageError(f"--metric: --by {by} ranks by scores of its own. Leave one of them out.")
        name_of = _TASK_COLUMNS[by]
        entries = [entry for file in files for entry in _score_entry(*file, options)]
        needed = mmtrusteval.build_columns(name_of)
        return compute_ranking(mmtrusteval.build_task_cells(entries, name_of), by, needed=needed, by_score=True)
    cells = [cell for path, label in files for cell in _build_cells(path, label, options)]
    require_one_recipe(cells)
    return compute_ranking(cells, by, COLUMNS, SIZES) if by == _BY_DIMENSION else compute_ranking(cells, by)


def _split_argument(argument: str) -> tuple[str, str | None]:
    """Give path and name of the dataset of NAME=PATH."""
    label, found, path = argument.partition("=")
    return (argument, None) if not found or os.path.exists(argument) else (path, label or None)


def _score_entry(path: str, label: str | None, options: RankOptions) -> Sequence[Entry]:
    if (entries := options.entries(path, label)) is not None:
        if label:
            raise UsageError(f"{path}: is a report, whose logs have their names. Leave {label}= out.")
        return entries
    same = {name: getattr(options, name) for name in ("format", "model", "recipe_options")}
    scoring = ScoreOptions(dataset=label, **same)
    return [entry for entry, _ in score_each([path], [options.recipe] if options.recipe else [], scoring)]


def _build_cells(path: str, label: str | None, options: RankOptions) -> list[RankCell]:
    def place(dataset: str | None, tasks: frozenset[str]) -> RankColumn:
        if options.by == _BY_DIMENSION:
            try:
                return find_dimension(label, dataset, tasks)
            except UsageError as error:
                raise UsageError(f"{path}: {error}") from None
        name = label or dataset
        if name is None:
            raise UsageError(f"{path}: the file does not state its dataset. Give it as NAME=PATH.")
        return RankColumn(name, name)

    about = {"metric": options.metric, "method": options.method}
    if (entries := options.entries(path, label)) is not None:
        return [score_entry(entry, path, place, **about) for entry in entries]
    about |= {"format": options.format, "recipe_options": options.recipe_options, "model": options.model}
    return [score_file(path, place, options.recipe, method_columns=METHOD_COLUMNS, **about)]
