"""A task of MMTrustEval from its samples to its log.

Everything that is made lies beside the log, in a folder `<log>.run`: `samples.json`, `dataset`,
`predictions.parquet` with its store of responses, `task.json` and, where a recipe gives the numbers, `report.json`.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
from msgspec.structs import replace

from mmconvert.core.errors import Error, RowError, UsageError, show, suggest_spelling
from mmconvert.core.option_fields import build_options
from mmconvert.core.record import Record
from mmconvert.core.text.turns import find_last_user_turn, join_texts, list_last_turn_images
from mmconvert.dataset.dataset import DatasetWriter
from mmconvert.kits.mmtrusteval.datasets import NAMES
from mmconvert.pipeline.convert import Records, read
from mmconvert.storage.source_files import watch_sources
from mmscore.compat.mmtrusteval.classes import BaseDataset, ImageTxtSample, Sample, TxtSample, collate_fn, made_of
from mmscore.compat.mmtrusteval.evaluators import KitEvaluator, SequentialEvaluator, registered_chat, supported_metrics
from mmscore.compat.mmtrusteval.registry import registry
from mmscore.compat.mmtrusteval.task import Task, task_of
from mmscore.core.report import Report, publish
from mmscore.core.table import SCORED
from mmscore.infer.adapter import build_plugin_name
from mmscore.infer.adapters.mmtrusteval import ChatBackend, open_model, write_image
from mmscore.infer.options import PredictOptions
from mmscore.infer.session import predict
from mmscore.kits.mmtrusteval.chains import METRICS_CFG
from mmscore.kits.mmtrusteval.connections import add_classifiers
from mmscore.kits.mmtrusteval.evaluators import ALONE, EvaluatorContext
from mmscore.kits.mmtrusteval.measures import MEASURES
from mmscore.kits.mmtrusteval.rows import FORMAT, build_chains
from mmscore.kits.mmtrusteval.scored_log import EXTRA, IMAGE_PATH, format_scored_log
from mmscore.kits.mmtrusteval.task_log import TOTAL, build_log, format_log
from mmscore.llm.client import BASE_URL
from mmscore.llm.response_cache import OK
from mmscore.scoring.evaluate import ScoreOptions, score_each
from mmscore.scoring.judging.request import JudgeRequest

RULES, JUDGED, JUDGE = "mmtrust_task", "mmtrust_judged", "mmtrust"
"""Recipes of the framework's tasks without and with a judge, and the judge."""
PREDICTIONS, REPORT = "predictions.parquet", "report.json"
_OPTIONS = {
    **{name: name for name in ("max_new_tokens", "do_sample", "temperature", "top_p", "top_k", "num_beams")},
    "stop_sequences": "stop",
    "output_scores": "output_scores",
}
_ELSEWHERE = frozenset(("model", "backend", "base_url"))
"""Options that name another model than the registered class."""
_SAMPLING = ("temperature", "top_p", "top_k")


class Stored(msgspec.Struct, frozen=True):
    """Samples as a dataset created by mmconvert.

    Attributes:
        folder: The dataset; the id of a row is the number of its sample.
        samples: What the model and the evaluators are given, as `collate_fn` has it.
        rejected: Samples that could not be stored, each with its reason.
    """

    folder: Path
    samples: Sequence[Mapping[str, Any]]
    rejected: Sequence[str]


class FileDataset(BaseDataset):
    """The samples of a file that `mmconvert` reads, for a dataset without a class.

    Attributes:
        rejected: Rows that are no samples, each with its reason.
    """

    def __init__(self, dataset_id: str, method_hook: Any, records: Records, folder: Path) -> None:
        """Read a file; images become files of the folder."""
        self.dataset_ids = (dataset_id,)
        super().__init__(dataset_id, method_hook)
        self.rejected: list[str] = []
        folder.mkdir(parents=True, exist_ok=True)
        for record in records:
            try:
                self.dataset.append(sample_of(record, folder))
            except Error as error:
                self.rejected.append(str(error))
        self.rejected += map(str, records.rejects)


