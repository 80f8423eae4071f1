"""`mmconvert overlap`: samples of benchmarks in a training set."""

import json
from pathlib import Path

import click

from mmconvert.console.app import OPTIONS_FILE
from mmconvert.console.dataset_argument import DatasetArgument
from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.options import add_struct_options
from mmconvert.core.text.printable import escape_control
from mmconvert.curation.overlap import BenchmarkOverlap, Overlap, OverlapOptions
from mmconvert.viewer.overlap import check_overlap

_HEADS = ("benchmark", "samples", "found", "image", "near image", "text", "both")


@click.command(cls=GroupedCommand)
@click.argument("train", type=DatasetArgument(path_type=Path), metavar="TRAIN")
@click.option(
    "--with",
    "benchmarks",
    multiple=True,
    metavar="BENCHMARK",
    help="Dataset to compare with, or a file or benchmark name that convert reads; repeatable.",
)
@add_struct_options(OverlapOptions, {"engine": {"metavar": "NAME"}})
@click.option("-o", "--output", metavar="OUT", help="With --drop: output directory, or its URL (s3://BUCKET/DIR).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with all pairs.")
@click.option("--quiet", is_flag=True, help="Print no progress and no summary.")
@OPTIONS_FILE
def overlap(
    train: Path, benchmarks: tuple[str, ...], options: OverlapOptions, output: str | None, as_json: bool, quiet: bool
) -> int:
    """Find samples of benchmarks in a training set, by their images and by their questions.

    Images are found by their bytes and when they were encoded again, scaled, recoloured or cut a little; questions
    when case, spaces, punctuation or a few words differ. --drop writes the training set without the found samples.
    """
    found = check_overlap(train, benchmarks, output, options, quiet=quiet or as_json)
    if as_json:
        click.echo(json.dumps(found.to_json(), ensure_ascii=False))
    elif not quiet:
        click.echo(escape_control("\n".join([*_format_table(found), *_format_notes(found, options)])))
    return 0


def _format_table(found: Overlap) -> list[str]:
    rows = [_HEADS, *(_list_cells(name, one) for name, one in found.benchmarks.items())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _list_cells(name: str, one: BenchmarkOverlap) -> tuple[str, ...]:
    counts = (one.found, one.image, one.near_image, one.text, one.both)
    shares = (f"{count:,} ({100 * count / max(one.samples, 1):.1f} %)" for count in counts)
    return (name, f"{one.samples:,}", *shares)


def _format_notes(found: Overlap, options: OverlapOptions) -> list[str]:
    notes = [f"{found.train_found:,} of {found.train_samples:,} training samples are in {len(found.pairs):,} pairs."]
    if found.unhashed and not options.exact:
        states = ", ".join(f"{count:,} {state}" for state, count in found.unhashed.items())
        notes.append(f"Images that are compared by their bytes alone: {states}.")
    notes += [
        f"warning: {name}: {one.rejected:,} rows could not be converted and were not looked for. "
        f"See why: mmconvert check {name}"
        for name, one in found.benchmarks.items()
        if one.rejected
    ]
    if options.html is not None:
        notes.append(f"Look at the pairs in a browser: {options.html.resolve().as_uri()}")
    if found.output is not None:
        notes.append(f"{found.output}: {found.train_samples - found.train_found:,} samples")
    return notes
