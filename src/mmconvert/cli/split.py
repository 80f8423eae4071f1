"""`mmconvert split`: a dataset divided into splits that share no image."""

import json
from pathlib import Path

import click

from mmconvert.console.app import OPTIONS_FILE
from mmconvert.console.dataset_argument import DatasetArgument
from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.options import add_struct_options
from mmconvert.console.summary import close
from mmconvert.core.text.printable import escape_control
from mmconvert.curation.split import SplitOptions, SplitPart, SplitResult, split_dataset

_TERMINAL = {"split": {"metavar": "NAME"}, "split_ratio": {"metavar": "NAME=RATIO,..."}}


@click.command(cls=GroupedCommand)
@click.argument("dataset", type=DatasetArgument(path_type=Path), metavar="DATASET")
@click.option("-o", "--output", required=True, metavar="OUT", help="Output directory, or its URL (s3://BUCKET/DIR).")
@add_struct_options(SplitOptions, _TERMINAL)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Print no progress and no summary.")
@OPTIONS_FILE
def split(dataset: Path, output: str, options: SplitOptions, as_json: bool, quiet: bool) -> int:
    """Divide a dataset into splits that have no image in common.

    Rows that show an image of the same SHA-256, directly or through other rows, go to the same split, and so do rows of
    one `group` or `sample`. The split follows from --seed and the group's own content, so that rows that are added
    later leave the others where they are; the shares of small datasets are therefore only near the ratios.
    """
    done = split_dataset(dataset, output, options, quiet=quiet or as_json)
    if as_json:
        click.echo(json.dumps(done.to_json(), ensure_ascii=False))
    elif not quiet:
        groups = (
            f"{done.rows:,} rows in {done.groups:,} groups by {done.group_by}, the largest with {done.largest.rows:,}"
        )
        click.echo(escape_control(f"{done.output}: {groups}"))
        close({part.name: _describe_part(part) for part in done.splits})
        for remark in _list_remarks(done):
            click.echo(escape_control(remark), err=True)
    return 0


def _describe_part(part: SplitPart) -> str:
    return f"{part.rows:,} rows, {part.images:,} images, share {part.share:.4f}, requested {part.asked:g}"


def _list_remarks(done: SplitResult) -> list[str]:
    remarks = []
    if done.is_coarse:
        largest = done.largest
        remarks.append(
            f"{largest.rows:,} of {done.rows:,} rows are one group, all in {largest.split}, more than the smallest "
            f"split was to have: {largest.shared_by:,} of them have the {largest.by} {largest.value}. "
            "Leave them out if it is a placeholder, or choose another --group-by."
        )
    if done.images_shared:
        remarks.append(f"{done.images_shared:,} images are in several splits. --group-by image keeps each in one.")
    if done.not_read:
        remarks.append(f"not in the output: the splits that were not divided, {', '.join(done.not_read)}")
    return remarks
