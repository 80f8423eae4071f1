"""What `mmconvert convert` and `mmconvert.convert` do: files by name in, a dataset in a folder or at a URL."""

import contextlib
import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from mmconvert.core.errors import UsageError, show
from mmconvert.core.option_fields import copy_options
from mmconvert.core.progress import Done, show_progress
from mmconvert.core.record import Task
from mmconvert.dataset.card import Origin
from mmconvert.dataset.manifest import DEFAULT_CONFIG
from mmconvert.dataset.publish import check_free, send
from mmconvert.dataset.views import EVAL, ViewName
from mmconvert.images.frame_process import MOST_FRAMES
from mmconvert.kits.vlmevalkit.lmu_download import download_table
from mmconvert.pipeline.benchmark_files import Download
from mmconvert.pipeline.convert import Summary, WriteOptions, convert
from mmconvert.pipeline.inputs import plan_inputs
from mmconvert.pipeline.read import ImageRoot, ReadOptions
from mmconvert.storage.download import download_file
from mmconvert.storage.fetcher import PER_HOST
from mmconvert.storage.http import open_url
from mmconvert.storage.object_store import is_url
from mmconvert.storage.source_files import watch_sources
from mmconvert.storage.temporary import build_temporary_prefix
from mmconvert.storage.url_safety import check_allowed_hosts

_EXCLUSIVE = (("append", "overwrite"), ("share", "append"), ("share", "overwrite"), ("keep_urls", "allow_remote"))


class ConvertOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How files become a dataset: the options of `mmconvert convert` and the keywords of `convert`."""

    format: str | None = None
    """Input format, or file.py@NAME of your own. [default: detected]"""
    image_root: tuple[ImageRoot, ...] = ()
    """Directory that relative image paths start from, or its URL (s3://...)."""
    map: tuple[str, ...] = ()
    """Column (or dotted path) that holds FIELD: image, question, options, answer, id, ...; repeatable."""
    frames: Annotated[int, msgspec.Meta(ge=1, le=MOST_FRAMES)] | None = None
    """Turn each video into N evenly spaced frames."""
    fps: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Turn each video into frames at 0, 1/N, 2/N, ... seconds."""
    frame_format: Literal["jpeg", "png"] = "jpeg"
    """Image format of video frames."""
    split: str | None = None
    """Split that the files become (default: test); a converted dataset keeps its splits."""
    config_name: str = DEFAULT_CONFIG
    """Name of the dataset configuration."""
    subset: tuple[str, ...] = ()
    """Take only these files of a folder, or name the subset of a file."""
    dataset: str | None = None
    """Benchmark name as its framework spells it."""
    task: Task | None = None
    """Task of every sample. [default: detected]"""
    transform: tuple[str, ...] = ()
    """Transform every sample; repeat to chain several."""
    prompt: str | None = None
    """Prompt template of a framework; replaces the last user turn."""
    prompt_suffix: str | None = None
    """Text to append to the last user turn."""
    read_as: str | None = None
    """Emulate the data loader of a framework (as pandas reads the table there); loads the whole table into memory."""
    seed: int = 0
    """Random seed of transforms and of --sample."""
    view: ViewName = EVAL
    """Output layout: evaluation, or training with the answer as assistant turn (sft), prompt and completion,
    preference pairs, or prompts only."""
    limit: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Convert only the first N samples of each file or split; samples of one row stay together."""
    where: str | None = None
    """Convert only samples that match a condition: "task = 'vqa' and width >= 224"."""
    sample: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Convert N random rows, the same for the same --seed. With --where, N of those that match; the input is then
    read twice."""
    on_bad: Literal["reject", "fail"] = "reject"
    """What to do with invalid rows: skip and list them, or fail."""
    rejects: Path | None = None
    """File that lists skipped rows with their reasons. [default: DIR.rejects.jsonl]"""
    allow_empty: bool = False
    """Write a dataset without rows."""
    verify: Literal["structure", "decode"] = "structure"
    """Check image headers and structure only, or decode every image."""
    max_rows: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Maximum number of rows of a file; a larger file is an error."""
    max_image_mb: Annotated[float, msgspec.Meta(gt=0)] = 20.0
    """Maximum size of an image file, in MB."""
    keep_urls: bool = False
    """Keep image URLs as references instead of fetching them."""
    allow_remote: bool = False
    """Download image URLs, https tables and benchmarks, from public hosts only."""
    allow_host: tuple[str, ...] = ()
    """With --allow-remote: also allow this host at a private address; repeatable."""
    per_host: Annotated[int, msgspec.Meta(ge=1)] = PER_HOST
    """With --allow-remote: maximum number of images downloaded from one host at the same time."""
    md5: str | None = None
    """Expected MD5 of the table at an https INPUT."""
    sha256: str | None = None
    """Expected SHA-256 of the table at an https INPUT."""
    workers: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Number of worker processes. [default: one per core for large files]"""
    engine: str = "local"
    """Where workers run: local, or ray for a Ray cluster."""
    append: bool = False
    """Add a split or configuration to the existing dataset."""
    overwrite: bool = False
    """Replace the existing dataset."""
    share: bool = False
    """Share the work: other processes started with the same command convert parts of the same DIR."""
    license: str | None = None
    """License of the data for the dataset card, by its Hub id: mit, cc-by-4.0, other."""
    source: str | None = None
    """Where the data comes from, for the dataset card."""

    def __post_init__(self) -> None:
        """Refuse options that exclude each other.

        Raises:
            UsageError: They do, or the largest size of an image is not a number.
        """
        for one, other in _EXCLUSIVE:
            if getattr(self, one) and getattr(self, other):
                flags = [f"--{name.replace('_', '-')}" for name in (one, other)]
                raise UsageError(f"{flags[0]} and {flags[1]} exclude each other. Leave one out.")
        check_allowed_hosts(self.allow_host, allow_remote=self.allow_remote)
        if not math.isfinite(self.max_image_mb):
            raise UsageError(f"--max-image-mb: expected a number of MiB {show(self.max_image_mb)}.")

    def reading(self) -> ReadOptions:
        """Say how each file is read."""
        return copy_options(
            ReadOptions,
            self,
            image_roots=self.image_root,
            mapping=self.map,
            allow_hosts=self.allow_host,
            transforms=self.transform,
            decode=self.verify == "decode",
            max_image_bytes=int(self.max_image_mb * (1 << 20)),
        )

    def writing(self) -> WriteOptions:
        """Say how the dataset is written."""
        origin = Origin(self.license, self.source)
        fails = self.on_bad == "fail"
        return copy_options(WriteOptions, self, config=self.config_name, fail_on_bad=fails, origin=origin)


def convert_files(
    inputs: Sequence[str],
    output: str,
    options: ConvertOptions,
    *,
    quiet: bool,
    then: Callable[[Path], None] = lambda folder: None,
) -> Summary:
    """Turn files of any known format into one dataset that is written atomically.

    Args:
        inputs: Files, folders, names and URLs as the user writes them.
        output: Folder that shall appear, or its URL.
        options: How to read and write.
        quiet: Print no progress.
        then: Called at the end with the dataset's folder, which goes away afterwards where the output is a URL.

    Raises:
        UsageError: Options exclude each other, or as `mmconvert.pipeline.convert.convert`.
        Error: As there.
        ChangedError: As there.
    """
    download = _build_download(inputs, options, quiet=quiet)
    with _open_output_folder(output, options) as (folder, options):
        with watch_sources():
            planned = plan_inputs(
                inputs,
                split=options.split,
                subsets=options.subset,
                download=download,
                # Whoever reads a split alone knows when to stop.
                whole_splits=options.limit is not None,
            )
            with show_progress("convert", quiet=quiet) as advance:
                facts = None if quiet else lambda rows, size, share: advance(Done(rows, size, share=share))
                summary = convert(planned, folder, options.reading(), options.writing(), facts)
        if is_url(output):
            send(folder, output)
            summary.output = output
        then(folder)
    return summary


@contextlib.contextmanager
def _open_output_folder(output: str, options: ConvertOptions) -> Iterator[tuple[Path, ConvertOptions]]:
    """Give the folder on this machine that a dataset is written into, and how; for a URL one that goes away."""
    if not is_url(output):
        yield Path(output), options
        return
    if options.share:
        message = "--share: the processes meet beside the output, on a disk that all of them see. Name a folder."
        raise UsageError(message)
    if options.append:
        raise UsageError("--append: a store has no dataset that could be added to in one step. Convert it whole.")
    check_free(output, overwrite=options.overwrite)
    name = output.rstrip("/").rpartition("/")[2]
    rejects = options.rejects or Path(f"{name}.rejects.jsonl")
    with tempfile.TemporaryDirectory(prefix=build_temporary_prefix()) as folder:
        yield Path(folder, name), msgspec.structs.replace(options, rejects=rejects)


def _build_download(inputs: Sequence[str], options: ConvertOptions, *, quiet: bool) -> Download | None:
    """Give what fetches tables; None where nothing may be fetched."""
    checked = options.md5 or options.sha256
    if checked and not (options.allow_remote and len(inputs) == 1 and "://" in inputs[0]):
        raise UsageError("--md5 and --sha256 check the one table that --allow-remote fetches.")
    if not options.allow_remote:
        return None
    sums = {"md5": options.md5, "sha256": options.sha256} if checked else {}
    opened = partial(open_url, hosts=options.allow_host)

    def download(url: str, *, place: Path | None = None, **more: str | None) -> Path:
        with show_progress("download", quiet=quiet) as advance:
            if place is not None:
                own = {kind: value for kind, value in more.items() if value}
                download_file(url, place, own, open_url=opened, advance=advance)
                return place
            return download_table(url, **{**more, **sums}, open_url=opened, advance=advance)

    return download
