"""The pipeline from files to a dataset and back, and the only door to formats for other packages.

`read` gives records of any known file, `write` writes records in any format, `convert` and `export`
publish whole outputs. A row that is refused is kept with its reason; the others go on.
"""

import json
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from mmconvert.engines import Engine
from mmconvert.errors import Error, UsageError, did_you_mean
from mmconvert.format import Format, Loss, Target, require_honoured
from mmconvert.inputs import Input, fingerprint
from mmconvert.manifest import DEFAULT_CONFIG
from mmconvert.part_tally import Told, followed
from mmconvert.parts import Part, PartError, PartResult, convert_part, cores_a_part, parts_of, without_duplicates
from mmconvert.plugins import load
from mmconvert.publishing import clear_leftovers, published_file
from mmconvert.reading import ReadOptions, Records, too_long
from mmconvert.record import Record
from mmconvert.shards import write_synced
from mmconvert.sources import Rejected
from mmconvert.store import DatasetWriter
from mmconvert.views import EVAL, VIEWS

_SHOWN_REASONS = 3

__all__ = ["ReadOptions", "Records", "Summary", "WriteOptions", "convert", "read", "write"]


def read(path: str | Path, format: str | None = None, **options: Any) -> Records:
    """Open a file or folder of any known format.

    Args:
        path: The file, or a folder where the format's result is a folder.
        format: Format name; None guesses from the content.
        options: Fields of `ReadOptions`.

    Returns:
        Records to iterate, more than once if need be.

    Raises:
        UsageError: The file is missing or the format unknown.
        Error: The format cannot be told, or the file is damaged.
    """
    return Records(Input.of(Path(path)), ReadOptions(format=format, **options))


def write(records: Iterable[Record], target: Target, format: str) -> list[Loss]:
    """Write records in a format; the file appears whole or not at all.

    Args:
        records: May be iterated more than once by the writer.
        target: Where and how.
        format: Name of a format that can be written.

    Returns:
        What the format could not hold, row by row.

    Raises:
        UsageError: The format is unknown or only read, does not go by the file's suffix, or cannot honour an option,
            or the file's folder does not exist.
    """
    plugin: Format = load("mmconvert.formats", format)
    if plugin.write is None:
        raise UsageError(f"format {format!r} is only read. See `mmconvert list formats`.")
    if target.path.suffix.lower() not in plugin.suffixes:
        raise UsageError(
            f"{target.path}: format {format!r} is written to {' or '.join(plugin.suffixes)}. Name the file so."
        )
    require_honoured(target, plugin, format)
    if not target.path.parent.is_dir():
        raise UsageError(f"{target.path}: its folder does not exist. Name a file in a folder that does.")
    with published_file(target.path) as temporary:
        return list(plugin.write(records, replace(target, path=temporary, name=target.path.resolve().name)))


