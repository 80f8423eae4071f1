"""The pipeline from files to a dataset and back, and the only door to formats for other packages.

`read` gives records of any known file, `write` writes records in any format, `convert` and `export`
publish whole outputs. A row that is refused is kept with its reason; the others go on.
"""

import contextlib
import json
import os
import shlex
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from msgspec.structs import asdict, replace

from mmconvert._version import __version__
from mmconvert.core.errors import MAKE_ROOM, Error, UsageError, is_no_room, suggest_spelling
from mmconvert.core.extras import require_extra
from mmconvert.core.record import Record, keep_chosen
from mmconvert.core.rows import Rejected
from mmconvert.core.run_cache import begin_run
from mmconvert.dataset.card import Origin
from mmconvert.dataset.dataset import DatasetWriter
from mmconvert.dataset.manifest import DEFAULT_CONFIG, MANIFEST, read_manifest
from mmconvert.dataset.views import EVAL, PREFERENCE, VIEWS
from mmconvert.pipeline import parts
from mmconvert.pipeline.distributed import clear, hold_alone, join
from mmconvert.pipeline.engines import Engine, Run
from mmconvert.pipeline.inputs import Input, describe_input
from mmconvert.pipeline.part_writer import Told, follow_progress
from mmconvert.pipeline.read import UNDRAWN, UNMATCHED, ReadOptions, Records, build_too_long_error
from mmconvert.pipeline.rejects import choose_rejects_path, write_rejects
from mmconvert.pipeline.sampling import find_bound
from mmconvert.plugins.format import Format, Loss, Target, require_honoured
from mmconvert.plugins.registry import load
from mmconvert.storage.atomic import open_published_file, open_published_folder, require_folder
from mmconvert.storage.locks import occupied
from mmconvert.storage.object_store import find_local
from mmconvert.storage.source_files import (
    FILE,
    ChangedError,
    Sources,
    read_content_stamp,
    require_unchanged,
    watch_sources,
)

_USUAL_VIDEO_WORKERS = 4
"""Videos that are read at the same time where nobody says how many: each may take much memory."""
_SHOWN_REASONS = 3

__all__ = ["ReadOptions", "Records", "Summary", "WriteOptions", "convert", "read", "write"]


def read(path: str | Path, format: str | None = None, **options: Any) -> Records:
    """Open a file or folder of any known format.

    Args:
        path: The file, or a folder where the format's result is a folder; also by URL or Hub id.
        format: Format name; None guesses from the content.
        options: Fields of `ReadOptions`.

    Returns:
        Records to iterate, more than once if need be.

    Raises:
        UsageError: The file is missing or the format unknown.
        Error: The format cannot be told, or the file is damaged.
    """
    return Records(Input.of(find_local(path)), ReadOptions(format=format, **options))


def write(records: Iterable[Record], target: Target, format: str) -> list[Loss]:
    """Write records in a format; the file or folder is written atomically.

    Args:
        records: May be iterated more than once by the writer.
        target: Where and how.
        format: Name of a format that can be written.

    Returns:
        What the format could not hold, row by row.

    Raises:
        UsageError: The format is unknown or only read, does not go by the file's suffix, or cannot honour an option,
            the file's folder does not exist, or a folder that shall appear holds something.
        Error: Another process is writing the file.
    """
    with open_target(target, format) as (plugin, place):
        chosen = _ChosenResponses(records)
        losses = list(plugin.write(records if plugin.pairs else chosen, place)) if plugin.write else []
    return [*chosen.losses, *losses]


@contextlib.contextmanager
def open_target(target: Target, format: str) -> Iterator[tuple[Format, Target]]:
    """Check what shall be written, and publish it when the context is left well.

    Args:
        target: Where and how.
        format: Name of a format that can be written.

    Yields:
        The format, and the target with a temporary path.

    Raises:
        UsageError: As `write`.
        Error: As `write`.
    """
    plugin: Format = load("mmconvert.formats", format)
    if plugin.write is None:
        raise UsageError(f"format {format!r} is only read. See `mmconvert list formats`.")
    target = replace(target, folder=plugin.writes_folder and (target.folder or not target.path.suffix))
    suffixes = [*filter(None, plugin.suffixes)]
    if not target.folder and target.path.suffix.lower() not in suffixes:
        ways = " or ".join([*suffixes, *(["a folder (FOLDER/)"] if plugin.writes_folder else [])])
        raise UsageError(f"{target.path}: format {format!r} is written to {ways}. Name the file so.")
    require_honoured(target, plugin, format)
    require_folder(target.path)
    open_place = open_published_folder if target.folder else open_published_file
    with occupied(target.path), open_place(target.path) as temporary:
        yield plugin, replace(target, path=temporary, name=target.path.resolve().name)
        require_unchanged()


