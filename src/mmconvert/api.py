"""The verbs of the command line as functions: convert, check, export, push, verify; and what they read and write."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypedDict, TypeVar, Unpack

from msgspec.structs import replace

from mmconvert.benchmarks.catalogue import Benchmark
from mmconvert.benchmarks.catalogue import list_benchmarks as find_benchmarks
from mmconvert.chat.learnt_text import Loss
from mmconvert.core.errors import Error, UsageError, show
from mmconvert.core.notebook import DISPLAYS
from mmconvert.core.option_fields import build_options
from mmconvert.core.progress import show_progress
from mmconvert.core.record import Record, Task
from mmconvert.core.signature_checks import check_python_call
from mmconvert.curation.dedupe import Deduped, DedupeOptions, dedupe_dataset
from mmconvert.curation.fingerprints import Fingerprinted, FingerprintOptions, write_fingerprints
from mmconvert.curation.mix import Mixed, MixKeywords, MixOptions, mix_datasets
from mmconvert.curation.overlap import Overlap, OverlapOptions
from mmconvert.curation.split import SplitKeywords, SplitOptions, SplitResult, split_dataset
from mmconvert.curation.stats import DatasetStatistics, StatsOptions, compute_stats
from mmconvert.dataset.dataset import Dataset
from mmconvert.dataset.dataset import open_dataset as _open_dataset
from mmconvert.dataset.publish import Pushed, PushOptions, publish
from mmconvert.dataset.verify import verify as find_faults
from mmconvert.dataset.views import ViewName
from mmconvert.pipeline.check import Checked, check_files
from mmconvert.pipeline.convert import Summary
from mmconvert.pipeline.convert_files import ConvertOptions, convert_files
from mmconvert.pipeline.export import Exported, ExportOptions, export_dataset
from mmconvert.pipeline.inspect import Inspected, inspect_files
from mmconvert.pipeline.objects import Data, Inputs, open_inputs
from mmconvert.pipeline.read import FileOptions
from mmconvert.plugins.format import ImagePlacement
from mmconvert.plugins.listing import ListedPlugin
from mmconvert.plugins.listing import list_plugins as find_plugins
from mmconvert.storage.object_store import find_local
from mmconvert.viewer.notebook import format_dataset, format_preview, format_record
from mmconvert.viewer.overlap import check_overlap
from mmconvert.viewer.preview import Previewed, PreviewOptions, preview_files
from mmconvert.viewer.stats_page import format_stats, require_page, write_stats_page

__all__ = [
    "Benchmark",
    "Checked",
    "Dataset",
    "DatasetStatistics",
    "Deduped",
    "Error",
    "Exported",
    "Fingerprinted",
    "Inspected",
    "ListedPlugin",
    "Mixed",
    "Overlap",
    "Previewed",
    "Record",
    "SplitResult",
    "Summary",
    "UsageError",
    "check",
    "convert",
    "dedupe",
    "export",
    "fingerprint",
    "inspect",
    "list_benchmarks",
    "list_plugins",
    "mix",
    "open_dataset",
    "overlap",
    "preview",
    "push",
    "split",
    "stats",
    "verify",
]

DISPLAYS.update(
    {Record: format_record, Dataset: format_dataset, Previewed: format_preview, DatasetStatistics: format_stats}
)

Asked = TypeVar("Asked", ConvertOptions, FileOptions, PreviewOptions)
FilePath = str | Path
Given = FilePath | Sequence[FilePath] | Data
"""Paths, or data in memory."""

Several = str | Sequence[str]


class FileKeywords(TypedDict, total=False):
    """Keywords of `check` and `inspect`: the fields of `FileOptions`, as a caller may write them."""

    format: str | None
    image_root: FilePath | Sequence[FilePath]
    map: Several
    frames: int | None
    fps: float | None
    frame_format: Literal["jpeg", "png"]


class ConvertKeywords(FileKeywords, total=False):
    """Keywords of `convert`: the fields of `ConvertOptions`."""

    split: str | None
    config_name: str
    subset: Several
    dataset: str | None
    task: Task | None
    transform: Several
    prompt: str | None
    prompt_suffix: str | None
    read_as: str | None
    seed: int
    view: ViewName
    limit: int | None
    where: str | None
    sample: int | None
    on_bad: Literal["reject", "fail"]
    rejects: FilePath | None
    allow_empty: bool
    verify: Literal["structure", "decode"]
    max_rows: int | None
    max_image_mb: float
    keep_urls: bool
    allow_remote: bool
    allow_host: Several
    per_host: int
    md5: str | None
    sha256: str | None
    workers: int | None
    engine: str
    append: bool
    overwrite: bool
    share: bool
    license: str | None
    source: str | None


class ExportKeywords(TypedDict, total=False):
    """Keywords of `export` beside `to`: the fields of `ExportOptions`."""

    images: ImagePlacement | None
    image_dir: FilePath | None
    config_name: str | None
    where: str | None
    sample: int | None
    seed: int
    columns: str | None
    csv_safe: bool
    workers: int | None


class PreviewKeywords(FileKeywords, total=False):
    """Keywords of `preview`: the fields of `PreviewOptions`."""

    rows: int
    sample: int | None
    transform: Several
    prompt: str | None
    prompt_suffix: str | None
    seed: int
    keep_urls: bool
    loss: Loss | None
    processor: str | None


class PushKeywords(TypedDict, total=False):
    """Keywords of `push`: the fields of `PushOptions`."""

    private: bool
    revision: str | None
    create_pr: bool
    dry_run: bool
    license: str | None
    source: str | None
    eval_yaml: bool


class FingerprintKeywords(TypedDict, total=False):
    """Keywords of `fingerprint`: the fields of `FingerprintOptions`."""

    workers: int | None
    engine: str


class DedupeKeywords(FingerprintKeywords, total=False):
    """Keywords of `dedupe`: the fields of `DedupeOptions`."""

    near: bool
    by: Literal["image", "text", "both"]
    distance: int
    similarity: float
    overwrite: bool


class OverlapKeywords(FingerprintKeywords, total=False):
    """Keywords of `overlap` beside `output`: the fields of `OverlapOptions`."""

    fingerprints: FilePath | Sequence[FilePath]
    near: bool
    exact: bool
    distance: int
    similarity: float
    min_words: int
    allow_remote: bool
    allow_host: Several
    html: FilePath | None
    drop: bool
    overwrite: bool


@check_python_call(options=ConvertOptions)
def convert(
    inputs: FilePath | Sequence[FilePath] | Data,
    output: FilePath,
    *,
    quiet: bool = True,
    **options: Unpack[ConvertKeywords],
) -> Summary:
    """Turn files of any known format into one dataset that is written atomically.

    Args:
        inputs: Files, folders of files of one format, `split=PATH`, bare dataset names, URLs. Or data in memory: a
            `datasets.Dataset`, a DataFrame, an Arrow table, a list of dicts, or a dict of these by split; relative
            paths in them begin in the current folder.
        output: Folder that shall appear, or its URL in a store.
        quiet: No progress on standard error.
        **options: Listed here by the decorator; several values as a list.

    Returns:
        Counts, the place of the dataset and of the skipped rows. Refused rows raise nothing: see `rows_rejected`.

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
    asked = build_options(ConvertOptions, options, "convert")
    with open_inputs(inputs, "convert", format=asked.format, mapping=asked.map) as files:
        return convert_files(_list_names(files, asked.split), str(output), _place(asked, files), quiet=quiet)


