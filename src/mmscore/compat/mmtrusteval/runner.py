"""A task of MMTrustEval from its samples to its log.

Everything that is made lies beside the log, in a folder `<log>.run`: `samples.json`, `dataset`,
`predictions.parquet` with its store of replies, `task.json` and, where a recipe gives the numbers, `report.json`.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
from msgspec.structs import replace

from mmconvert.core.errors import Error, UsageError, suggest_spelling
from mmscore.api import predict
from mmscore.compat.mmtrusteval.evaluators import KitEvaluator, SequentialEvaluator, registered_chat, supported_metrics
from mmscore.compat.mmtrusteval.registry import registry
from mmscore.compat.mmtrusteval.samples_in import Stored, stored
from mmscore.compat.mmtrusteval.task import Task, task_of
from mmscore.core.report import Report, publish
from mmscore.core.table import SCORED
from mmscore.infer.adapters.mmtrusteval import ChatBackend, open_model
from mmscore.kits.mmtrusteval.chains import METRICS_CFG
from mmscore.kits.mmtrusteval.connections import add_classifiers
from mmscore.kits.mmtrusteval.evaluators import ALONE, EvaluatorContext
from mmscore.kits.mmtrusteval.measures import MEASURES
from mmscore.kits.mmtrusteval.rows import build_chains
from mmscore.kits.mmtrusteval.scored_log import format_scored_log
from mmscore.kits.mmtrusteval.task_log import TOTAL, build_log, format_log
from mmscore.llm.response_cache import OK
from mmscore.scoring.evaluate import ScoreOptions, score_each
from mmscore.scoring.judging.request import JudgeRequest

RULES, JUDGED, JUDGE = "mmtrust_task", "mmtrust_judged", "mmtrust"
"""Recipes of the kit's tasks without and with a judge, and the judge."""

PREDICTIONS, REPORT = "predictions.parquet", "report.json"
_OPTIONS = {
    **{name: name for name in ("max_new_tokens", "do_sample", "temperature", "top_p", "top_k", "num_beams")},
    "stop_sequences": "stop",
    "output_scores": "output_scores",
}
_ELSEWHERE = frozenset(("model", "backend", "base_url"))
"""Options that name another model than the registered class."""

_SAMPLING = ("temperature", "top_p", "top_k")


class Surroundings(msgspec.Struct, frozen=True):
    """What a task does not say: where things lie, and who answers for an id without a class.

    Attributes:
        work_dir: Folder for what is made; None for the one beside the log.
        source: File with the samples, for a dataset without a class.
        image_roots: Folders of its pictures.
        model: Options of `mmscore predict` for a model without a class.
        judge: The judge's service; its model is the chain's unless it says another.
        restart: Forget stored replies.
        quiet: No progress.
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
        failed: Those without a reply; they are not in the log.
        rejected: Why samples could not be asked about.
        unscored: Rows with a reply and without a score.
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

    A log that stands there with all replies is left alone, as the kit leaves it.

    Args:
        task: The task.
        around: What the task does not say.

    Raises:
        UsageError: An id or a setting is unknown, or nobody is there to judge.
        Error: Samples, replies or numbers cannot be made.

    Parity: thu-ml/MMTrustEval@a067801 mmte/tasks/base.py:BaseTask.pipeline. Not kept: replies are stored as they
    come, a failure is no text, and samples without a reply are not in the log.
    """
    around = around or Surroundings()
    log = Path(task.log_file)
    place = around.work_dir or log.with_name(f"{log.stem}.run")
    answers = place / PREDICTIONS
    if log.exists() and not around.restart and not _lacking(answers):
        return Outcome(log, answers, json.loads(log.read_text(encoding="utf-8")).get(TOTAL, {}), stood=True)
    setting = add_classifiers(EvaluatorContext(ask=registered_chat()), task.recipe_options())
    chains = [SequentialEvaluator(chain, setting) for chain in task.evaluator_seq_cfgs]
    place.mkdir(parents=True, exist_ok=True)
    samples = stored(task, place, around.source, around.image_roots)
    summary = predict(
        samples.folder,
        answers,
        resume=not around.restart,
        restart=around.restart,
        quiet=around.quiet,
        **_model(task, around),
    )
    if summary.failed == summary.rows:
        raise Error(f"{task.model_id}: no sample has a reply; the first: {_reason(answers)}. Run it again to go on.")
    if _is_plain(task):
        text, unscored = _by_recipe(task, answers, around)
    else:
        text, unscored = _by_classes(chains, samples, answers), 0
    log.parent.mkdir(parents=True, exist_ok=True)
    publish(log, text.encode())
    return Outcome(log, answers, json.loads(text)[TOTAL], summary.rows, summary.failed, samples.rejected, unscored)


def _lacking(answers: Path) -> bool:
    """Tell whether an earlier run left samples without a reply, or without the judge's."""
    if not answers.is_file():
        return False
    report = answers.with_name(REPORT)
    entries = json.loads(report.read_bytes())["entries"] if report.is_file() else []
    if any(entry["counts"]["judge_failed"] for entry in entries):
        return True
    statuses = pq.read_table(answers, columns=["prediction_status"])["prediction_status"].to_pylist()
    return any(status != OK for status in statuses)


def _reason(answers: Path) -> str:
    return str(pq.read_table(answers, columns=["prediction_error"])["prediction_error"][0].as_py())


def _model(task: Task, around: Surroundings) -> dict[str, Any]:
    """Give who answers, as `mmscore.predict` takes it."""
    kind = registry.found("chatmodel", task.model_id)
    if kind is not None and not around.model.keys() & _ELSEWHERE:
        if around.model:
            flags = ", ".join("--" + name.replace("_", "-") for name in around.model)
            raise UsageError(f"{flags}: {kind.__name__} of {task.model_id} has no such option. Leave it out.")
        model = open_model(kind, task.model_id)
        return {"model": task.model_id, "backend": ChatBackend(model, task.model_id, task.generation_kwargs)}
    hint = suggest_spelling(task.model_id, registry.list_chatmodels())
    if hint and not around.model.keys() & _ELSEWHERE and not Path(task.model_id).exists():
        raise UsageError(
            f"model_id: no class for {task.model_id!r}.{hint} For a model without a class give --model or --base-url."
        )
    return {"model": task.model_id, **predict_options(task.generation_kwargs), **around.model}


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
        # The kit's models pass over what they would draw with, and those behind a service ask for temperature 0.
        given = {name: value for name, value in given.items() if name not in _SAMPLING} | {"temperature": 0}
    else:
        given["do_sample"] = True
    if "stop" in given:
        given["stop"] = [given["stop"]] if isinstance(given["stop"], str) else list(given["stop"])
    return given


def _is_plain(task: Task) -> bool:
    """Tell whether a recipe of ours runs the chains: with the kit's own evaluators and metrics, and a judge."""
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
    # A judge that was asked twice about a sample has no one reply: its own column is left out then.
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
    """Run chains over answered samples as the kit does: over all at once, and again over each subset.

    Args:
        chains: The chains; of two results with one key the later stays.
        columns: `content`, `pred`, `label` and `extra`, one value a sample.

    Returns:
        The kit's log.

    Raises:
        Error: As `build_log`.
    """

    def found(numbers: Sequence[int]) -> dict[str, Any]:
        own = [[columns[name][number] for number in numbers] for name in ("pred", "label", "extra")]
        return {key: value for chain in chains for key, value in chain(*own).items()}

    return build_log(columns, found)


class BaseTask:
    """A task in Python, as the kit's `run_task.py` makes it; see `Task` for the arguments."""

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
