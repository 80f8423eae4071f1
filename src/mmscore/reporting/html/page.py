"""Write the page: the scores of a run, and its samples."""

import contextlib
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import asdict

from mmconvert._version import __version__
from mmconvert.core.collect import collect_rarely
from mmconvert.core.errors import Error, UsageError, build_write_error
from mmconvert.dataset.publish import open_output
from mmconvert.viewer.items import PageImage, PageItem
from mmconvert.viewer.page import write_page
from mmconvert.viewer.thumbnails import Makers, Thumbnails
from mmscore.analysis.rule_contributions import count_rules
from mmscore.core.predictions.load import Rows
from mmscore.core.predictions.locate import STDIN
from mmscore.core.report import Entry, Report
from mmscore.core.table import SCORED
from mmscore.reporting.html.confusion import confusion
from mmscore.reporting.html.contrasts import differences, gaps
from mmscore.reporting.html.details import Details, details_of
from mmscore.reporting.html.images import Illustrated, SampleImages, list_illustrated, match_samples, open_makers
from mmscore.reporting.html.items import PARSED, Layout, images_shown, item_of
from mmscore.reporting.html.lengths import bin_lengths
from mmscore.reporting.html.listing import Listing, listing, readings_of
from mmscore.reporting.html.matrix import place_results
from mmscore.reporting.html.metric_names import METRIC_NAMES
from mmscore.reporting.html.repeats import Repeats, repeats
from mmscore.reporting.html.settings import describe_run
from mmscore.reporting.html.verdicts import Verdicts, verdicts_of
from mmscore.scoring.scored_file import Result

MOST_ITEMS = 10_000
_HERE = files("mmscore.reporting.html")
_SCRIPTS = (
    "vendor/d3.min.js",
    "vendor/plot.umd.min.js",
    "charts.js",
    "elements.js",
    "summary.js",
    "categories.js",
    "comparison.js",
    "details.js",
    "report.js",
)
_STYLES = ("report.css",)
_EPOCH_DIGITS = 12


@dataclass(slots=True)
class _File:
    """A predictions file, what it says of the listed samples, and their images by id or sample."""

    rows: Rows
    results: list[int] = field(default_factory=list)
    told: Mapping[str, Details] = field(default_factory=dict)
    samples: Mapping[str, str] = field(default_factory=dict)
    images: SampleImages | None = None

    def list_names(self, id: str) -> list[str]:
        """List the names under which a dataset may hold the images of a sample."""
        return [name for name in (id, self.samples.get(id), self.told.get(id, {}).get("sample")) if name]

    def images_of(self, id: str) -> tuple[PageImage, ...]:
        return () if self.images is None else self.images.find(self.list_names(id))


class PageOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a page shows beside its results.

    Attributes:
        images: Dataset with the images; None where the predictions files hold them, or nothing does.
        required: The images must belong to the samples; else those that do are shown.
        most: Most samples to list; metrics and charts cover all of them.
        command: What was typed, "" where nobody knows.
        workers: Most processes that make thumbnails; None for one a core.
    """

    images: str | Path | None = None
    required: bool = False
    most: int = MOST_ITEMS
    command: str = ""
    workers: int | None = None


def write_report(path: str | Path, results: Sequence[Result], options: PageOptions | None = None) -> int:
    """Write the results of a run as one page that needs nothing else.

    Args:
        path: The file to write, or its URL; an existing one is replaced.
        results: One a file and recipe, as `evaluation.results` gives them.
        options: What else the page shows.

    Returns:
        How many samples are listed.

    Raises:
        UsageError: The page cannot be written there.
        Error: The disk has no room, or the dataset with the images is damaged, or holds no sample of the predictions.
    """
    options = options or PageOptions()
    verdicts = [verdicts_of(result) for result in results]
    repeated = [repeats(*one) for one in zip(results, verdicts, strict=True)]
    listed = listing(results, options.most)
    found: dict[int, _File] = {}
    for number, result in enumerate(results):
        found.setdefault(id(result.rows), _File(result.rows)).results.append(number)
    opened = list(found.values())
    for one in opened:
        one.told = details_of(one.rows, listed.ids(one.results[0]))
    count = sum(_count_images(opened).values())
    layout = _layout(results, opened, any(repeated))
    with open_makers(count, options.workers) as makers, collect_rarely():
        _add_images(opened, options, makers)
        readings = [readings_of(*one) for one in zip(results, verdicts, repeated, listed.numbers, strict=True)]
        groups = [_groups(results[n], layout.groups, listed.numbers[n]) for n in range(len(results))]

        def item(n: int) -> PageItem:
            place, id = listed.keys[n]
            having = [one if listed.numbers[one.results[0]][n] is not None else _File(one.rows) for one in opened]
            return item_of(
                id if place is None else f"{place}/{id}",
                layout,
                [one[n] for one in readings],
                [one.told.get(id, {}) for one in having],
                next((shown for one in having if (shown := one.images_of(id))), ()),
                {name: next((g[name][n] for g in groups if g[name][n] is not None), None) for name in layout.groups},
            )

        def items() -> Iterator[PageItem]:
            yield from map(item, range(len(listed.keys)))
            notes.extend(_notes(listed, opened, options.images))

        notes: list[str] = []
        entries = [result.entry for result in results]
        models, dataset = [entry.model for entry in entries], common([entry.dataset for entry in entries])
        model = common(models) or f"{len(set(models))} models"
        # Columns of the table in which each result stands, for the filters that a chart sets.
        columns = [{what: layout.name(what, n) for what in (PARSED, "rule", "result")} for n in range(len(results))]
        more = {
            "columns": columns,
            "runs": [
                asdict(describe_run(one.rows)) | {"model": model, "results": one.results}
                for one, model in zip(opened, layout.models, strict=True)
            ],
            "command": options.command,
            "names": list(METRIC_NAMES.items()),
            "samples": listed.total + listed.nameless,
        }
        try:
            with open_output(path) as target:
                return write_page(
                    target,
                    f"{model} on {dataset}" if dataset else model,
                    items=items(),
                    unit=("sample", "samples"),
                    columns=layout.columns,
                    filters=layout.filters,
                    data=panels(results, verdicts, repeated) | more,
                    facts=_build_facts(entries, listed, layout),
                    notes=notes,
                    styles=[_HERE / name for name in _STYLES],
                    scripts=[_HERE / name for name in _SCRIPTS],
                )
        except OSError as error:
            raise build_write_error(path, error) from None


def _build_facts(entries: Sequence[Entry], listed: Listing, layout: Layout) -> dict[str, str]:
    """Say what the page is about: the benchmark, its samples, who answered, how it was scored and when."""
    datasets = list(dict.fromkeys(entry.dataset for entry in entries if entry.dataset))
    recipes, models = list(dict.fromkeys(layout.recipes)), list(dict.fromkeys(layout.models))
    facts = {
        "Benchmark" if len(datasets) < 2 else "Benchmarks": ", ".join(datasets),
        "Samples": f"{listed.total + listed.nameless:,}",
        "Scored": f"{time.strftime('%Y-%m-%d', _read_clock())} by mmscore {__version__}",
        "Recipe" if len(recipes) == 1 else "Recipes": ", ".join(recipes),
        "Model" if len(models) == 1 else "Models": ", ".join(models),
    }
    return {name: value for name, value in facts.items() if value}


def _read_clock() -> time.struct_time:
    """Give today in UTC, or the day that SOURCE_DATE_EPOCH names, with which a page can be made again byte by byte."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    return time.gmtime(int(given)) if given.isdecimal() and len(given) < _EPOCH_DIGITS else time.gmtime()


def _count_images(opened: Sequence[_File]) -> dict[str, int]:
    """Count the images that the messages of each sample show."""
    return {row.get("sample") or id: images_shown(row) for one in opened for id, row in one.told.items()}


def _add_images(opened: Sequence[_File], options: PageOptions, makers: Makers) -> None:
    """Begin to read images from the dataset that was named, else from the files themselves."""
    asked = _count_images(opened)
    if options.images is not None:
        _match_files(opened, options.images, required=options.required)
        names = {name for one in opened for id in one.told for name in one.list_names(id)}
        made = Thumbnails(expected=max(sum(asked.values()), len(asked)))
        images = SampleImages(list_illustrated(options.images, names), made, makers)
        for one in opened:
            one.images = images
        return
    made = Thumbnails(expected=sum(asked.values()))
    for one in opened:
        names = {name for id, row in one.told.items() if images_shown(row) for name in one.list_names(id)}
        if names and one.rows.path != STDIN:
            one.images = SampleImages(_skip_unreadable(list_illustrated(one.rows.path, names)), made, makers)


def _skip_unreadable(samples: Iterator[Illustrated]) -> Iterator[Illustrated]:
    # A file whose format only --format named cannot be read again here; a note says that images lack.
    with contextlib.suppress(Error):
        yield from samples


def _match_files(opened: Sequence[_File], dataset: str | Path, *, required: bool) -> None:
    """Find the samples of the dataset that each file is about.

    Raises:
        Error: No file is about any of them, and one must be.
    """
    failures = []
    for one in opened:
        if not (required or one.rows.sides):
            # A task's own predictions call samples as its dataset does.
            continue
        try:
            one.samples = match_samples(one.rows, dataset)
        except UsageError:
            raise
        except Error as error:
            failures.append(error)
    if required and len(failures) == len(opened):
        raise failures[0]


