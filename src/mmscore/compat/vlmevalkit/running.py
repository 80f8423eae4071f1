"""A benchmark and a model, from questions to numbers, as the framework's run.py does it.

outputs/<model>/<model>_<benchmark>.parquet     the predictions
outputs/<model>/<model>_<benchmark>.xlsx        the same, as the framework's table
outputs/<model>/<model>_<benchmark>_acc.csv     what `evaluate` gave
outputs/<model>/<model>_<benchmark>_report.json the report
"""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
from msgspec.structs import replace

from mmconvert.core.errors import Error, RowError, UsageError, show, suggest_spelling
from mmconvert.core.option_fields import build_options
from mmconvert.core.record import Image, Part, Record, Turn
from mmconvert.dataset.dataset import DatasetWriter
from mmconvert.images.loader import ImageLoader
from mmconvert.kits.vlmevalkit.datasets import find_lmudata_root
from mmconvert.pipeline.convert import Records, read
from mmconvert.storage.source_files import watch_sources
from mmconvert.storage.temporary import build_temporary_prefix
from mmscore.compat.vlmevalkit.datasets import (
    Benchmark,
    ImageBaseDataset,
    NoRuleError,
    build_dataset,
    find_published_table,
)
from mmscore.compat.vlmevalkit.recipes import as_recipe, kit_entry, rows_of, users_code, write_answered_rows
from mmscore.compat.vlmevalkit.tables import dump
from mmscore.core.report import Entry, Report, publish
from mmscore.infer.adapter import split_backend
from mmscore.infer.ledger import Summary
from mmscore.infer.message_model import IMAGE, TEXT, Message, is_image
from mmscore.infer.options import PredictOptions
from mmscore.infer.predictions_file import is_interrupted
from mmscore.infer.session import predict
from mmscore.scoring.evaluate import score
from mmscore.scoring.score import UnlabelledError

MODES = ALL, INFER, EVAL = ("all", "infer", "eval")
TASKS = {"Y/N": "yes_no", "Caption": "caption", "MT": "chat"}
"""Type of a class -> task of its rows, where the columns of the table do not tell."""

RESULTS = (".xlsx", ".tsv", ".json")
"""Endings of the framework's own result files."""

CONVERTED = ".datasets"
"""Folder in the work folder for what the models are asked; no model's folder begins with a dot."""


@dataclass(slots=True)
class Run:
    """What became of a model's answers to a benchmark.

    Attributes:
        model: The model's name.
        dataset: The benchmark.
        folder: Where the files lie.
        summary: Counts of the rows that were asked; None where none was to be.
        eval_file: The table that `evaluate` reads.
        result: What it gave, a row a mapping; () where nothing was scored.
        entry: The entry of the report; None where nothing was scored.
        refused: Why rows of the benchmark were not asked.
        note: Why there are no scores although the predictions are written; "" where there are some.
    """

    model: str
    dataset: str
    folder: Path
    summary: Summary | None = None
    eval_file: Path | None = None
    result: Sequence[Mapping[str, Any]] = ()
    entry: Entry | None = None
    refused: Sequence[str] = field(default_factory=list)
    note: str = ""

    @property
    def complete(self) -> bool:
        """Whether every row was asked, answered and scored, as far as that was to be done."""
        unscored = self.entry is not None and self.entry.counts.unscored
        return not (self.refused or unscored or (self.summary is not None and self.summary.failed))


def run(
    dataset: Any,
    *,
    model: str,
    backend: object = None,
    work_dir: str | Path = "outputs",
    mode: str = ALL,
    reuse: bool = False,
    allow_remote: bool = False,
    allow_host: Sequence[str] = (),
    judge_kwargs: Mapping[str, Any] | None = None,
    quiet: bool = True,
    **options: Any,
) -> Run:
    """Ask a model about a benchmark, and score what it says.

    Args:
        dataset: A benchmark's name, or an object of a class of benchmarks.
        model: The model's name or path.
        backend: As `mmscore.predict`.
        work_dir: Folder of the results.
        mode: `all`, `infer` to ask only, `eval` to score only: what stands there, or the framework's own result file.
        reuse: Take the answers that stand; else all rows are asked again, but for those of a run that was stopped.
        allow_remote: A table that is not there may be fetched.
        allow_host: With allow_remote: hosts, `NAME[:PORT]`, that may be at private addresses.
        judge_kwargs: Given to `evaluate`.
        quiet: No progress on standard error.
        **options: Options of `mmscore predict` by their names.

    Returns:
        What became of it.

    Raises:
        UsageError: The benchmark or an option is unknown, or there is nothing to score.
        Error: A file cannot be read or written.
    """
    benchmark = benchmark_of(dataset, allow_remote, allow_host) if isinstance(dataset, str) else dataset
    plugin, given = split_backend(backend)
    asked = build_options(PredictOptions, {**options, "model": model, "backend": plugin}, "predict")
    return run_benchmark(
        benchmark, asked, given, work_dir=work_dir, mode=mode, reuse=reuse, judge_kwargs=judge_kwargs, quiet=quiet
    )


