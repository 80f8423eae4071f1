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
from mmconvert.pipeline.convert import Summary, WriteOptions, convert
from mmconvert.pipeline.inputs import plan_inputs
from mmconvert.pipeline.read import ImageRoot, ReadOptions
from mmconvert.storage.http import open_url
from mmconvert.storage.object_store import is_url
from mmconvert.storage.source_files import watch_sources
from mmconvert.storage.temporary import build_temporary_prefix
from mmconvert.storage.url_safety import check_allowed_hosts

_EXCLUSIVE = (("append", "overwrite"), ("share", "append"), ("share", "overwrite"), ("keep_urls", "allow_remote"))


class ConvertOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How files become a dataset: the options of `mmconvert convert` and the keywords of `convert`."""

    format: str | None = None
    """Format, or file.py@NAME; guessed from the content by default."""
    image_root: tuple[ImageRoot, ...] = ()
    """Folder of relative picture paths, or its URL in a store."""
    map: tuple[str, ...] = ()
    """FIELD=COLUMN: where a table's own columns hold image, question, options, answer, ..."""
    frames: Annotated[int, msgspec.Meta(ge=1, le=MOST_FRAMES)] | None = None
    """Show N frames of each video, evenly spaced."""
    fps: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Show the frames of each video at 0, 1/N, 2/N, ... seconds."""
    frame_format: Literal["jpeg", "png"] = "jpeg"
    """How frames of videos are stored."""
    split: str | None = None
    """Split name of files (default: test); a dataset of ours brings its own."""
    config_name: str = DEFAULT_CONFIG
    """Config name."""
    subset: tuple[str, ...] = ()
    """Only these files of a folder; or the file's subset."""
    dataset: str | None = None
    """Benchmark name, as its kit spells it."""
    task: Task | None = None
    """Task of every record."""
    transform: tuple[str, ...] = ()
    """Step for every record; repeat in order."""
    prompt: str | None = None
    """How a kit words the question: new last user turn."""
    prompt_suffix: str | None = None
    """Text behind the last user turn."""
    read_as: str | None = None
    """Read as lossily as this kit, for parity; takes the whole table into memory."""
    seed: int = 0
    """Seed of what transforms draw."""
    view: ViewName = EVAL
    """Lay rows out for training: the answer as the assistant's turn, as prompt and completion, pairs, prompts alone."""
    limit: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Stop after N records of each file, or of each split of a dataset; what one row gives is kept together."""
    on_bad: Literal["reject", "fail"] = "reject"
    """Refused rows."""
    rejects: Path | None = None
    """Refused rows (default DIR.rejects.jsonl)."""
    allow_empty: bool = False
    """Publish a dataset without rows."""
    verify: Literal["structure", "decode"] = "structure"
    """How far each picture is checked: its parts alone, or every pixel."""
    max_rows: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Refuse a file with more rows."""
    max_image_mb: Annotated[float, msgspec.Meta(gt=0)] = 20.0
    """Largest picture."""
    keep_urls: bool = False
    """Keep http(s) pictures as references."""
    allow_remote: bool = False
    """Fetch http(s) pictures and https tables, from public hosts only."""
    allow_host: tuple[str, ...] = ()
    """With --allow-remote: NAME[:PORT] of a host that may be at a private address."""
    md5: str | None = None
    """MD5 that the table of an https INPUT must have."""
    sha256: str | None = None
    """SHA-256 that the table of an https INPUT must have."""
    workers: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Processes (default: one a core, where the files are large enough)."""
    engine: str = "local"
    """Where they run: local, ray (a Ray cluster)."""
    append: bool = False
    """Add a split or config to the dataset that stands there."""
    overwrite: bool = False
    """Replace the dataset that stands there."""
    share: bool = False
    """Let other processes that are started so convert parts of the same DIR."""
    license: str | None = None
    """Licence for the card, by the Hub's name: mit, cc-by-4.0, other."""
    source: str | None = None
    """Where the data come from, for the card."""

    def __post_init__(self) -> None:
        """Refuse options that exclude each other.

        Raises:
            UsageError: They do, or the largest size of a picture is no number.
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
    """Turn files of any known format into one dataset that appears whole or not at all.

    Args:
        inputs: Files, folders, names and URLs as the user writes them.
        output: Folder that shall appear, or its URL.
        options: How to read and write.
        quiet: No progress.
        then: Called at the end with the dataset's folder, which goes away afterwards where the output is a URL.

    Raises:
        UsageError: Options exclude each other, or as `mmconvert.pipeline.convert.convert`.
        Error: As there.
        ChangedError: As there.
    """
    download = _download(inputs, options)
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


def _download(inputs: Sequence[str], options: ConvertOptions) -> Callable[[str], Path] | None:
    checked = options.md5 or options.sha256
    if checked and not (options.allow_remote and len(inputs) == 1 and "://" in inputs[0]):
        raise UsageError("--md5 and --sha256 check the one table that --allow-remote fetches.")
    if not options.allow_remote:
        return None
    opened = partial(open_url, hosts=options.allow_host)
    return partial(download_table, md5=options.md5, sha256=options.sha256, open_url=opened)
