"""`mmconvert export`: a dataset back into another format."""

import dataclasses
import json
from pathlib import Path

import click

from mmconvert.command_line import EXIT_PARTIAL, OPTIONS_FILE, printable
from mmconvert.conversion import Records, read, write
from mmconvert.errors import UsageError, did_you_mean
from mmconvert.file_names import proposed_file_name
from mmconvert.format import IMAGES, Target
from mmconvert.manifest import MANIFEST, folder_of, read_manifest
from mmconvert.plugins import load

_SHOWN_LOSSES = 10


@click.command()
@click.argument("dataset", type=click.Path(exists=True, path_type=Path), metavar="DATASET")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="File to write; a folder (or FOLDER/) for the name that the format's convention gives the file.",
)
@click.option("--to", "to", required=True, metavar="NAME", help="Format to write; see mmconvert list formats.")
@click.option(
    "--images",
    type=click.Choice(IMAGES),
    help="Pictures in the file, as files named by content, or under the source's names; the format's own way by "
    "default.",
)
@click.option("--image-dir", type=click.Path(file_okay=False, path_type=Path), help="Folder for picture files.")
@click.option("--config-name", metavar="NAME", help="Config of the dataset, where it has several.")
@click.option("--columns", metavar="NAME", help="Column set of the format, such as server.")
@click.option("--csv-safe", is_flag=True, help="Quote cells that a spreadsheet would run as a formula.")
@click.option("--allow-rejects", is_flag=True, help="Exit with 0 even if something was dropped.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="No summary.")
@OPTIONS_FILE
def export(
    dataset: Path,
    output: str,
    to: str,
    images: str | None,
    image_dir: Path | None,
    config_name: str | None,
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
    records = read(_config(dataset, config_name))
    path = _file(output, records, to)
    path.resolve().parent.mkdir(parents=True, exist_ok=True)
    losses = write(records, Target(path, images, image_dir, columns=columns, csv_safe=csv_safe), to)
    for reject in records.rejects:
        click.echo(printable(str(reject)), err=True)
    if as_json:
        summary = {
            "format": to,
            "output": str(path),
            "rows_read": records.rows_read,
            "rows_rejected": len(records.rejects),
            "losses": [dataclasses.asdict(loss) for loss in losses],
        }
        click.echo(json.dumps(summary, ensure_ascii=False))
    elif not quiet:
        click.echo(printable(f"{path}: {records.rows_read - len(records.rejects):,} rows as {to}"))
    if not quiet:
        for loss in losses[:_SHOWN_LOSSES]:
            click.echo(printable(f"row {loss.id} {loss.field}: {loss.message}"), err=True)
        if len(losses) > _SHOWN_LOSSES:
            click.echo(f"... and {len(losses) - _SHOWN_LOSSES:,} more; --json names them all", err=True)
    return EXIT_PARTIAL if (losses or records.rejects) and not allow_rejects else 0


def _config(dataset: Path, name: str | None) -> Path:
    """Give the folder of the config that is meant; a dataset with only one is its own."""
    if not (dataset / MANIFEST).is_file():
        if name is not None:
            raise UsageError(f"{dataset}: is no dataset of ours and has no configs. Leave out --config-name.")
        return dataset
    configs = read_manifest(dataset)[0]
    if name is None and len(configs) > 1:
        raise UsageError(f"{dataset}: holds several configs. Name one: --config-name {' or '.join(configs)}.")
    if name is not None and name not in configs:
        raise UsageError(f"{dataset}: no config {name!r}.{did_you_mean(name, configs)} Known: {', '.join(configs)}.")
    return dataset if name is None else dataset / folder_of(name)


def _file(output: str, records: Records, to: str) -> Path:
    """Give the file to write; in a folder, the one that the format's convention names."""
    path = Path(output)
    if not output.endswith("/") and not path.is_dir():
        return path
    if (path / MANIFEST).is_file():
        raise UsageError(f"{path}: is a dataset, which holds no other files. Name a file, or another folder.")
    first = next(iter(records), None)
    if first is None:
        raise UsageError(f"{records.where.file}: holds no row to name the file by. Name it: -o {path}/NAME.")
    return path / proposed_file_name(load("mmconvert.formats", to), to, first)
