"""Write the page: the numbers of a run, and its rows."""

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import asdict

from mmconvert.core.errors import Error, UsageError
from mmconvert.dataset.publish import open_output
from mmconvert.viewer.items import PageItem, Picture
from mmconvert.viewer.page import write_page
from mmconvert.viewer.thumbnails import Thumbnails
from mmscore.analysis.rule_contributions import count_rules
from mmscore.core.predictions.load import Rows
from mmscore.core.predictions.locate import STDIN
from mmscore.core.report import Entry, Report
from mmscore.core.table import SCORED
from mmscore.reporting.html.confusion import confusion
from mmscore.reporting.html.contrasts import differences, gaps
from mmscore.reporting.html.details import Details, details_of
from mmscore.reporting.html.images import thumbnails_of
from mmscore.reporting.html.items import Layout, images_shown, item_of
from mmscore.reporting.html.listing import Listing, listing, readings_of
from mmscore.reporting.html.repeats import Repeats, repeats
from mmscore.reporting.html.verdicts import Verdicts, verdicts_of
from mmscore.scoring.scored_file import Result

MOST_ITEMS = 10_000
_HERE = files("mmscore.reporting.html")
_SCRIPTS = ("vendor/d3.min.js", "vendor/plot.umd.min.js", "charts.js", "report.js")
_STYLES = ("report.css",)


@dataclass(slots=True)
class _File:
    """A predictions file, what it says of the listed rows, and their pictures by id or sample."""

    rows: Rows
    results: list[int] = field(default_factory=list)
    told: Mapping[str, Details] = field(default_factory=dict)
    pictures: Mapping[str, tuple[Picture, ...]] = field(default_factory=dict)

    def pictures_of(self, id: str) -> tuple[Picture, ...]:
        sample = self.told.get(id, {}).get("sample") or id
        return self.pictures.get(id, ()) or self.pictures.get(sample, ())


def write_report(
    path: str | Path, results: Sequence[Result], *, images: str | Path | None = None, most: int = MOST_ITEMS
) -> int:
    """Write the results of a run as one page that needs nothing else.

    Args:
        path: The file that shall appear, or its URL; one that stands there is replaced.
        results: One a file and recipe, as `evaluation.results` gives them.
        images: Dataset with the pictures; None where the predictions files hold them, or nobody does.
        most: Most rows to list; numbers and charts are of all rows.

    Returns:
        How many rows are listed.

    Raises:
        UsageError: The page cannot be written there.
        Error: The dataset with the pictures is damaged.
    """
    verdicts = [verdicts_of(result) for result in results]
    repeated = [repeats(*one) for one in zip(results, verdicts, strict=True)]
    listed = listing(results, most)
    found: dict[int, _File] = {}
    for number, result in enumerate(results):
        found.setdefault(id(result.rows), _File(result.rows)).results.append(number)
    opened = list(found.values())
    for one in opened:
        one.told = details_of(one.rows, listed.ids(one.results[0]))
    _add_images(opened, images)
    layout = _layout(results, opened, any(repeated))
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
            next((shown for one in having if (shown := one.pictures_of(id))), ()),
            {name: next((g[name][n] for g in groups if g[name][n] is not None), None) for name in layout.groups},
        )

    entries = [result.entry for result in results]
    models, dataset = [entry.model for entry in entries], common([entry.dataset for entry in entries])
    model = common(models) or f"{len(set(models))} models"
    # Columns of the table in which each result stands, for the filters that a chart sets.
    columns = [{what: layout.name(what, n) for what in ("read", "rule", "result")} for n in range(len(results))]
    try:
        with open_output(path) as target:
            return write_page(
                target,
                f"{model} on {dataset}" if dataset else model,
                items=map(item, range(len(listed.keys))),
                lead=f"Scored by {', '.join(dict.fromkeys(layout.recipes))}",
                columns=layout.columns,
                filters=layout.filters,
                data=panels(results, verdicts, repeated) | {"columns": columns},
                notes=list(_notes(listed, opened, images)),
                styles=[_HERE / name for name in _STYLES],
                scripts=[_HERE / name for name in _SCRIPTS],
            )
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"{path}: cannot be written ({reason}). Name a file in a folder that exists.") from None


def _add_images(opened: Sequence[_File], dataset: str | Path | None) -> None:
    """Read pictures from the dataset that was named, else from the files themselves."""
    shown = [_shown(one.told) for one in opened]
    asked = {row.get("sample") or id: images_shown(row) for one in opened for id, row in one.told.items()}
    made = Thumbnails(expected=sum(asked.values()))
    if dataset is not None:
        every = {name: count for one in shown for name, count in one.items()}
        images = thumbnails_of(dataset, every, made) if every else {}
        for one in opened:
            one.pictures = images
        return
    for one, names in zip(opened, shown, strict=True):
        if names and one.rows.path != STDIN:
            # A file whose format only --format told cannot be read again here; a note says that pictures lack.
            with contextlib.suppress(Error):
                one.pictures = thumbnails_of(one.rows.path, names, made)


def _shown(facts: Mapping[str, Details]) -> dict[str, int]:
    """Count the pictures of each row, under its id and its sample."""
    counts: dict[str, int] = {}
    for id, row in facts.items():
        if count := images_shown(row):
            counts |= {row.get("sample") or id: count, id: count}
    return counts


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
    """Give the value of each row in the columns that numbers are broken down by."""
    rows = result.scored.rows
    every = {name: result.scored.column(name) if name in rows.column_names else None for name in columns}
    return {
        name: [None if values is None or n is None or values[n] is None else str(values[n]) for n in numbers]
        for name, values in every.items()
    }


def _notes(listed: Listing, opened: Sequence[_File], images: str | Path | None) -> Iterator[str]:
    if len(listed.keys) < listed.total:
        yield (
            f"The table lists {len(listed.keys):,} of {listed.total:,} rows, evenly spread; "
            "numbers and charts are of all rows. --html-rows lists more."
        )
    if listed.nameless:
        yield f"{listed.nameless:,} rows have no id and are not listed."
    if any(map(images_shown, (row for one in opened for row in one.told.values()))) and not any(
        one.pictures for one in opened
    ):
        lacking = "The predictions hold no images" if images is None else f"{images} has no images of these rows"
        yield f"{lacking}. --html-pictures DATASET, the dataset they were made of, shows them."


def panels(
    results: Sequence[Result], verdicts: Sequence[Verdicts], repeated: Sequence[Repeats | None]
) -> dict[str, Any]:
    """Gather what the page shows above its table.

    Args:
        results: One a file and recipe.
        verdicts: What became of the rows of each.
        repeated: What the questions of each that have several replies are like.

    Returns:
        `report` is the JSON report; the other lists have one element an entry of it (`labels`, `scores`,
        `rules`, `confusions`, `repeats`) or one a pair of entries (`differences`, `gaps`).
    """
    entries = [result.entry for result in results]
    counts = [confusion(result.scored, one) for result, one in zip(results, verdicts, strict=True)]
    return {
        "report": Report(tuple(entries)).to_json(),
        "labels": labels(entries),
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
    """Count the scored rows that each rule read, and how they fared."""
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