def run_benchmark(
    benchmark: Any,
    options: PredictOptions,
    backend: object = None,
    *,
    work_dir: str | Path,
    mode: str,
    reuse: bool,
    judge_kwargs: Mapping[str, Any] | None,
    quiet: bool,
) -> Run:
    """Do what `run` does, for an open benchmark and options that were read.

    Args:
        benchmark: An object of a class of benchmarks.
        options: Who is asked, and how.
        backend: Who answers, an object of the user's; None for whom the options name.
        work_dir: As `run`.
        mode: As `run`.
        reuse: As `run`.
        judge_kwargs: As `run`.
        quiet: As `run`.

    Raises:
        UsageError: The mode is unknown, or there is nothing to score.
        Error: As `run`.
    """
    if mode not in MODES:
        raise UsageError(f"unknown mode {mode!r}.{suggest_spelling(mode, MODES)} Known: {', '.join(MODES)}.")
    if mode != INFER and getattr(type(benchmark), "evaluate", None) is ImageBaseDataset.evaluate:
        benchmark.evaluate("")  # says what is missing, before anybody is asked
    name = str(benchmark.dataset_name)
    label = PurePath(options.model).name
    work_dir = Path(work_dir)
    found = Run(label, name, work_dir / label)
    found.folder.mkdir(parents=True, exist_ok=True)
    predictions = found.folder / f"{label}_{name}.parquet"
    if mode != EVAL:
        questions = work_dir / CONVERTED / name
        found.refused = convert(benchmark, questions)
        if predictions.exists() and not is_interrupted(predictions) and not (options.resume or options.restart):
            options = replace(options, resume=reuse, restart=not reuse)
        found.summary = predict(questions, predictions, options, backend, quiet=quiet)
    if predictions.is_file():
        found.eval_file = write_answered_rows(predictions, found.folder, label, name)
    if mode != INFER:
        if found.eval_file is None and found.summary is not None and found.summary.failed:
            errors = pq.read_table(predictions, columns=["prediction_error"])["prediction_error"].to_pylist()
            why = next((f" The first failure: {error}" for error in errors if error), "")
            raise Error(f"{predictions}: none of {len(errors)} rows has a response.{why}")
        try:
            _score(found, benchmark, predictions, judge_kwargs or {})
        except NoRuleError as error:
            found.note = str(error)
        except UnlabelledError:
            found.note = f"{name} has no answers; the predictions are written, to be submitted"
            if form := getattr(benchmark, "SUBMISSION", ""):
                found.note += f": mmscore submit {predictions} --to {form} -o {predictions.with_suffix('.submit.xlsx')}"
    return found


def benchmark_of(name: str, allow_remote: bool, allow_host: Sequence[str] = ()) -> ImageBaseDataset:
    """Open a benchmark as `build_dataset` does.

    Raises:
        UsageError: There is none of this name, or its table is not there and may not be fetched.
    """
    built = build_dataset(name, allow_remote=allow_remote, allow_host=allow_host)
    if built is None:
        tables = [table.stem for table in find_lmudata_root().glob("*.tsv")]
        if url := find_published_table(name)[0]:
            place = find_lmudata_root() / f"{name}.tsv"
            raise UsageError(f"{place}: is missing. Put {url} there, or fetch it: --allow-remote")
        raise UsageError(
            f"unknown benchmark {name!r}.{suggest_spelling(name, tables)} Put its table at "
            f"{find_lmudata_root() / (name + '.tsv')}, or name a class: file.py@Class."
        )
    return built


@watch_sources()
def convert(dataset: Any, output: str | Path, *, image_roots: Sequence[str | Path] = ()) -> list[str]:
    """Write a benchmark as a dataset created by mmconvert: its rows as its `build_prompt` words them.

    Args:
        dataset: An object of a class of benchmarks, with `data` and `build_prompt`.
        output: Folder to publish; one that stands there is replaced.
        image_roots: Further folders that images may lie in, beside the working folder, $LMUData, the folder for
            temporary files and the benchmark's own.

    Returns:
        Why rows were refused.

    Raises:
        Error: No row can be asked.
    """
    refused: list[str] = []
    output = Path(output)
    output.parent.mkdir(parents=True, exist_ok=True)
    own = getattr(dataset, "img_root", None)
    folders = [".", *image_roots, find_lmudata_root(), tempfile.gettempdir(), *([own] if own else [])]
    roots = tuple(Path(folder).resolve() for folder in folders if Path(folder).is_dir())
    with tempfile.TemporaryDirectory(prefix=build_temporary_prefix()) as folder:
        table = Path(folder) / f"{dataset.dataset_name}.tsv"
        data: pd.DataFrame = dataset.data
        if "question" not in data:
            # A benchmark may say what it asks in build_prompt alone.
            with users_code("build_prompt"):
                asked = [_pieces(dataset.build_prompt(data.iloc[place])) for place in range(len(data))]
            texts = [(str(piece["value"]) for piece in pieces if piece["type"] != IMAGE) for pieces in asked]
            data = data.assign(question=["\n".join(one) for one in texts])
        dump(data, table)
        task = TASKS.get(getattr(dataset, "TYPE", ""))
        records = read(table, "lmudata", dataset=dataset.dataset_name, task=task, image_roots=roots)
        with DatasetWriter(output, overwrite=output.exists()) as writer:
            writer.write(_worded(records, dataset, ImageLoader(roots), refused))
    return [*map(str, records.rejects), *refused]