@check_python_call(options=FileOptions)
def check(inputs: Given, *, quiet: bool = True, **options: Unpack[FileKeywords]) -> Checked:
    """Name every problem of files with file, row, field and what to do; writes nothing.

    Args:
        inputs: As `convert`.
        quiet: No progress on standard error.
        **options: Listed here by the decorator.

    Raises:
        UsageError: A path is missing or the format unknown.
    """
    asked = build_options(FileOptions, options, "check")
    with open_inputs(inputs, "check", format=asked.format, mapping=asked.map) as files:
        return check_files(files.names, _place(asked, files), quiet=quiet)


@check_python_call(options=FileOptions)
def inspect(path: Given, **options: Unpack[FileKeywords]) -> list[Inspected]:
    """Show the detected format of a file, its columns, counts and first samples; write nothing.

    Args:
        path: One of the inputs of `convert`; a folder has several files.
        **options: Listed here by the decorator.

    Returns:
        What each file is.

    Raises:
        UsageError: The path is missing or the format unknown.
        Error: The format cannot be told, or a file is damaged.
    """
    asked = build_options(FileOptions, options, "inspect")
    with open_inputs(path, "inspect", format=asked.format, mapping=asked.map) as files:
        return [found for name in files.names for found in inspect_files(name, _place(asked, files))]


