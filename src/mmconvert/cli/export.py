"""`mmconvert export`: a dataset back into another format."""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec.structs import asdict, replace

from mmconvert.chat.file_names import proposed_file_name
from mmconvert.console.app import EXIT_PARTIAL, OPTIONS_FILE
from mmconvert.console.dataset_argument import DatasetArgument
from mmconvert.core.errors import UsageError, did_you_mean
from mmconvert.core.progress import Advance, Done, progress
from mmconvert.core.record import Record
from mmconvert.core.text.printable import printable
from mmconvert.dataset.dataset import open_dataset
from mmconvert.dataset.manifest import MANIFEST, folder_of, read_manifest
from mmconvert.dataset.publish import send_file
from mmconvert.pipeline.convert import Records, read, write
from mmconvert.plugins.format import IMAGES, Loss, Target
from mmconvert.plugins.registry import load
from mmconvert.storage.atomic import require_apart
from mmconvert.storage.object_store import is_url

_SHOWN_LOSSES = 10


@click.command()
@click.argument("dataset", type=DatasetArgument(path_type=Path), metavar="DATASET")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="File to write, or its URL in a store (s3://BUCKET/FILE); a folder (or FOLDER/) for the name that the "
    "format's convention gives the file.",
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
@click.option("--quiet", is_flag=True, help="No progress and no summary.")
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
    given = {"to": to, "images": images, "image_dir": image_dir, "config_name": config_name}
    done = exported(dataset, output, given | {"columns": columns, "csv_safe": csv_safe}, quiet=quiet)
    if as_json:
        click.echo(json.dumps(done.to_json(), ensure_ascii=False))
    elif not quiet:
        click.echo(printable(f"{done.output}: {done.rows_written:,} rows as {to}"))
    if not quiet:
        for loss in done.losses[:_SHOWN_LOSSES]:
            click.echo(printable(f"row {loss.id} {loss.field}: {loss.message}"), err=True)
        if len(done.losses) > _SHOWN_LOSSES:
            click.echo(f"... and {len(done.losses) - _SHOWN_LOSSES:,} more; --json names them all", err=True)
    return EXIT_PARTIAL if (done.losses or done.rows_rejected) and not allow_rejects else 0


class Exported(msgspec.Struct, frozen=True):
    """What an export did.

    Attributes:
        format: The format written.
        output: The file.
        rows_read: Rows of the dataset.
        rows_rejected: Those of them that could not be read.
        losses: What the format could not hold, row by row.
    """

    format: str
    output: str
    rows_read: int
    rows_rejected: int
    losses: list[Loss]

    @property
    def rows_written(self) -> int:
        """Rows of the file: those that could be read and that the format can hold."""
        return self.rows_read - self.rows_rejected - sum(loss.left_out for loss in self.losses)

    def to_json(self) -> dict[str, Any]:
        """Give the object that `mmconvert export --json` prints."""
        return asdict(self) | {"losses": [asdict(loss) for loss in self.losses]}


def exported(dataset: Path, output: str, given: Mapping[str, Any], *, quiet: bool) -> Exported:
    """Do what the command does, for its options by parameter name.

    Args:
        dataset: What to write back.
        output: File, or folder for the name of the format's convention.
        given: The command's other options.
        quiet: No progress, and no word about rows that cannot be read.

    Raises:
        UsageError: A name is unknown, or the format cannot honour an option.
        Error: The dataset cannot be read, or the file cannot be written.
    """
    if not is_url(output):
        return _exported(dataset, output, given, quiet=quiet)
    if given["image_dir"] is not None:
        raise UsageError("--image-dir: what is written to a URL has its pictures beside it. Leave it out.")
    with _sent(output) as file:
        done = _exported(dataset, file, given, quiet=quiet)
    return replace(done, output=f"{output.rpartition('/')[0]}/{Path(done.output).name}")


@contextmanager
def _sent(url: str) -> Iterator[str]:
    """Give the place on this machine to write a file to; it and all beside it go to the URL, the file last."""
    above, _, name = url.rpartition("/")
    with tempfile.TemporaryDirectory(prefix="mmconvert-") as folder:
        yield f"{folder}/{name}"
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        for file in sorted(files, key=lambda path: path.parent == Path(folder)):
            send_file(file, f"{above}/{file.relative_to(folder).as_posix()}")


def _exported(dataset: Path, output: str, given: Mapping[str, Any], *, quiet: bool) -> Exported:
    to = given["to"]
    folder = _config(dataset, given["config_name"])
    total = open_dataset(folder).num_rows if (dataset / MANIFEST).is_file() else None
    records = read(folder)
    path = _file(output, records, to)
    require_apart([path], [dataset])
    if total is not None and path.resolve().is_relative_to(os.path.realpath(str(dataset))):
        raise UsageError(f"{path}: lies in the dataset that is read. Name a file beside it.")
    path.resolve().parent.mkdir(parents=True, exist_ok=True)
    wishes = {name: given[name] for name in ("images", "image_dir", "columns", "csv_safe")}
    with progress("export", quiet=quiet) as advance:
        losses = write(_Told(records, total, advance), Target(path, **wishes), to)
    for reject in () if quiet else records.rejects:
        click.echo(printable(str(reject)), err=True)
    return Exported(to, str(path), records.rows_read, len(records.rejects), losses)


class _Told:
    """Records that tell how many of them were read; writers may iterate more than once."""

    def __init__(self, records: Records, total: int | None, advance: Advance) -> None:
        self._records = records
        self._total = total
        self._advance = advance

    def __iter__(self) -> Iterator[Record]:
        for number, record in enumerate(self._records, 1):
            yield record
            self._advance(Done(number, total=self._total))


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