def _pieces(message: Any) -> Message:
    """Bring what the framework's models take into pieces: a text or a list of texts, images among them, is one too."""
    items = [message] if isinstance(message, str | Mapping) else message
    if not isinstance(items, Sequence):
        raise RowError("message.shape", "build_prompt", f"expected a list of pieces {show(message)}. Return one.")
    pieces = []
    for item in items:
        if isinstance(item, str):
            item = {"type": IMAGE if is_image(item) else TEXT, "value": item}
        elif not isinstance(item, Mapping) or not {"type", "value"} <= item.keys():
            raise RowError("message.shape", "build_prompt", f"expected a type and a value {show(item)}. Give both.")
        pieces.append(dict(item))
    return pieces


def _worded(records: Records, dataset: Any, images: ImageLoader, refused: list[str]) -> Iterator[Record]:
    for record in records:
        try:
            with users_code("build_prompt"):
                message = dataset.build_prompt(dataset.data.iloc[record.source.row])
            yield worded(record, message, images)
        except RowError as error:
            refused.append(f"row {record.id!r} {error.field}: {error.message}")
        except Error as error:
            refused.append(f"row {record.id!r}: {error}")


def worded(record: Record, message: Any, loader: ImageLoader) -> Record:
    """Put a message of the framework in the place of a record's turns.

    Args:
        record: A question; of a conversation, one round of it.
        message: Pieces or texts, or the turns of a conversation with them in each.
        loader: Finds the images that the message names.

    Raises:
        RowError: An image is not there, or is none; or this is no message.
    """
    listed = isinstance(message, list | tuple)
    if not listed or not any(isinstance(one, Mapping) and {"role", "content"} <= one.keys() for one in message):
        message = [{"role": "user", "content": message}]
    users = [place for place, turn in enumerate(message) if turn["role"] == "user"]
    last = users[record.round] if record.round is not None else users[-1]
    known = {image.sha256: image for image in (*record.images, *record.attachments)}
    images: list[Image] = []

    def part(piece: Mapping[str, Any]) -> Part:
        if piece["type"] != IMAGE:
            return Part("text", str(piece["value"]))
        image = loader.of_reference(str(piece["value"]), len(images) + 1)
        images.append(replace(known.get(image.sha256, image), slot=len(images) + 1))
        return Part("image")

    turns = tuple(Turn(turn["role"], tuple(map(part, _pieces(turn["content"])))) for turn in message[: last + 1])
    return replace(record, messages=turns, images=tuple(images), attachments=())


def _score(found: Run, benchmark: Any, predictions: Path, judge_kwargs: Mapping[str, Any]) -> None:
    stem = f"{found.model}_{found.dataset}"
    files = (found.folder / f"{stem}{suffix}" for suffix in RESULTS)
    given = found.eval_file or next((file for file in files if file.is_file()), None)
    source = predictions if predictions.is_file() else given
    if source is None or given is None:
        raise UsageError(f"{found.folder}: holds no {stem}.xlsx to score. Run the model first: mode {ALL} or {INFER}.")
    found.eval_file = given
    # An evaluate of the user's may write this file itself; an older one is not its result.
    table = found.folder / f"{stem}_acc.csv"
    table.unlink(missing_ok=True)
    if getattr(type(benchmark), "evaluate", None) is Benchmark.evaluate:
        found.entry = kit_entry(str(source), found.dataset, judge_kwargs, benchmark.RECIPE, model=found.model)
        values = {name: estimate.value for name, estimate in found.entry.metrics.items()}
        found.result = list(found.entry.table) or rows_of(values)
    else:
        recipe = as_recipe(benchmark, given, **judge_kwargs)
        report = score(source, recipe, dataset=found.dataset, model=found.model)
        found.entry = report.entries[0]
        found.result = list(found.entry.table)
    if found.result and not table.exists():
        dump(pd.DataFrame(found.result), table)
    report_json = json.dumps(Report((found.entry,)).to_json(), ensure_ascii=False, indent=1)
    publish(found.folder / f"{stem}_report.json", report_json.encode() + b"\n")