class StatsKeywords(TypedDict, total=False):
    """Keywords of `stats`: the fields of `StatsOptions`."""

    split: str | None
    config_name: str | None
    processor: str | None
    context: int | None
    workers: int | None
    engine: str


@check_python_call(options=ExportOptions)
def export(
    dataset: FilePath, output: FilePath, *, to: str, quiet: bool = True, **options: Unpack[ExportKeywords]
) -> Exported:
    """Write a dataset back in another format; the file is written atomically.

    Args:
        dataset: A converted dataset, or a file of any known format.
        output: File to write, or a folder (or `FOLDER/`) for the name of the format's convention.
        to: Format to write; see `mmconvert list formats`.
        quiet: Nothing on standard error.
        **options: Listed here by the decorator.

    Returns:
        Where the file is, and `losses`: what the format could not hold, row by row.

    Raises:
        UsageError: A name is unknown, or the format cannot honour an option.
        Error: The dataset cannot be read, or the file cannot be written.
    """
    asked = build_options(ExportOptions, {**options, "to": to}, "export")
    return export_dataset(find_local(dataset), str(output), asked, quiet=quiet)


@check_python_call(options=PreviewOptions)
def preview(
    inputs: FilePath | Sequence[FilePath] | Data,
    output: FilePath,
    *,
    quiet: bool = True,
    **options: Unpack[PreviewKeywords],
) -> Previewed:
    """Show rows on one HTML page, as a model sees them, with their images and problems.

    Args:
        inputs: As `convert`.
        output: The page; an existing one is replaced.
        quiet: No progress on standard error.
        **options: Listed here by the decorator.

    Returns:
        What the page shows. Refused rows raise nothing: the page names them, and `refused` counts them.

    Raises:
        UsageError: A name is unknown, or a path is missing.
        Error: The only file would be refused as a whole; there is no page.
    """
    rows = options.get("rows", 1)
    if type(rows) is not int or rows < 1:
        raise UsageError(f"preview: rows is a whole number from 1 {show(rows)}.")
    asked = build_options(PreviewOptions, options, "preview")
    with open_inputs(inputs, "preview", format=asked.format, mapping=asked.map) as files:
        return preview_files(files.names, Path(output), _place(asked, files), quiet=quiet)


@check_python_call(options=MixOptions)
def mix(
    sources: FilePath | Sequence[FilePath], output: FilePath, *, quiet: bool = True, **options: Unpack[MixKeywords]
) -> Mixed:
    """Mix datasets into one by weights; it is written atomically.

    Args:
        sources: `[NAME=]DATASET[:WEIGHT]` each, or a YAML file that lists datasets as LLaVA-OneVision does.
        output: Folder that shall appear, or its URL.
        quiet: No progress on standard error.
        **options: Listed here by the decorator.

    Returns:
        What was taken of each source.

    Raises:
        UsageError: A source is missing or named twice, weights make no sense, or the output stands already.
        Error: Sources have different layouts, or one is damaged.
    """
    given = [sources] if isinstance(sources, str | Path) else sources
    return mix_datasets([*map(str, given)], str(output), build_options(MixOptions, options, "mix"), quiet=quiet)