@dataclass(slots=True)
class Summary:
    """What a conversion did.

    Not part of the JSON: `reasons`, the first refused rows, and `predicted`, how many rows have a prediction.
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
    splits: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    predicted: int = 0

    def to_json(self) -> dict[str, Any]:
        """Give the object that `mmconvert convert --json` prints."""
        return {name: value for name, value in asdict(self).items() if name not in ("reasons", "predicted")}


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Where a conversion goes and how strict it is.

    Attributes:
        config: Config name.
        overwrite: Replace a dataset that stands there.
        append: Add splits or configs to it.
        fail_on_bad: Refuse the whole run at the first bad row.
        rejects: File for refused rows; None for `<output>.rejects.jsonl`.
        allow_empty: Publish a dataset without rows.
        engine: Name of the engine that runs the parts.
        view: How rows are laid out: eval, sft or prompt-completion.
        workers: Processes that convert parts at the same time, None for as many as are useful; the bytes
            written do not depend on it.
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


def convert(
    inputs: Sequence[Input], output: Path, how: ReadOptions, where: WriteOptions, told: Told | None = None
) -> Summary:
    """Convert files into one dataset that appears whole or not at all.

    Args:
        inputs: Files with their split and subset, as `inputs.plan` gives them.
        output: The folder that shall appear.
        how: How to read.
        where: Where to write and how strict to be.
        told: Called now and then, from a thread, with how much is done; None for nobody to tell.

    Returns:
        Counts; `rows_read` = rows that gave records + `rows_rejected`.

    Raises:
        UsageError: Wrong names or a place that is taken.
        Error: A file was refused, every row was, or the first one was under `fail_on_bad`; nothing is
            published, the rejects file is written all the same.
    """
    started = time.perf_counter()
    if where.view not in VIEWS:
        raise UsageError(f"unknown view {where.view!r}.{did_you_mean(where.view, VIEWS)} Known: {', '.join(VIEWS)}.")
    rejects_file = _rejects_file(inputs, output, where)
    files = [Records(source, how) for source in inputs]
    formats = ", ".join(dict.fromkeys(records.format for records in files))
    about = {"format": formats, "input": [fingerprint(source) for source in inputs], "options": _jsonable(how)}
    results: list[PartResult] = []
    try:
        with DatasetWriter(
            output, overwrite=where.overwrite, append=where.append, view=where.view, about=about
        ) as writer:
            kept = writer.kept_ids(where.config)
            engine = _engine(where.engine)
            workers = where.workers or max(1, engine.cores() // cores_a_part(inputs))
            planned = _parts(_told_apart(inputs) if kept else inputs, files, writer, how, where, workers == 1)
            with followed(inputs, told) as tally:
                for found in engine.run(convert_part, (replace(part, tally=tally) for part in planned), workers):
                    results += found
            _refuse_long(results)
            without_duplicates(results, kept)
            for result in results:
                writer.add(result.shards, result.part.source.split, where.config)
            rejects = [reject for result in results for reject in result.rejects]
            if not any(result.ids for result in results) and not where.allow_empty:
                raise Error(_nothing(inputs, rejects))
            summary = _summary(results, formats, output)
            # Before the dataset appears, so that a dataset never stands beside rejects of another run.
            summary.rejects = _write_rejects(rejects, rejects_file, where.append)
    except Error as error:
        rejects = [reject for result in results for reject in result.rejects]
        rejects += error.rejects if isinstance(error, PartError) else []
        if rejects:
            _write_rejects(rejects, rejects_file, where.append)
        raise
    except OSError as error:
        if error.errno is None:
            raise
        raise Error(f"{error.filename or output}: {os.strerror(error.errno)}. Nothing was published.") from error
    summary.seconds = round(time.perf_counter() - started, 3)
    return summary


def _engine(name: str) -> Engine:
    try:
        engine: Engine = load("mmconvert.engines", name)
    except ModuleNotFoundError as error:
        raise UsageError(
            f'engine {name!r} needs the package {error.name}. Install it: pip install "mmconvert[{name}]"'
        ) from None
    return engine


def _told_apart(inputs: Sequence[Input]) -> list[Input]:
    """Give a single file, too, words that tell its rows from those that stand in the dataset."""
    return [replace(source, id_prefix=source.id_prefix or f"{source.split}-") for source in inputs]


def _parts(
    inputs: Sequence[Input],
    files: Sequence[Records],
    writer: DatasetWriter,
    how: ReadOptions,
    where: WriteOptions,
    read_on: bool,
) -> Iterator[Part]:
    # All folders first: a split that is taken is refused before anything is converted.
    folders = [writer.folder(source.split, where.config) for source in inputs]
    index = 0
    for source, folder, records in zip(inputs, folders, files, strict=True):
        whole = Part(index, source, None, folder, how, where.fail_on_bad, view=where.view)
        for part in parts_of(whole, records, read_on):
            yield part
            index = part.index + 1


def _summary(results: Sequence[PartResult], formats: str, output: Path) -> Summary:
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
    summary.warnings = [f"{text} ({count} times)" if count > 1 else text for text, count in warnings.items()]
    return summary


def _refuse_long(results: Sequence[PartResult]) -> None:
    """Hold the parts of one file together against `--max-rows`; a part by itself is held by its reader."""
    counts: Counter[Input] = Counter()
    for result in results:
        source, most = result.part.source, result.part.how.max_rows
        counts[source] += result.rows_read
        if most is not None and counts[source] > most:
            raise too_long(source, most)


def _rejects_file(inputs: Sequence[Input], output: Path, where: WriteOptions) -> Path:
    """Say where refused rows go, and refuse a place where the file would do harm."""
    output = output.resolve()
    if where.rejects is None:
        return output.with_name(output.name + ".rejects.jsonl")
    file = where.rejects.resolve()
    if file.is_dir():
        raise UsageError(f"{where.rejects}: is a folder. Name a file for the refused rows.")
    if file.is_relative_to(output):
        raise UsageError(f"{where.rejects}: lies inside {output}, which is replaced as a whole. Name a file beside it.")
    if any(file == source.path.resolve() for source in inputs):
        raise UsageError(f"{where.rejects}: is the input itself. Name another file for the refused rows.")
    return where.rejects


def _write_rejects(rejects: Sequence[Rejected], path: Path, append: bool) -> str | None:
    """Write the rejects file, or remove one of an earlier run where there are none and nothing is kept of that run."""
    lines = [json.dumps(reject.to_json(), ensure_ascii=False).encode(errors="backslashreplace") for reject in rejects]
    clear_leftovers(path)
    if append and path.exists():
        lines = list(dict.fromkeys([*path.read_bytes().splitlines(), *lines]))
    if not lines:
        path.unlink(missing_ok=True)
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    with published_file(path) as temporary:
        write_synced(temporary, b"\n".join(lines) + b"\n")
    return str(path) if rejects else None


def _nothing(inputs: Sequence[Input], rejects: Sequence[Rejected]) -> str:
    if rejects:
        return f"no row could be converted; the first of {len(rejects)} reasons: {rejects[0]}"
    return f"{inputs[0].path}: holds no rows. Give --allow-empty to publish an empty dataset."


def _jsonable(how: ReadOptions) -> dict[str, Any]:
    return {
        "dataset": how.dataset,
        "task": how.task,
        "verify": "decode" if how.decode else "structure",
        "limit": how.limit,
        "keep_urls": how.keep_urls,
        "allow_remote": how.allow_remote,
        "transforms": list(how.transforms),
        "seed": how.seed,
        "prompt": how.prompt,
        "prompt_suffix": how.prompt_suffix,
        "read_as": how.read_as,
    }