class _ChosenResponses:
    """Records for a format without preference pairs: of each pair the prompt and its chosen response.

    Attributes:
        losses: A loss for each pair of the last iteration.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self._records = records
        self.losses: list[Loss] = []

    def __iter__(self) -> Iterator[Record]:
        self.losses = []
        for record in self._records:
            if record.preference is not None:
                message = "the format has no field for a pair; only the chosen response is written"
                self.losses.append(Loss(record.id, "preference", message))
            yield keep_chosen(record)


class Summary(msgspec.Struct):
    """What a conversion did.

    `columns` says of plain tables which column was taken for which field, as options to type.
    `rows_unmatched` are left out by `--where`, `rows_undrawn` by `--sample`; the latter are not among `rows_read`.
    Not part of the JSON: `reasons`, the first skipped rows, `predicted`, how many rows have a prediction, and
    `benchmarks`, what was read by its name, with the prompt template that the catalogue gave it.
    """

    format: str = ""
    rows_read: int = 0
    rows_written: int = 0
    rows_rejected: int = 0
    images: int = 0
    bytes: int = 0
    seconds: float = 0.0
    output: str = ""
    rejects: str | None = None
    splits: dict[str, int] = msgspec.field(default_factory=dict)
    warnings: list[str] = msgspec.field(default_factory=list)
    columns: list[str] = msgspec.field(default_factory=list)
    reasons: list[str] = msgspec.field(default_factory=list)
    predicted: int = 0
    benchmarks: list[str] = msgspec.field(default_factory=list)
    rows_unmatched: int = 0
    rows_undrawn: int = 0

    def to_json(self) -> dict[str, Any]:
        """Give the object that `mmconvert convert --json` prints."""
        hidden = ("reasons", "predicted", "benchmarks")
        return {name: value for name, value in asdict(self).items() if name not in hidden}


class WriteOptions(msgspec.Struct, frozen=True):
    """Where a conversion goes and how strict it is.

    Attributes:
        config: Name of the dataset configuration.
        overwrite: Replace a dataset that stands there.
        append: Add splits or configs to it.
        fail_on_bad: Refuse the whole run at the first bad row.
        rejects: File for skipped rows; None for `<output>.rejects.jsonl`.
        allow_empty: Write a dataset without rows.
        engine: Name of the engine that runs the parts.
        view: How rows are laid out: eval, sft, prompt-completion, preference or prompt.
        workers: Processes that convert parts at the same time, None for as many as are useful; the bytes
            written do not depend on it.
        share: Let other processes that are started so convert parts of the same dataset.
        origin: Licence and source, for the card.
    """

    config: str = DEFAULT_CONFIG
    overwrite: bool = False
    append: bool = False
    fail_on_bad: bool = False
    rejects: Path | None = None
    allow_empty: bool = False
    view: str = EVAL
    engine: str = "local"
    workers: int | None = 1
    share: bool = False
    origin: Origin | None = None


def convert(
    inputs: Sequence[Input], output: Path, how: ReadOptions, where: WriteOptions, facts: Told | None = None
) -> Summary:
    """Convert files into one dataset that is written atomically.

    Args:
        inputs: Files with their split and subset, as `inputs.plan` gives them.
        output: The folder that shall appear.
        how: How to read.
        where: Where to write and how strict to be.
        facts: Called now and then, from a thread, with how much is done; None for nobody to tell.

    Returns:
        Counts; `rows_read` = rows that gave records + `rows_rejected`.

    Raises:
        UsageError: Wrong names, a place that is taken, or options that exclude each other.
        Error: A file was refused, every row was, or the first one was under `fail_on_bad`; nothing is
            published, the rejects file is written all the same. Or another process is writing the dataset.
        ChangedError: A file changed while it was read; nothing is published.
    """
    started = time.perf_counter()
    begin_run()
    if where.view not in VIEWS:
        message = f"unknown view {where.view!r}.{suggest_spelling(where.view, VIEWS)} Known: {', '.join(VIEWS)}."
        raise UsageError(message)
    rejects_file = choose_rejects_path(where.rejects, inputs, output)
    with watch_sources() as sources, _keep_fetched(output, wanted=how.allow_remote) as fetched:
        how = replace(how, fetched=fetched)
        job = _Job(
            inputs, [Records(source, how) for source in inputs], output, how, where, rejects_file, facts, sources
        )
        if how.sample is not None:
            named = zip((source.id_prefix for source in inputs), job.files, strict=True)
            job.how = replace(how, drawn=find_bound(named, how.sample, how.seed))
        summary = _run(job)
    summary.seconds = round(time.perf_counter() - started, 3)
    return summary


@contextlib.contextmanager
def _keep_fetched(output: Path, *, wanted: bool) -> Iterator[Path | None]:
    """Give a folder beside an output for what is fetched; it stays where the run does not reach its end."""
    place = output.resolve()
    folder = place.parent / f".{place.name}.fetched"
    if not wanted or folder.is_symlink():
        yield None
        return
    with contextlib.suppress(OSError):  # whoever writes the output says what is wrong with the place
        folder.mkdir(mode=0o700, exist_ok=True)
    try:
        yield folder
    except BaseException:
        with contextlib.suppress(OSError):
            folder.rmdir()  # which an empty one lets be done
        raise
    shutil.rmtree(folder, ignore_errors=True)


def _run(job: "_Job") -> Summary:
    try:
        crew, common = job.open_crew()
        with contextlib.ExitStack() as workers:
            run = workers.enter_context(crew)
            if job.where.share:
                return _convert_shared(job, run, common)
            return _convert_alone(job, run, common, workers.close)
    except ChangedError:
        raise
    except Error as error:
        # A file that is cut while it is read looks damaged.
        require_unchanged()
        rejects = [reject for result in job.results for reject in result.rejects]
        rejects += error.rejects if isinstance(error, parts.PartError) else []
        if rejects:
            write_rejects(rejects, job.rejects_file, job.where.append)
        raise
    except OSError as error:
        if error.errno is None:
            raise
        room = f" {MAKE_ROOM}" if is_no_room(error) else ""
        message = f"{error.filename or job.output}: {os.strerror(error.errno)}. Nothing was written.{room}"
        raise Error(message) from error


class _Job(msgspec.Struct):
    """The arguments of `convert`, the files as they are read, and what the parts have given so far."""

    inputs: Sequence[Input]
    files: Sequence[Records]
    output: Path
    how: ReadOptions
    where: WriteOptions
    rejects_file: Path
    told: Told | None
    sources: Sources
    results: list[parts.PartResult] = msgspec.field(default_factory=list)
    plans: Sequence[parts.PartPlan] = ()

    @property
    def formats(self) -> str:
        return ", ".join(dict.fromkeys(records.format for records in self.files))

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(records.columns for records in self.files if records.columns))

    @property
    def benchmarks(self) -> list[str]:
        named = [source.benchmark for source in self.inputs if source.benchmark is not None]
        shown = [(one.key, self.how.prompt or one.prompt) for one in named]
        return list(dict.fromkeys(f"{key}, prompt template {prompt}" if prompt else key for key, prompt in shown))

    @property
    def about(self) -> dict[str, Any]:
        inputs = [describe_input(file) for source in self.inputs for file in source.list_files()]
        return {"format": self.formats, "input": inputs, "options": self.how.list_facts()}

    def open_writer(self) -> DatasetWriter:
        where = self.where
        return DatasetWriter(
            self.output,
            overwrite=where.overwrite,
            append=where.append,
            view=where.view,
            about=self.about,
            origin=where.origin,
        )

    def open_crew(self) -> tuple[AbstractContextManager[Run], parts.FilePart]:
        """Give what runs the parts, and what all of them have in common."""
        engine, where = load_engine(self.where.engine), self.where
        self.plans = parts.plan_parts(self.inputs, self.files, self.how)
        workers = min(where.workers or engine.cores(), parts.count_most_parts(self.inputs, self.plans))
        asked = where.workers or min(engine.cores(), _USUAL_VIDEO_WORKERS)
        share = max(1, workers)
        how = replace(
            self.how,
            at_once=max(1, self.how.at_once // share),
            per_host=max(1, self.how.per_host // share),
            video_workers=max(1, asked // share),
        )
        common = parts.FilePart(0, self.inputs[0], None, self.output, how, where.fail_on_bad, view=where.view)
        return engine.crew(workers), replace(common, two_threads=workers == 1)

    def join_sources(self) -> None:
        """Take over what the parts have read; all of it is looked at again before it is published.

        Raises:
            ChangedError: A part has read another state of a file than the plan or another part.
        """
        for result in self.results:
            self.sources.join(result.stamps)


def _convert_alone(job: _Job, run: Run, common: parts.FilePart, end_workers: Callable[[], None]) -> Summary:
    with ThreadPoolExecutor(1) as aside, hold_alone(job.output) as held, job.open_writer() as writer:
        kept = writer.read_kept_ids(job.where.config)
        inputs = _add_id_words(job.inputs) if kept else job.inputs
        # All folders first: a split that is taken is refused before anything is converted.
        folders = [writer.make_folder(source.split, job.where.config) for source in inputs]
        planned = parts.split_inputs(inputs, job.files, folders, common, job.sources, job.plans)
        with follow_progress(inputs, job.told) as tally:
            for found in run(parts.convert_part, (replace(part, tally=tally) for part in planned)):
                job.results += found
        # Workers take a while to end, in which what they gave is published.
        ended = aside.submit(end_workers)
        summary = _finish(job, writer, kept)
        held.check()
    ended.result()
    return summary


def _convert_shared(job: _Job, run: Run, common: parts.FilePart) -> Summary:
    """Convert the parts that no other process is at; publish the dataset, unless another one does."""
    with occupied(job.output, sharing=True):
        if (standing := _find_finished(job)) is not None:
            clear(job.output)
            return standing
        job.open_writer()  # refuses a place that is taken
        share = join(job.output, _describe_plan(job))
    with share:
        folders = [share.data] * len(job.inputs)
        planned = list(parts.split_inputs(job.inputs, job.files, folders, common, job.sources, job.plans, shared=True))
        with follow_progress(job.inputs, job.told) as tally:
            share.convert_parts([replace(part, tally=tally) for part in planned], run)
        with occupied(job.output, sharing=True) as held:
            if share.stands:
                try:
                    with job.open_writer() as writer:
                        config = job.where.config
                        job.results += share.read_results(planned, lambda p: writer.make_folder(p.source.split, config))
                        summary = _finish(job, writer)
                        held.check()
                except ChangedError:
                    share.remove()  # or the next run would find the parts of the former state again
                    raise
                share.remove()
                return summary
    if (standing := _find_finished(job)) is None:
        raise Error(f"{job.output}: its shared work was removed by another run. Run again.")
    return standing


def _finish(job: _Job, writer: DatasetWriter, kept: Iterable[str] = ()) -> Summary:
    """Hand all parts to the writer, and write the rejects file."""
    job.join_sources()
    _refuse_long(job.results)
    if parts.reconvert_duplicates(job.results, kept):
        job.join_sources()
    for result in job.results:
        writer.add(result.shards, result.part.source.split, job.where.config)
    rejects = [reject for result in job.results for reject in result.rejects]
    if not any(result.ids for result in job.results) and not job.where.allow_empty:
        raise Error(_describe_nothing(job, rejects))
    summary = _build_summary(job.results, job.formats, job.output)
    summary = replace(summary, columns=job.columns, benchmarks=job.benchmarks)
    if rejects:
        require_unchanged()
    # Before the dataset appears, so that a dataset never stands beside rejects of another run.
    summary.rejects = write_rejects(rejects, job.rejects_file, job.where.append)
    return summary


def _find_finished(job: _Job) -> Summary | None:
    """Tell of the dataset that another process has made of the same files in the same way; None where none stands.

    Of a conversion that is shared, images and bytes are told where the dataset is published.
    """
    if not (job.output / MANIFEST).is_file():
        return None
    configs, manifest = read_manifest(job.output)
    wanted = json.loads(json.dumps({**job.about, "view": job.where.view}))
    if job.where.config not in configs or any(manifest.get(name) != value for name, value in wanted.items()):
        return None
    splits = {split: sum(s.rows for s in shards) for split, shards in configs[job.where.config].items()}
    rejects = job.rejects_file.read_bytes().count(b"\n") if job.rejects_file.exists() else 0
    rows = sum(splits.values())
    return Summary(
        job.formats,
        rows_read=rows + rejects,
        rows_written=rows,
        rows_rejected=rejects,
        output=str(job.output),
        rejects=str(job.rejects_file) if rejects else None,
        splits=splits,
        warnings=["another process has written it, and has reported its images and bytes"],
        columns=job.columns,
        benchmarks=job.benchmarks,
    )


def _describe_plan(job: _Job) -> dict[str, Any]:
    """Name all that the bytes of a dataset depend on."""
    where = job.where
    stamps = job.sources.select(str(s.path) for source in job.inputs for s in source.list_files())[FILE]
    return {
        "files": [[str(s.path.resolve()), s.split, s.subset] for source in job.inputs for s in source.list_files()],
        "stamps": list(map(read_content_stamp, stamps.values())),
        **job.about,
        "limits": [job.how.max_image_bytes, job.how.max_rows],
        "image roots": list(map(str, job.how.image_roots)),
        "config": where.config,
        "view": where.view,
        "card": asdict(where.origin or Origin()),
        "policy": [where.fail_on_bad, where.allow_empty, str(job.rejects_file)],
        "releases": [__version__, pa.__version__],
    }


def load_engine(name: str) -> Engine:
    """Load what runs tasks.

    Raises:
        UsageError: There is no such engine, or the package that it needs is missing.
    """
    with require_extra(name, f"engine {name!r}"):
        engine: Engine = load("mmconvert.engines", name)
    return engine


def _add_id_words(inputs: Sequence[Input]) -> list[Input]:
    """Give a single file, too, words that tell its rows from those that stand in the dataset."""
    return [replace(source, id_prefix=source.id_prefix or f"{source.split}-") for source in inputs]


def _build_summary(results: Sequence[parts.PartResult], formats: str, output: Path) -> Summary:
    summary = Summary(format=formats, output=str(output))
    warnings: Counter[str] = Counter()
    for result in results:
        split = result.part.source.split
        summary.splits[split] = summary.splits.get(split, 0) + len(result.ids)
        summary.rows_read += result.rows_read
        summary.rows_written += len(result.ids)
        summary.rows_rejected += len(result.rejects)
        summary.images += result.images
        summary.predicted += result.predicted
        summary.bytes += result.bytes
        warnings += result.warnings
        summary.reasons += map(str, result.rejects[: _SHOWN_REASONS - len(summary.reasons)])
    summary.rows_unmatched, summary.rows_undrawn = warnings.pop(UNMATCHED, 0), warnings.pop(UNDRAWN, 0)
    if pairs := warnings.pop(parts.PAIRS, 0):
        view = results[0].part.view
        kept = "" if view == EVAL else f", of which --view {view} keeps only the chosen response"
        what = f"{pairs:,} {'row holds a preference pair' if pairs == 1 else 'rows hold preference pairs'}{kept}"
        summary.warnings.append(f"{what}: --view {PREFERENCE} lays them out for DPOTrainer")
    summary.warnings += [f"{text} ({count} times)" if count > 1 else text for text, count in warnings.items()]
    empty = [split for split, rows in summary.splits.items() if summary.rows_written and not rows]
    left_out = "has no rows and is left out: load_dataset opens no such"
    summary.warnings += [f"split {split} {left_out}" for split in empty]
    return summary


def _refuse_long(results: Sequence[parts.PartResult]) -> None:
    """Hold the parts of one file together against `--max-rows`; a part by itself is held by its reader."""
    counts: Counter[Input] = Counter()
    for result in results:
        source, most = result.part.source, result.part.how.max_rows
        counts[source] += result.rows_read
        if most is not None and counts[source] > most:
            raise build_too_long_error(source, most)


def _describe_nothing(job: _Job, rejects: Sequence[Rejected]) -> str:
    if rejects:
        return f"no row could be converted; the first of {len(rejects)} reasons: {rejects[0]}"
    if unmatched := sum(result.warnings[UNMATCHED] for result in job.results):
        look = shlex.join(["mmconvert", "inspect", str(job.inputs[0].path)])
        return f"none of {unmatched:,} rows matches --where {job.how.where!r}. Change it, or see the columns: {look}"
    what = "the steps left none of its rows" if any(result.rows_read for result in job.results) else "holds no rows"
    return f"{job.inputs[0].path}: {what}. Give --allow-empty to write an empty dataset."
