"""`mmconvert export`: a dataset back into another format."""

import dataclasses
import json
from pathlib import Path

import click

from mmconvert.command_line import EXIT_PARTIAL, OPTIONS_FILE, printable
from mmconvert.convert import read, write
from mmconvert.format import Target

_SHOWN_LOSSES = 10


@click.command()
@click.argument("dataset", type=click.Path(exists=True, path_type=Path), metavar="DATASET")
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
@click.option("--to", "to", required=True, metavar="NAME", help="Format to write; see mmconvert list formats.")
@click.option(
    "--images",
    type=click.Choice(["inline", "files", "original"]),
    default="inline",
    show_default=True,
    help="Pictures in the file, as files named by content, or under the source's names.",
)
@click.option("--image-dir", type=click.Path(file_okay=False, path_type=Path), help="Folder for picture files.")
@click.option("--columns", metavar="NAME", help="Column set of the format, such as server.")
@click.option("--csv-safe", is_flag=True, help="Quote cells that a spreadsheet would run as a formula.")
@click.option("--allow-rejects", is_flag=True, help="Exit with 0 even if something was dropped.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="No summary.")
@OPTIONS_FILE
def export(
    dataset: Path,
    output: Path,
    to: str,
    images: str,
    image_dir: Path | None,
    columns: str | None,
    csv_safe: bool,
    allow_rejects: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Write a dataset back in another format.

    The file appears whole or not at all. What the format cannot hold is said row by row, and the exit
    code is then 3.
    """
    records = read(dataset)
    output.resolve().parent.mkdir(parents=True, exist_ok=True)
    losses = write(records, Target(output, images, image_dir, columns=columns, csv_safe=csv_safe), to)
    for reject in records.rejects:
        click.echo(printable(str(reject)), err=True)
    if as_json:
        summary = {
            "format": to,
            "output": str(output),
            "rows_read": records.rows_read,
            "rows_rejected": len(records.rejects),
            "losses": [dataclasses.asdict(loss) for loss in losses],
        }
        click.echo(json.dumps(summary, ensure_ascii=False))
    elif not quiet:
        click.echo(printable(f"{output}: {records.rows_read - len(records.rejects):,} rows as {to}"))
    if not quiet:
        for loss in losses[:_SHOWN_LOSSES]:
            click.echo(printable(f"row {loss.id} {loss.field}: {loss.message}"), err=True)
        if len(losses) > _SHOWN_LOSSES:
            click.echo(f"... and {len(losses) - _SHOWN_LOSSES:,} more; --json names them all", err=True)
    return EXIT_PARTIAL if (losses or records.rejects) and not allow_rejects else 0
