"""`mmconvert dedupe`: a dataset without its duplicates."""

import json
from pathlib import Path

import click

from mmconvert.console.app import OPTIONS_FILE
from mmconvert.console.dataset_argument import DatasetArgument
from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.options import add_struct_options
from mmconvert.core.text.printable import escape_control
from mmconvert.curation.dedupe import Deduped, DedupeOptions, dedupe_dataset

_SHOWN_GROUPS = 10
_SHOWN_REMOVED = 5


@click.command(cls=GroupedCommand)
@click.argument("dataset", type=DatasetArgument(path_type=Path), metavar="DATASET")
@click.option("-o", "--output", required=True, metavar="OUT", help="Output directory, or its URL (s3://BUCKET/DIR).")
@add_struct_options(DedupeOptions, {"engine": {"metavar": "NAME"}})
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with all groups.")
@click.option("--quiet", is_flag=True, help="Print no progress and no summary.")
@OPTIONS_FILE
def dedupe(dataset: Path, output: str, options: DedupeOptions, as_json: bool, quiet: bool) -> int:
    """Write a dataset without its duplicates; the first sample of each group stays.

    Samples are duplicates when their images (by SHA-256, in order) and their text with the answer are equal, apart from
    case, spaces and punctuation. --near takes near images and texts too.
    """
    done = dedupe_dataset(dataset, output, options, quiet=quiet or as_json)
    if as_json:
        click.echo(json.dumps(done.to_json(), ensure_ascii=False))
    elif not quiet:
        click.echo(escape_control(_format_summary(done)))
    return 0


def _format_summary(done: Deduped) -> str:
    lines = []
    for group in done.groups[:_SHOWN_GROUPS]:
        removed = [one["id"] for one in group["removed"]]
        more = f" and {len(removed) - _SHOWN_REMOVED:,} more" if len(removed) > _SHOWN_REMOVED else ""
        lines.append(f"{group['kept']['id']} stays, left out: {', '.join(removed[:_SHOWN_REMOVED])}{more}")
    if len(done.groups) > _SHOWN_GROUPS:
        lines.append(f"... and {len(done.groups) - _SHOWN_GROUPS:,} more groups; --json lists them all")
    counts = f"{done.rows_kept:,} of {done.rows_read:,} samples, {done.rows_removed:,} duplicates left out"
    return "\n".join([*lines, f"{done.output}: {counts}"])