@check_python_call(options=SplitOptions)
def split(
    dataset: FilePath, output: FilePath, *, split_ratio: str, quiet: bool = True, **options: Unpack[SplitKeywords]
) -> SplitResult:
    """Divide a dataset into splits that have no image in common; it is written atomically.

    Args:
        dataset: A converted dataset: its folder, its URL, or its id on the Hub.
        output: Folder that shall appear, or its URL.
        split_ratio: Splits to write and the share of rows of each: `train=0.98,val=0.02`.
        quiet: No progress on standard error.
        **options: Listed here by the decorator.

    Returns:
        What every split has, and the largest group of rows that stay together.

    Raises:
        UsageError: Ratios make no sense, a split gets no row, the dataset was not created by mmconvert or has several
            splits of which none is named, or the output exists.
        Error: The dataset is damaged.
    """
    asked = build_options(SplitOptions, {**options, "split_ratio": split_ratio}, "split")
    return split_dataset(dataset, str(output), asked, quiet=quiet)


@check_python_call(options=PushOptions)
def push(folder: FilePath, repo_id: str, *, quiet: bool = True, **options: Unpack[PushKeywords]) -> Pushed:
    """Publish a converted dataset on the Hub, after every byte and image was checked.

    Args:
        folder: The dataset.
        repo_id: `USER/REPO`.
        quiet: No progress on standard error.
        **options: Listed here by the decorator; licence and source that are None stay as the card there has them.

    Returns:
        What `mmconvert push --json` prints, such as `url`, `rows` and `bytes`.

    Raises:
        UsageError: The name or the folder is wrong.
        Error: The dataset or the Hub refuses.
    """
    return publish(Path(folder), repo_id, build_options(PushOptions, options, "push"), quiet=quiet)


@check_python_call(options=StatsOptions)
def stats(
    dataset: FilePath, *, html: FilePath | None = None, quiet: bool = True, **options: Unpack[StatsKeywords]
) -> DatasetStatistics:
    """Count a dataset in one pass: samples, images, sizes, turns, lengths, answers, missing and repeated values.

    Args:
        dataset: A converted dataset: its folder, its name on the Hub, or its URL in a store; or a predictions file.
        html: Page to write, with charts; an existing one is replaced.
        quiet: No progress on standard error.
        **options: Listed here by the decorator.

    Returns:
        The counts; in a notebook they show themselves as tables and charts.

    Raises:
        UsageError: Nothing stands there, or a name is unknown.
        Error: The dataset is damaged, or was not created by mmconvert.
    """
    if html is not None:
        require_page(Path(html))
    found = compute_stats(dataset, build_options(StatsOptions, options, "stats"), quiet=quiet)
    if html is not None:
        write_stats_page(found, Path(html))
    return found


@check_python_call(options=DedupeOptions)
def dedupe(dataset: FilePath, output: FilePath, *, quiet: bool = True, **options: Unpack[DedupeKeywords]) -> Deduped:
    """Write a dataset without its duplicates; of each group the first sample stays.

    Args:
        dataset: A converted dataset: its folder, its URL, or its id on the Hub.
        output: Folder that shall appear, or its URL in a store.
        quiet: No progress on standard error.
        **options: Listed here by the decorator.

    Returns:
        Counts, and the groups of duplicates with the sample that stays.

    Raises:
        UsageError: The dataset does not exist or was not created by mmconvert, or the output exists.
        Error: The dataset is damaged.
    """
    return dedupe_dataset(dataset, str(output), build_options(DedupeOptions, options, "dedupe"), quiet=quiet)