def _layout(results: Sequence[Result], opened: Sequence[_File], repeated: bool) -> Layout:
    entries = [result.entry for result in results]
    groups = dict.fromkeys(column for entry in entries for column, values in entry.groups.items() if len(values) > 1)
    place = {number: file for file, one in enumerate(opened) for number in one.results}
    return Layout(
        labels=labels(entries),
        files=[place[number] for number in range(len(results))],
        recipes=[f"{entry.recipe}@{entry.version}" for entry in entries],
        models=labels([entries[one.results[0]] for one in opened]),
        groups=list(groups),
        repeated=repeated,
    )


def _groups(result: Result, columns: Sequence[str], numbers: Sequence[int | None]) -> dict[str, list[str | None]]:
    """Give the value of each sample in the columns that metrics are broken down by."""
    rows = result.scored.rows
    every = {name: result.scored.column(name) if name in rows.column_names else None for name in columns}
    return {
        name: [None if values is None or n is None or values[n] is None else str(values[n]) for n in numbers]
        for name, values in every.items()
    }


def _notes(listed: Listing, opened: Sequence[_File], images: str | Path | None) -> Iterator[str]:
    if len(listed.keys) < listed.total:
        yield (
            f"The table lists {len(listed.keys):,} of {listed.total:,} samples, evenly spread; "
            "metrics and charts cover all samples. --html-rows lists more."
        )
    if listed.nameless:
        yield f"{listed.nameless:,} samples have no id and are not listed."
    if any(map(images_shown, (row for one in opened for row in one.told.values()))) and not any(
        one.images is not None and one.images.has_any() for one in opened
    ):
        lacking = "The predictions hold no images" if images is None else f"{images} has no images of these samples"
        yield f"{lacking}. --html-pictures DATASET shows them: name the dataset that the predictions are about."


def panels(
    results: Sequence[Result], verdicts: Sequence[Verdicts], repeated: Sequence[Repeats | None]
) -> dict[str, Any]:
    """Gather what the page shows above its table.

    Args:
        results: One a file and recipe.
        verdicts: What became of the samples of each.
        repeated: What the questions of each that have several responses are like.

    Returns:
        `report` is the JSON report and `csv` the same as a table; the other lists have one element an entry of it
        (`labels`, `scores`, `matrix`, `rules`, `lengths`, `confusions`, `repeats`) or one a pair of entries
        (`differences`, `gaps`).
    """
    entries = [result.entry for result in results]
    report = Report(tuple(entries))
    counts = [confusion(result.scored, one) for result, one in zip(results, verdicts, strict=True)]
    return {
        "report": report.to_json(),
        "csv": report.to_csv(),
        "labels": labels(entries),
        "matrix": [asdict(cell) for cell in place_results(entries)],
        "lengths": [[asdict(one) for one in bin_lengths(*pair)] for pair in zip(results, verdicts, strict=True)],
        "scores": [one.score for one in verdicts],
        "rules": [_rules(*one) for one in zip(results, verdicts, strict=True)],
        "confusions": [None if one is None else asdict(one) for one in counts],
        "repeats": [
            None if one is None else {name: value for name, value in asdict(one).items() if name != "unstable"}
            for one in repeated
        ],
        "differences": differences(results),
        "gaps": gaps(results),
    }


def _rules(result: Result, verdicts: Verdicts) -> list[dict[str, Any]]:
    """Count the scored samples that each rule parsed, and their scores."""
    status = np.array(result.scored.column("status"))
    having = (status == SCORED) & ~np.isnan(verdicts.values)
    return [asdict(rule) for rule in count_rules(result.scored.where(having), verdicts.values[having])]


def labels(entries: Sequence[Entry]) -> list[str]:
    """Name each entry by what differs among them: model, recipe, dataset, at last its file; one alone by its model."""
    parts = [
        [entry.model for entry in entries],
        [f"{entry.recipe}@{entry.version}" for entry in entries],
        [entry.dataset or "" for entry in entries],
    ]
    differing = [part for part in parts if len(set(part)) > 1] or parts[:1]
    named = [" · ".join(filter(None, words)) for words in zip(*differing, strict=True)]
    if len(set(named)) < len(named):
        named = [f"{name} · {entry.predictions}" for name, entry in zip(named, entries, strict=True)]
    counts = Counter(named)
    return [name if counts[name] == 1 else f"{name} ({number})" for number, name in enumerate(named, 1)]


def common(values: Sequence[str | None]) -> str | None:
    """Give the one value that all have; None where they differ.

    Example:
        >>> common(["a", "a"]), common(["a", "b"])
        ('a', None)
    """
    return values[0] if len(set(values)) == 1 else None
