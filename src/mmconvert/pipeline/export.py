"""What `mmconvert export` and `mmconvert.export` do: a dataset back into another format."""

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec.structs import asdict, replace

from mmconvert.chat.file_names import propose_file_name
from mmconvert.core.errors import Error, UsageError, suggest_spelling
from mmconvert.core.option_fields import Place
from mmconvert.core.progress import Advance, Done, show_progress
from mmconvert.core.record import Record
from mmconvert.core.rows import Rejected
from mmconvert.core.text.printable import escape_control
from mmconvert.dataset.dataset import Dataset, open_dataset
from mmconvert.dataset.manifest import MANIFEST, build_config_folder, read_manifest
from mmconvert.dataset.publish import check_free, send_file
from mmconvert.pipeline.convert import Records, open_target, read, write
from mmconvert.pipeline.engines.local import ENGINE
from mmconvert.pipeline.export_parts import can_split, write_parts
from mmconvert.pipeline.read import OURS, UNDRAWN, UNMATCHED
from mmconvert.pipeline.sampling import find_bound
from mmconvert.plugins.format import Format, ImagePlacement, Loss, Target
from mmconvert.plugins.registry import load
from mmconvert.storage.atomic import require_apart
from mmconvert.storage.object_store import is_url
from mmconvert.storage.source_files import watch_sources
from mmconvert.storage.temporary import build_temporary_prefix


class ExportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a dataset is written back: the options of `mmconvert export` and the keywords of `export`."""

    to: str
    """Format to write; see `mmconvert list formats`."""
    images: ImagePlacement | None = None
    """Put images inside the file, into files named by content hash, or into files named as in the source. [default:
    what the format uses]"""
    image_dir: Annotated[Path, Place(folder=True)] | None = None
    """Directory for image files."""
    config_name: str | None = None
    """Configuration of the dataset, if it has several."""
    where: str | None = None
    """Write only samples that match a condition: "task = 'vqa' and width >= 224"."""
    sample: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Write N random rows, the same for the same --seed. With --where, N of those that match; the dataset is then
    read twice."""
    seed: int = 0
    """Random seed of --sample."""
    columns: str | None = None
    """Column set of the format, for example server."""
    csv_safe: bool = False
    """Escape cells that a spreadsheet would run as a formula."""
    workers: int | None = None
    """Processes that write at the same time, where the format allows it. The file is always the same. [default: as many
    as there are cores]"""


class Exported(msgspec.Struct, frozen=True):
    """What an export did.

    Attributes:
        format: The format written.
        output: The file.
        rows_read: Rows of the dataset.
        rows_rejected: Those of them that could not be read.
        losses: What the format could not hold, row by row.
        rows_unmatched: Rows that `--where` left out.
        rows_undrawn: Rows that `--sample` left out; they are not among `rows_read`.
    """

    format: str
    output: str
    rows_read: int
    rows_rejected: int
    losses: list[Loss]
    rows_unmatched: int = 0
    rows_undrawn: int = 0

    @property
    def has_dropped(self) -> bool:
        """Whether rows, images or turns stayed behind; remarks about metadata do not count."""
        return bool(self.rows_rejected) or not all(loss.remark for loss in self.losses)

    @property
    def rows_written(self) -> int:
        """Rows of the file: those that could be read and that the format can hold."""
        left_out = sum(loss.left_out for loss in self.losses)
        return self.rows_read - self.rows_rejected - self.rows_unmatched - left_out

    def to_json(self) -> dict[str, Any]:
        """Give the object that `mmconvert export --json` prints."""
        return asdict(self) | {"losses": [asdict(loss) for loss in self.losses]}


@watch_sources()
def export_dataset(dataset: Path, output: str, options: ExportOptions, *, quiet: bool) -> Exported:
    """Write a dataset back in another format; the file is written atomically.

    Args:
        dataset: What to write back.
        output: File, or folder for the name of the format's convention or where the format is a folder; or its URL in a
            store.
        options: The format, and how it is written.
        quiet: No progress, and no word about rows that cannot be read.

    Raises:
        UsageError: A name is unknown, or the format cannot honour an option.
        Error: The dataset cannot be read, or the file cannot be written.
    """
    if not is_url(output):
        return _export(dataset, output, options, quiet=quiet)
    if options.image_dir is not None:
        raise UsageError("--image-dir: what is written to a URL has its images beside it. Leave it out.")
    is_folder = _is_folder(output, load("mmconvert.formats", options.to))
    if is_folder:
        check_free(output, overwrite=False)
    with _open_output(output.rstrip("/") if is_folder else output) as file:
        done = _export(dataset, f"{file}/" if is_folder else file, options, quiet=quiet)
    return replace(done, output=output if is_folder else f"{output.rpartition('/')[0]}/{Path(done.output).name}")


@contextmanager
def _open_output(url: str) -> Iterator[str]:
    """Give the place on this machine to write to; it, and all in it or beside it, go to the URL, the file last."""
    above, _, name = url.rpartition("/")
    with tempfile.TemporaryDirectory(prefix=build_temporary_prefix()) as folder:
        yield f"{folder}/{name}"
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        for file in sorted(files, key=lambda path: path.parent == Path(folder)):
            send_file(file, f"{above}/{file.relative_to(folder).as_posix()}")


