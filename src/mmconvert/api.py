"""The verbs of the command line as functions: convert, check, export, push, verify; and what they read and write."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from mmconvert.cli.convert import convert as convert_command
from mmconvert.cli.convert import converted
from mmconvert.cli.export import Exported, exported
from mmconvert.cli.export import export as export_command
from mmconvert.cli.preview import ROWS, previewed
from mmconvert.cli.push import publish
from mmconvert.console.app import context, option_values
from mmconvert.core.errors import Error, UsageError, got
from mmconvert.core.progress import progress
from mmconvert.core.record import Record
from mmconvert.core.signature_checks import python_call
from mmconvert.dataset.card import Origin
from mmconvert.dataset.dataset import Dataset
from mmconvert.dataset.dataset import open_dataset as _open_dataset
from mmconvert.dataset.verify import verify as find_faults
from mmconvert.pipeline.check import Checked
from mmconvert.pipeline.check import check as find_problems
from mmconvert.pipeline.convert import Summary
from mmconvert.pipeline.inputs import plan
from mmconvert.pipeline.read import ReadOptions
from mmconvert.storage.object_store import local
from mmconvert.viewer.preview import Previewed

__all__ = [
    "Checked",
    "Dataset",
    "Error",
    "Exported",
    "Previewed",
    "Record",
    "Summary",
    "UsageError",
    "check",
    "convert",
    "export",
    "open_dataset",
    "preview",
    "push",
    "verify",
]

FilePath = str | Path
Several = str | Sequence[str]


class ConvertOptions(TypedDict, total=False):
    """Keywords of `convert`: the options of `mmconvert convert` by their names."""

    format: str | None
    image_root: FilePath | Sequence[FilePath]
    split: str | None
    config_name: str
    subset: Several
    dataset: str | None
    task: str | None
    transform: Several
    prompt: str | None
    prompt_suffix: str | None
    read_as: str | None
    seed: int
    view: str
    limit: int | None
    on_bad: Literal["reject", "fail"]
    rejects: FilePath | None
    allow_empty: bool
    verify: Literal["structure", "decode"]
    max_rows: int | None
    max_image_mb: float
    keep_urls: bool
    allow_remote: bool
    md5: str | None
    sha256: str | None
    workers: int | None
    engine: str
    append: bool
    overwrite: bool
    share: bool
    license: str | None
    source: str | None


class ExportOptions(TypedDict, total=False):
    """Keywords of `export`: the options of `mmconvert export` by their names."""

    images: Literal["inline", "files", "original"] | None
    image_dir: FilePath | None
    config_name: str | None
    columns: str | None
    csv_safe: bool


@python_call
def convert(
    inputs: FilePath | Sequence[FilePath],
    output: FilePath,
    *,
    quiet: bool = True,
    **options: Unpack[ConvertOptions],
) -> Summary:
    """Turn files of any known format into one dataset that appears whole or not at all.

    Args:
        inputs: Files, folders of files of one format, `split=PATH`, bare dataset names, URLs.
        output: Folder that shall appear, or its URL in a store.
        quiet: No progress on standard error.
        **options: Options of `mmconvert convert` by their names, as `image_root="pictures"`; several values as a list.

    Returns:
        Counts, the place of the dataset and of the refused rows. Refused rows raise nothing: see `rows_rejected`.

    Raises:
        UsageError: An option is unknown or excludes another, a path is missing, or the output stands already.
        Error: A file was refused, or every row was; nothing is published.

    Example:
        >>> convert("missing.tsv", "out")
        Traceback (most recent call last):
        mmconvert.core.errors.UsageError: missing.tsv: no such file or folder. See what is there: ls .
        >>> convert("missing.tsv", "out", fromat="lmudata")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        mmconvert.core.errors.UsageError: convert: no option 'fromat'. Did you mean format? ...
    """
    names = _names(inputs)
    given = _given(convert_command, {**options}, ["-o", str(output), "--", *names])
    return converted(names, str(output), given, quiet=quiet)


@python_call
def check(
    inputs: FilePath | Sequence[FilePath],
    *,
    format: str | None = None,
    image_root: FilePath | Sequence[FilePath] = (),
    quiet: bool = True,
) -> Checked:
    """Name every problem of files with file, row, field and what to do; writes nothing.

    Args:
        inputs: As `convert`.
        format: Format of the files; None to recognise each by its content.
        image_root: Folders of relative picture paths; () for each file's own folder.
        quiet: No progress on standard error.

    Raises:
        UsageError: A path is missing or the format unknown.
    """
    roots = tuple(_names(image_root))
    how = ReadOptions(format=format, image_roots=roots, decode=True, every_problem=True)
    with progress("check", quiet=quiet) as advance:
        return find_problems(plan(_names(inputs)), how, advance)


@python_call
def export(
    dataset: FilePath,
    output: FilePath,
    *,
    to: str,
    quiet: bool = True,
    **options: Unpack[ExportOptions],
) -> Exported:
    """Write a dataset back in another format; the file appears whole or not at all.

    Args:
        dataset: A converted dataset, or a file of any known format.
        output: File to write, or a folder (or `FOLDER/`) for the name of the format's convention.
        to: Format to write; see `mmconvert list formats`.
        quiet: Nothing on standard error.
        **options: Options of `mmconvert export` by their names.

    Returns:
        Where the file is, and `losses`: what the format could not hold, row by row.

    Raises:
        UsageError: A name is unknown, or the format cannot honour an option.
        Error: The dataset cannot be read, or the file cannot be written.
    """
    given = _given(export_command, {**options, "to": to}, ["-o", str(output), "--", str(dataset)])
    return exported(local(dataset), str(output), given, quiet=quiet)


@python_call
def preview(
    inputs: FilePath | Sequence[FilePath],
    output: FilePath,
    *,
    rows: int = ROWS,
    format: str | None = None,
    image_root: FilePath | Sequence[FilePath] = (),
    transform: Several = (),
    prompt: str | None = None,
    prompt_suffix: str | None = None,
    seed: int = 0,
    keep_urls: bool = False,
    quiet: bool = True,
) -> Previewed:
    """Show rows on one HTML page, as a model sees them, with their pictures and problems.

    Args:
        inputs: As `convert`.
        output: The page; one that stands there is replaced.
        rows: Most rows to show, the first ones of each split or subset.
        format: Format of the files; None to recognise each by its content.
        image_root: Folders of relative picture paths; () for each file's own folder.
        transform: Steps for every record, as in `convert`.
        prompt: Wording of a kit, as in `convert`.
        prompt_suffix: Text behind the last user turn.
        seed: Seed of what transforms draw.
        keep_urls: Name pictures at addresses instead of refusing their rows.
        quiet: No progress on standard error.

    Returns:
        What the page shows. Refused rows raise nothing: the page names them, and `refused` counts them.

    Raises:
        UsageError: A name is unknown, or a path is missing.
        Error: The only file would be refused as a whole; there is no page.
    """
    if type(rows) is not int or rows < 1:
        raise UsageError(f"preview: rows is a whole number from 1 {got(rows)}.")
    how = ReadOptions(
        format=format,
        image_roots=tuple(_names(image_root)),
        transforms=tuple(_names(transform)),
        prompt=prompt,
        prompt_suffix=prompt_suffix,
        seed=seed,
        keep_urls=keep_urls,
    )
    return previewed(_names(inputs), Path(output), how, rows=rows, quiet=quiet)


@python_call
def push(
    folder: FilePath,
    repo_id: str,
    *,
    private: bool = False,
    revision: str | None = None,
    create_pr: bool = False,
    dry_run: bool = False,
    license: str | None = None,
    source: str | None = None,
    quiet: bool = True,
) -> dict[str, Any]:
    """Publish a converted dataset on the Hub, after every byte and picture was checked.

    Args:
        folder: The dataset.
        repo_id: `USER/REPO`.
        private: Make the repository private.
        revision: Branch to commit to, made where it is missing; None for the main one.
        create_pr: Propose the upload as a pull request.
        dry_run: Check everything and send nothing.
        license: Licence for the card, by the Hub's name of it; None for what the cards here and there say.
        source: Address of where the data come from, or the Hub id of a dataset; None as for `license`.
        quiet: No progress on standard error.

    Returns:
        What `mmconvert push --json` prints, such as `url`, `rows` and `bytes`.

    Raises:
        UsageError: The name or the folder is wrong.
        Error: The dataset or the Hub refuses.
    """
    wishes: dict[str, Any] = {"private": private, "revision": revision, "create_pr": create_pr, "dry_run": dry_run}
    return publish(Path(folder), repo_id, quiet=quiet, origin=Origin(license, source), **wishes)


@python_call
def verify(dataset: FilePath, *, quiet: bool = True) -> list[str]:
    """Re-read every byte of a dataset against its manifest.

    Args:
        dataset: Its folder, its name on the Hub, or its URL in a store.
        quiet: No progress on standard error.

    Returns:
        One sentence for each fault; [] when all is well.

    Raises:
        UsageError: Nothing stands there.
        Error: There is no manifest to compare with, or the store failed.
    """
    with progress("verify", quiet=quiet) as advance:
        return find_faults(dataset, advance)


open_dataset = python_call(_open_dataset)


def _names(given: FilePath | Sequence[FilePath]) -> list[str]:
    return [str(given)] if isinstance(given, str | Path) else [str(name) for name in given]


def _given(command: Any, options: dict[str, Any], arguments: list[str]) -> dict[str, Any]:
    """Read keywords as the command reads its options."""
    plain = {key: list(value) if isinstance(value, tuple) else value for key, value in options.items()}
    values = option_values(command, plain, str(command.name))
    return dict(context(command, arguments, values).params)