@check_python_call(options=OverlapOptions)
def overlap(
    train: FilePath,
    benchmarks: FilePath | Sequence[FilePath] = (),
    output: FilePath | None = None,
    *,
    quiet: bool = True,
    **options: Unpack[OverlapKeywords],
) -> Overlap:
    """Find samples of benchmarks in a training set, by their images and by their questions.

    Args:
        train: A converted dataset: its folder, its URL, or its id on the Hub.
        benchmarks: Datasets likewise, files of fingerprints, or whatever `convert` reads, such as names of benchmarks.
        output: With `drop`: folder for the training set without the found samples, or its URL in a store.
        quiet: No progress on standard error.
        **options: Listed here by the decorator.

    Returns:
        What was found of each benchmark, and the pairs.

    Raises:
        UsageError: A dataset is missing, two benchmarks have one name, or options do not fit.
        Error: A dataset is damaged.
    """
    asked = build_options(OverlapOptions, options, "overlap")
    names = [benchmarks] if isinstance(benchmarks, str | Path) else benchmarks
    return check_overlap(train, names, None if output is None else str(output), asked, quiet=quiet)


@check_python_call(options=FingerprintOptions)
def fingerprint(
    datasets: FilePath | Sequence[FilePath],
    output: FilePath,
    *,
    quiet: bool = True,
    **options: Unpack[FingerprintKeywords],
) -> Fingerprinted:
    """Write hashes of the images and questions of datasets into one file, without their content.

    Args:
        datasets: Converted datasets: folders, URLs or ids on the Hub.
        output: The parquet file; an existing one is replaced.
        quiet: No progress on standard error.
        **options: Listed here by the decorator.

    Raises:
        UsageError: A dataset is missing, two have one name, or the file cannot be written there.
        Error: A dataset is damaged, or not created by mmconvert.
    """
    asked = build_options(FingerprintOptions, options, "fingerprint")
    names = [datasets] if isinstance(datasets, str | Path) else datasets
    return write_fingerprints(names, Path(output), asked, quiet=quiet)


@check_python_call
def verify(dataset: FilePath, *, quiet: bool = True) -> list[str]:
    """Check every byte of a dataset against its manifest.

    Args:
        dataset: Its folder, its name on the Hub, or its URL in a store.
        quiet: No progress on standard error.

    Returns:
        One sentence for each fault; [] when all is well.

    Raises:
        UsageError: Nothing stands there.
        Error: There is no manifest to compare with, or the store failed.
    """
    with show_progress("verify", quiet=quiet) as advance:
        return find_faults(dataset, advance)


@check_python_call
def list_plugins(kind: str | None = None, words: Several = ()) -> dict[str, list[ListedPlugin]]:
    """List the formats and other plug-ins by kind, as `mmconvert list` does.

    Args:
        kind: formats, readings, prompts, transforms or engines, or one more word; None for all.
        words: Those alone that have all of them in name or summary.

    Returns:
        Kind -> its plug-ins: name, what it is, and who brought it.

    Raises:
        UsageError: There is no such kind, or nothing with all the words.
    """
    return find_plugins("mmconvert", kind, [words] if isinstance(words, str) else words)


@check_python_call
def list_benchmarks(words: Several = ()) -> list[Benchmark]:
    """List the benchmarks that `convert` takes by name, as `mmconvert list benchmarks` does.

    Args:
        words: Those alone that have all of them in name, place or recipe.

    Returns:
        The benchmarks by framework and name: where the data is, how it is prompted, and the recipe that scores it.

    Raises:
        UsageError: None has all the words.
    """
    return find_benchmarks([words] if isinstance(words, str) else words)


open_dataset = check_python_call(_open_dataset)


def _list_names(files: Inputs, split: str | None) -> list[str]:
    """Name inputs; the caller's split counts before that of data in memory."""
    return files.names if split is None else [path for _, path in files.paths]


def _place(options: Asked, files: Inputs) -> Asked:
    """Let relative paths of data in memory begin in the current folder."""
    return replace(options, image_root=(".",)) if files.in_memory and not options.image_root else options