def sample_of(record: Record, folder: Path) -> Sample:
    """Give the last user turn of a record as a sample.

    Args:
        record: The record.
        folder: Where its image becomes a file.

    Raises:
        Error: The turn shows several images, or there is none.
    """
    at, images = find_last_user_turn(record), list_last_turn_images(record)
    if at is None or len(images) > 1:
        raise Error(f"row {record.id}: a sample is one user turn with at most one image (got {len(images)}).")
    text, target = join_texts(record.messages[at]), None if record.label is None else json.loads(record.label)
    extra = record.extra.get(EXTRA)
    if not images:
        return TxtSample(text, target, extra)
    return ImageTxtSample(write_image(images[0], folder), text, target, extra)


@watch_sources()
def stored(task: Task, place: Path, source: str | None = None, image_roots: Sequence[Path] = ()) -> Stored:
    """Take all samples of a task, and store them.

    Args:
        task: The task.
        place: Folder for `samples.json` and `dataset`.
        source: File with the samples, for a dataset without a class.
        image_roots: Folders of its images; () for its own.

    Raises:
        UsageError: The dataset or the method is unknown, or a setting of it.
        Error: A sample cannot be made, or none can be stored.
    """
    dataset = _dataset(task, place, source, image_roots)
    rejected: list[str] = [*getattr(dataset, "rejected", ())]
    samples: list[Mapping[str, Any]] = []
    for number in range(len(dataset)):
        try:
            samples += collate_fn([dataset[number]])
        except RowError as error:
            rejected.append(f"{task.dataset_id}[{number}]: {error}")
        except UsageError as error:
            raise UsageError(f"{task.dataset_id}[{number}]: {error}") from error
    file = place / "samples.json"
    file.write_text(_json(task.dataset_id, samples), encoding="utf-8")
    paths = [_path(sample) for sample in samples]
    folders = [os.path.dirname(_absolute(path)) for path in paths if path is not None and "://" not in path]
    roots = (Path(os.path.commonpath(folders)),) if folders else ()
    records = read(file, FORMAT, image_roots=roots, dataset=task.dataset_id)
    folder = place / "dataset"
    with DatasetWriter(folder, overwrite=folder.exists(), about={"format": FORMAT}) as writer:
        # As in a log of the framework, an extra names the image, so that ours does too.
        placed = ((record, paths[int(record.id)]) for record in records)
        writer.write(
            record if path is None else replace(record, extra={**record.extra, IMAGE_PATH: path})
            for record, path in placed
        )
        if len(records.rejects) == len(samples):
            reason = next(iter([*rejected, *records.rejects]), "it is empty")
            raise Error(f"{task.dataset_id}: no sample can be run: {reason}")
    return Stored(folder, samples, (*rejected, *map(str, records.rejects)))


def _dataset(task: Task, place: Path, source: str | None, image_roots: Sequence[Path]) -> Any:
    method = None
    for name, settings in task.method_cfg.items():
        method = made_of(registry.get_method_class(name), name, f"method_cfg, {name}", settings or {})
    if source is not None:
        if task.dataset_cfg:
            raise UsageError(f"dataset_cfg: is for a class, and the samples are of {source}. Leave one of them out.")
        records = read(source, image_roots=tuple(image_roots))
        return FileDataset(task.dataset_id, method, records, place / "images")
    known = registry.list_datasets()
    if task.dataset_id not in known:
        hint = suggest_spelling(task.dataset_id, {*known, *NAMES})
        raise UsageError(
            f"dataset_id: no class for {task.dataset_id!r}.{hint} Give the file of its class, --import FILE.py, or "
            "its samples, --input FILE."
        )
    settings = {**task.dataset_cfg, "method_hook": method}
    return made_of(registry.get_dataset_class(task.dataset_id), task.dataset_id, "dataset_cfg", settings)