def _export(dataset: Path, output: str, options: ExportOptions, *, quiet: bool) -> Exported:
    folder = _find_config(dataset, options.config_name)
    ours = open_dataset(folder) if (dataset / MANIFEST).is_file() else None
    total = None if ours is None else ours.num_rows
    unhashed = () if ours is None else load("mmconvert.formats", options.to).unhashed
    records = _open_records(folder, ours, options, hashed=Path(output).suffix.lower() not in unhashed)
    choosing = options.where is not None or options.sample is not None
    path, is_folder = _choose_place(output, records, options.to)
    require_apart([path], [dataset])
    if total is not None and path.resolve().is_relative_to(os.path.realpath(str(dataset))):
        raise UsageError(f"{path}: lies in the dataset that is read. Name a file beside it.")
    path.resolve().parent.mkdir(parents=True, exist_ok=True)
    target = Target(path, options.images, options.image_dir, options.columns, options.csv_safe, folder=is_folder)
    workers = options.workers or ENGINE.cores()
    if (
        ours is not None
        and not choosing
        and workers > 1
        and can_split(ours, target, load("mmconvert.formats", options.to))
    ):
        return _export_parts(ours, target, options.to, workers, quiet=quiet)
    with show_progress("export", quiet=quiet) as advance:
        losses = write(_Facts(records, None if choosing else total, advance), target, options.to)
    _show_rejects(records.rejects, quiet=quiet)
    left_out = records.warnings[UNMATCHED], records.warnings[UNDRAWN]
    return Exported(options.to, str(path), records.rows_read, len(records.rejects), losses, *left_out)


def _open_records(folder: Path, ours: Dataset | None, options: ExportOptions, *, hashed: bool) -> Records:
    how: dict[str, Any] = {"where": options.where, "seed": options.seed, "hashed": hashed}
    records = read(folder, None if ours is None else OURS, **how)
    if options.sample is None:
        return records
    bound = find_bound([("", records)], options.sample, options.seed)
    return read(folder, records.format, sample=options.sample, drawn=bound, **how)


def _show_rejects(rejects: Iterable[Rejected], *, quiet: bool) -> None:
    for reject in () if quiet else rejects:
        sys.stderr.write(f"{escape_control(str(reject))}\n")


def _export_parts(dataset: Dataset, target: Target, to: str, workers: int, *, quiet: bool) -> Exported:
    """Write a dataset back by several processes; see `export_parts`."""
    losses: dict[Loss, None] = {}
    rejects: list[Rejected] = []
    rows_read = 0
    # Children are forked where this process has no thread yet, and showing progress takes one.
    with (
        ENGINE.crew(workers) as run,
        open_target(target, to) as (_, place),
        show_progress("export", quiet=quiet) as advance,
    ):
        for written in write_parts(dataset, place, to, run):
            losses |= dict.fromkeys(written.losses)
            rejects += written.rejects
            rows_read += written.rows_read
            advance(Done(rows_read, total=dataset.num_rows))
    _show_rejects(rejects, quiet=quiet)
    return Exported(to, str(target.path), rows_read, len(rejects), list(losses))


class _Facts:
    """Records that tell how many of them were read; writers may iterate more than once."""

    def __init__(self, records: Records, total: int | None, advance: Advance) -> None:
        self._records = records
        self._total = total
        self._advance = advance

    def __iter__(self) -> Iterator[Record]:
        number = 0
        for number, record in enumerate(self._records, 1):
            yield record
            self._advance(Done(number, total=self._total))
        if not number and (left := self._records.warnings[UNMATCHED]):
            raise Error(f"{self._records.where.file}: none of {left:,} rows matches --where. Change the condition.")


def _find_config(dataset: Path, name: str | None) -> Path:
    """Give the folder of the config that is meant; a dataset with only one is its own."""
    if not (dataset / MANIFEST).is_file():
        if name is not None:
            raise UsageError(
                f"{dataset}: is not a dataset created by mmconvert and has no configurations. Leave out --config-name."
            )
        return dataset
    configs = read_manifest(dataset)[0]
    if name is None and len(configs) > 1:
        raise UsageError(f"{dataset}: holds several configs. Name one: --config-name {' or '.join(configs)}.")
    if name is not None and name not in configs:
        message = f"{dataset}: no config {name!r}.{suggest_spelling(name, configs)} Known: {', '.join(configs)}."
        raise UsageError(message)
    return dataset if name is None else dataset / build_config_folder(name)


def _is_folder(output: str, plugin: Format) -> bool:
    return plugin.writes_folder and (output.endswith("/") or Path(output).is_dir() or not Path(output).suffix)


def _choose_place(output: str, records: Records, to: str) -> tuple[Path, bool]:
    """Give the file to write, in a folder the one that the format's convention names; or the folder, and True."""
    plugin: Format = load("mmconvert.formats", to)
    path = Path(output)
    is_folder = _is_folder(output, plugin)
    if not is_folder and not output.endswith("/") and not path.is_dir():
        return path, False
    if (path / MANIFEST).is_file():
        raise UsageError(f"{path}: is a dataset, which holds no other files. Name a file, or another folder.")
    if is_folder:
        return path, True
    first = next(iter(records), None)
    if first is None:
        raise UsageError(f"{records.where.file}: holds no row to name the file by. Name it: -o {path}/NAME.")
    return path / propose_file_name(plugin, to, first), False