def _path(sample: Mapping[str, Any]) -> str | None:
    content = sample["message"][0]["content"]
    return None if isinstance(content, str) else content[IMAGE_PATH]


def _absolute(path: str) -> str:
    return path if "://" in path else os.path.realpath(path)


def _json(name: str, samples: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for sample in samples:
        content, path = sample["message"][0]["content"], _path(sample)
        asked = {"text": content} if path is None else {IMAGE_PATH: _absolute(path), "text": content["text"]}
        extra = {} if sample["extra"] is None else {EXTRA: sample["extra"]}
        rows.append({**asked, "target": sample["target"], **extra})
    try:
        return json.dumps(rows, indent=1, default=_plain)
    except TypeError as error:
        raise Error(f"{name}: a sample has a value that JSON cannot hold: {error}.") from None


def _plain(value: Any) -> Any:
    if not hasattr(value, "tolist"):
        raise TypeError(show(value))
    return value.tolist()  # a number or an array of NumPy


class Surroundings(msgspec.Struct, frozen=True):
    """What a task does not say: where things lie, and who answers for an id without a class.

    Attributes:
        work_dir: Folder for what is made; None for the one beside the log.
        source: File with the samples, for a dataset without a class.
        image_roots: Folders of its images.
        model: Options of `mmscore predict` for a model without a class.
        judge: The judge's service; its model is the chain's unless it says another.
        restart: Forget stored responses.
        quiet: Print no progress.
    """

    work_dir: Path | None = None
    source: str | None = None
    image_roots: tuple[Path, ...] = ()
    model: Mapping[str, Any] = msgspec.field(default_factory=dict)
    judge: JudgeRequest = msgspec.field(default_factory=lambda: JudgeRequest(JUDGE, rejudge=True))
    restart: bool = False
    quiet: bool = True


class Outcome(msgspec.Struct, frozen=True):
    """What became of a task.

    Attributes:
        log: The log.
        answers: The predictions file.
        totals: Its numbers by key.
        rows: Samples that were asked about.
        failed: Those without a response; they are not in the log.
        rejected: Why samples could not be asked about.
        unscored: Rows with a response and without a score.
        stood: The log stood there already and nothing was done.
    """

    log: Path
    answers: Path
    totals: Mapping[str, float]
    rows: int = 0
    failed: int = 0
    rejected: Sequence[str] = ()
    unscored: int = 0
    stood: bool = False

    @property
    def complete(self) -> bool:
        """Whether every sample has its numbers."""
        return not (self.failed or self.rejected or self.unscored)


def run_task(task: Task, around: Surroundings | None = None) -> Outcome:
    """Ask the task's model about its samples and write its log.

    A log that stands there with all responses is left alone, as the framework leaves it.

    Args:
        task: The task.
        around: What the task does not say.

    Raises:
        UsageError: An id or a setting is unknown, or nobody is there to judge.
        Error: Samples, responses or numbers cannot be made.

    Parity: thu-ml/MMTrustEval@a067801 mmte/tasks/base.py:BaseTask.pipeline. Not kept: responses are stored as they
    come, a failure is not a text, and samples without a response are not in the log.
    """
    around = around or Surroundings()
    log = Path(task.log_file)
    place = around.work_dir or log.with_name(f"{log.stem}.run")
    answers = place / PREDICTIONS
    if log.exists() and not around.restart and not _lacking(answers):
        return Outcome(log, answers, json.loads(log.read_text(encoding="utf-8")).get(TOTAL, {}), stood=True)
    setting = add_classifiers(EvaluatorContext(ask=registered_chat()), task.recipe_options())
    chains = [SequentialEvaluator(chain, setting) for chain in task.evaluator_seq_cfgs]
    judges = _judges(task) if _is_plain(task) else []
    if judges and not (around.judge.base_url or os.environ.get(BASE_URL)):
        raise UsageError(
            f"the chains ask {', '.join(judges)}, which has no address. Fix: --judge-base-url URL, or export {BASE_URL}"
        )
    place.mkdir(parents=True, exist_ok=True)
    samples = stored(task, place, around.source, around.image_roots)
    options, backend = _model(task, around)
    options = replace(options, resume=not around.restart, restart=around.restart)
    summary = predict(samples.folder, answers, options, backend, quiet=around.quiet)
    if summary.failed == summary.rows:
        reason = pq.read_table(answers, columns=["prediction_error"])["prediction_error"][0].as_py()
        raise Error(f"{task.model_id}: no sample has a response; the first: {reason}. Run it again to continue.")
    if _is_plain(task):
        text, unscored = _by_recipe(task, answers, around)
    else:
        text, unscored = _by_classes(chains, samples, answers), 0
    log.parent.mkdir(parents=True, exist_ok=True)
    publish(log, text.encode())
    return Outcome(log, answers, json.loads(text)[TOTAL], summary.rows, summary.failed, samples.rejected, unscored)


def _lacking(answers: Path) -> bool:
    """Tell whether an earlier run left samples without a response, or without the judge's."""
    if not answers.is_file():
        return False
    report = answers.with_name(REPORT)
    entries = json.loads(report.read_bytes())["entries"] if report.is_file() else []
    if any(entry["counts"]["judge_failed"] for entry in entries):
        return True
    statuses = pq.read_table(answers, columns=["prediction_status"])["prediction_status"].to_pylist()
    return any(status != OK for status in statuses)


def _model(task: Task, around: Surroundings) -> tuple[PredictOptions, object]:
    """Give who answers, and how; and the backend where it is an object."""
    kind = registry.found("chatmodel", task.model_id)
    if kind is not None and not around.model.keys() & _ELSEWHERE:
        if around.model:
            flags = ", ".join("--" + name.replace("_", "-") for name in around.model)
            raise UsageError(f"{flags}: {kind.__name__} of {task.model_id} has no such option. Leave it out.")
        backend = ChatBackend(open_model(kind, task.model_id), task.model_id, task.generation_kwargs)
        return PredictOptions(model=task.model_id, backend=build_plugin_name(backend)), backend
    hint = suggest_spelling(task.model_id, registry.list_chatmodels())
    if hint and not around.model.keys() & _ELSEWHERE and not Path(task.model_id).exists():
        raise UsageError(
            f"model_id: no class for {task.model_id!r}.{hint} For a model without a class give --model or --base-url."
        )
    given = {"model": task.model_id, **predict_options(task.generation_kwargs), **around.model}
    return build_options(PredictOptions, given, "predict"), None


def predict_options(generation_kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Give settings of a generation as options of `mmscore predict`.

    Raises:
        UsageError: A setting has no such option.

    Example:
        >>> predict_options({"max_new_tokens": 50, "do_sample": False, "temperature": 0.9, "stop_sequences": "."})
        {'max_new_tokens': 50, 'stop': ['.'], 'temperature': 0}
    """
    for name in generation_kwargs:
        if name not in _OPTIONS:
            hint = suggest_spelling(str(name), _OPTIONS)
            raise UsageError(
                f"generation_kwargs: no {name!r} for a model without a class.{hint} Known: {', '.join(_OPTIONS)}."
            )
    given = {_OPTIONS[name]: value for name, value in generation_kwargs.items() if value is not None}
    if not given.pop("do_sample", False):
        # The framework's models pass over what they would draw with, and those behind a service ask for temperature 0.
        given = {name: value for name, value in given.items() if name not in _SAMPLING} | {"temperature": 0}
    else:
        given["do_sample"] = True
    if "stop" in given:
        given["stop"] = [given["stop"]] if isinstance(given["stop"], str) else list(given["stop"])
    return given


def _is_plain(task: Task) -> bool:
    """Tell whether a built-in recipe runs the chains: with the framework's evaluators and metrics, and a judge."""
    links = [link for chain in task.evaluator_seq_cfgs for link in chain.items()]
    own = all(registry.found("evaluator", name) is KitEvaluator for name, _ in links)
    metrics = {metric for _, settings in links for metric in settings[METRICS_CFG]}
    known = all(metric in MEASURES for metric in metrics) and supported_metrics.keys() == MEASURES.keys()
    return own and known and all(registry.found("chatmodel", model) is None for model in _judges(task))


def _judges(task: Task) -> list[str]:
    settings = [own for chain in task.evaluator_seq_cfgs for own in chain.values()]
    return list(dict.fromkeys(own["model_id"] for own in settings if "prompt_template" in own))


def _by_recipe(task: Task, answers: Path, around: Surroundings) -> tuple[str, int]:
    file = answers.with_name("task.json")
    file.write_text(json.dumps(task.recipe_options()), encoding="utf-8")
    models = _judges(task)
    judge = replace(around.judge, model=around.judge.model or tuple(models)) if models else None
    if len(models) > 1 and around.judge.model is None:
        raise UsageError(f"the chains ask {', '.join(models)}. Name one model that judges: --judge-model.")
    options = ScoreOptions(dataset=task.dataset_id, judge=judge, recipe_options=str(file))
    ((entry, scored),) = score_each([answers], [JUDGED if models else RULES], options, log=True)
    report = json.dumps(Report((entry,)).to_json(), ensure_ascii=False, indent=1)
    publish(answers.with_name(REPORT), report.encode() + b"\n")
    rows = scored.with_status(SCORED)
    # A judge that was asked twice about a sample has no one response: its own column is left out then.
    text = format_scored_log(
        rows, lambda _, version: build_chains(task.evaluator_seq_cfgs, ALONE, version), entry.version, whole=False
    )
    return text, entry.counts.unscored - entry.counts.failed


def _by_classes(chains: Sequence[SequentialEvaluator], samples: Stored, answers: Path) -> str:
    rows = pq.read_table(answers, columns=["id", "prediction", "prediction_status"]).to_pylist()
    asked = [(samples.samples[int(row["id"])], row["prediction"]) for row in rows if row["prediction_status"] == OK]
    columns = {
        "content": [sample["message"][0]["content"] for sample, _ in asked],
        "pred": [response for _, response in asked],
        "label": [sample["target"] for sample, _ in asked],
        "extra": [sample["extra"] for sample, _ in asked],
    }
    return format_log(evaluated(chains, columns)) + "\n"


def evaluated(chains: Sequence[SequentialEvaluator], columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Run chains over answered samples as the framework does: over all at once, and again over each subset.

    Args:
        chains: The chains; of two results with one key the later stays.
        columns: `content`, `pred`, `label` and `extra`, one value a sample.

    Returns:
        The framework's log.

    Raises:
        Error: As `build_log`.
    """

    def found(numbers: Sequence[int]) -> dict[str, Any]:
        own = [[columns[name][number] for number in numbers] for name in ("pred", "label", "extra")]
        return {key: value for chain in chains for key, value in chain(*own).items()}

    return build_log(columns, found)


class BaseTask:
    """A task in Python, as the framework's `run_task.py` makes it; see `Task` for the arguments."""

    def __init__(
        self,
        dataset_id: str,
        model_id: str,
        method_cfg: Mapping[str, Any] | None = None,
        dataset_cfg: Mapping[str, Any] | None = None,
        evaluator_seq_cfgs: Sequence[Mapping[str, Any]] = (),
        log_file: str | None = None,
        generation_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        """Check the values.

        Raises:
            UsageError: One is missing or of a wrong type.
        """
        given = {"dataset_id": dataset_id, "model_id": model_id, "log_file": log_file, "method_cfg": method_cfg}
        given |= {"dataset_cfg": dataset_cfg, "generation_kwargs": generation_kwargs}
        self.task = task_of({**given, "evaluator_seq_cfgs": list(evaluator_seq_cfgs)})

    def pipeline(self) -> Outcome:
        """Run the task; see `run_task`."""
        return run_task(self.task)
