"""What EvalScope gives back: reports, its table, files, and the `{model}_{dataset}_acc` of its VLMEvalKit backend.

Files of a run lie where EvalScope has them, in its own shape: its `use_cache` and its viewers read them.

<run>/configs/task_config.yaml                            the task, without keys of services
<run>/logs/eval_log.log                                   the table
<run>/predictions/<model>/<benchmark>_<subset>.jsonl      responses; images of the messages are left out
<run>/reports/<model>/<benchmark>.json                    what `run_task` returns

<work_dir>/<model>/<model>_<table>.xlsx, _acc.csv         responses and numbers of the VLMEvalKit backend

Source: modelscope/evalscope 1.3.0 to 1.14.1 evalscope/utils/io_utils.py:OutputsStructure,
evalscope/api/evaluator/cache.py:ModelResult.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

from mmconvert.core.errors import UsageError
from mmscore.compat.evalscope.config import TaskConfig, parse_task_config
from mmscore.compat.evalscope.mapping import RELEASES, is_vlmevalkit, version_of
from mmscore.compat.evalscope.native import BENCHMARKS, subsets_of
from mmscore.compat.vlmevalkit.recipes import write_answered_rows
from mmscore.compat.vlmevalkit.tables import dump
from mmscore.core.report import publish
from mmscore.kits.evalscope.aggregation import Identity, build_label, parse_identity
from mmscore.kits.evalscope.report import MetricScore, ReportHeader, SubsetScore, build_report_json, draw_report_table
from mmscore.kits.evalscope.text_grid import draw_table
from mmscore.llm.response_cache import OK
from mmscore.workflow.task_file import Plan
from mmscore.workflow.task_readers import Outcome

_REPORT = "report.json"
_MAIN = "Rouge-L-R"
_SCORES = (
    *("acc", *(f"bleu-{n}" for n in range(1, 5))),
    *(f"Rouge-{n}-{statistic}" for n in ("1", "2", "L") for statistic in "RPF"),
)
"""Scores of the two benchmarks, by the recipes' names."""

Line = Mapping[str, Any]
_COLUMNS = (
    *("id", "variant", "source", "messages", "prediction", "prediction_status", "thinking", "finish_reason"),
    *("prompt_tokens", "completion_tokens"),
)
_PREDICTIONS = "predictions.parquet"
_STOPS = {"stop": "stop", "length": "max_tokens", "content_filter": "content_filter"}


def shown(given: TaskConfig | Mapping[str, Any], outcomes: Sequence[Outcome]) -> str:
    """Draw what the framework prints at the end of a task: a table a benchmark, or one a model and table.

    Args:
        given: The task.
        outcomes: What became of its runs; those without a report are passed over.
    """
    config = parse_task_config(given)
    if is_vlmevalkit(config):
        return "\n".join(upright_text(table_of(outcome)) for outcome in outcomes if _has_numbers(outcome))
    release = RELEASES[version_of(config)]
    return "\n".join(draw_report_table(metrics, setting, release) for metrics, setting in _measured(config, outcomes))


def result_of(config: TaskConfig, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Give what `run_task` returns.

    Returns:
        For EvalScope's own benchmarks the report's JSON object by benchmark; for the VLMEvalKit backend the
        first line of each table as texts, by `{model}_{dataset}_acc`.
    """
    if is_vlmevalkit(config):
        runs = [outcome for outcome in outcomes if _has_numbers(outcome)]
        return {name: line for o in runs for name, line in acc_result(o.model, o.dataset, table_of(o)).items()}
    release = RELEASES[version_of(config)]
    return {
        setting.dataset: build_report_json(metrics, setting, release)
        for metrics, setting in _measured(config, outcomes)
    }


def table_of(outcome: "Outcome") -> Sequence[Line]:
    """Read the framework's own table of a run; a recipe that has none gives its numbers as `Overall` and so on."""
    (entry, *_) = json.loads((outcome.folder / _REPORT).read_bytes())["entries"]
    lines: Sequence[Line] = entry["table"]
    values = [metric["value"] for metric in entry["metrics"].values()]
    return lines or [{"Overall": values[0], **dict(zip(list(entry["metrics"])[1:], values[1:], strict=True))}]


def _has_numbers(outcome: "Outcome") -> bool:
    # A report over rows of which none was answered has a recipe, but no number.
    return outcome.error is None and any((outcome.scores or {}).values())


def acc_result(model: str, dataset: str, lines: Sequence[Line]) -> dict[str, dict[str, str]]:
    """Give a table as the framework's summary does: its first line, as texts; nothing of an empty one.

    Example:
        >>> acc_result("qwen-vl-chat", "custom_vqa", [{"Overall": 1.0}])
        {'qwen-vl-chat_custom_vqa_acc': {'Overall': '1.0'}}
    """
    if not lines:
        return {}
    line = {str(name): value if isinstance(value, str) else json.dumps(value) for name, value in lines[0].items()}
    return {f"{model}_{dataset}_acc": line}


def upright_text(lines: Sequence[Line]) -> str:
    """Draw a table as the framework prints it: upright where it has more columns than lines."""
    names = list(lines[0])
    if len(lines) < len(names):
        rows: list[list[Any]] = [[name, *(line.get(name) for line in lines)] for name in names]
    else:
        rows = [[number, *(line.get(name) for name in names)] for number, line in enumerate(lines)]
    return draw_table(rows, style="simple")


def _measured(config: TaskConfig, outcomes: Sequence[Outcome]) -> Iterator[tuple[list[MetricScore], ReportHeader]]:
    """Gather the subsets of each benchmark, benchmarks in the order of the framework's table."""
    release = RELEASES[version_of(config)]
    identities = {build_label(score, release): parse_identity(score) for score in _SCORES}
    runs = {outcome.dataset: outcome for outcome in outcomes if _has_numbers(outcome)}
    main = parse_identity(_MAIN)
    for benchmark in sorted({subset.benchmark for subset in subsets_of(config)}):
        found: dict[str, list[SubsetScore]] = {}
        names = [subset for subset in subsets_of(config) if subset.benchmark == benchmark and subset.run in runs]
        for subset in names:
            for line in table_of(runs[subset.run]):
                score = SubsetScore(subset.name, (line["Cat.0"],), line["Score"], line["Num"], None)
                found.setdefault(line["Metric"], []).append(score)
        metrics = [
            MetricScore(identities.get(label, Identity(label)), label, tuple(scores)) for label, scores in found.items()
        ]
        if metrics:
            primary = main if any(metric.identity == main for metric in metrics) else None
            model, pretty = runs[names[0].run].model, BENCHMARKS[benchmark].pretty
            yield metrics, ReportHeader(model, benchmark, pretty, {}, overall=True, primary=primary)


def write_outputs(
    config: TaskConfig, folder: Path, outcomes: Sequence[Outcome], reports: Mapping[str, Any], table: str
) -> None:
    """Write the framework's files beside ours.

    Args:
        config: The task.
        folder: Folder of the run.
        outcomes: What became of each subset.
        reports: Report by benchmark.
        table: The table as it is printed.

    Raises:
        UsageError: The folder cannot be written to.
    """
    keys = {name: list(value) if isinstance(value, tuple) else value for name, value in config.to_dict().items()}
    _write(folder / "configs" / "task_config.yaml", yaml.safe_dump(keys, allow_unicode=True, sort_keys=False))
    _write(folder / "logs" / "eval_log.log", table + "\n")
    for outcome in outcomes:
        if (outcome.folder / _PREDICTIONS).is_file():
            lines = [json.dumps(line, ensure_ascii=False) for line in prediction_lines(outcome.folder / _PREDICTIONS)]
            _write(folder / "predictions" / outcome.model / f"{outcome.dataset}.jsonl", "\n".join([*lines, ""]))
    for benchmark, report in reports.items():
        place = folder / "reports" / report["model_name"] / f"{benchmark}.json"
        _write(place, json.dumps(report, ensure_ascii=False, indent=4))


def write_vlmevalkit_files(outcomes: Sequence[Outcome]) -> None:
    """Write `MODEL/MODEL_TABLE.xlsx` and, where there are numbers, `_acc.csv`, as the backend does."""
    for outcome in outcomes:
        folder, predictions = outcome.folder.parent, outcome.folder / _PREDICTIONS
        # Older numbers are of other responses.
        acc = folder / f"{outcome.model}_{outcome.dataset}_acc.csv"
        acc.unlink(missing_ok=True)
        if predictions.is_file():
            write_answered_rows(predictions, folder, outcome.model, outcome.dataset)
        if _has_numbers(outcome):
            dump(table_of(outcome), acc)


def refuse_the_kits_own(folder: Path, plan: Plan) -> None:
    """Refuse to go on with a run of EvalScope's own: every row would be asked again.

    Args:
        folder: Folder of the run.
        plan: What is to be done.

    Raises:
        UsageError: Responses of the framework stand there, and none of ours.
    """
    for model in plan.models:
        for dataset in plan.datasets:
            kits = folder / "predictions" / model.name / f"{dataset.name}.jsonl"
            if kits.is_file() and not (folder / model.name / dataset.name).exists():
                raise UsageError(
                    f"{kits}: are responses of EvalScope's own run. Score them with `mmscore {kits} "
                    "--answers DATASET`, "
                    "DATASET being made by mmconvert convert, or name another folder."
                )


def prediction_lines(predictions: Path) -> Iterator[dict[str, Any]]:
    """Give the lines of EvalScope's predictions file, one a row that has a response.

    Args:
        predictions: Our predictions file; its dataset was made of one file.

    Yields:
        `index` (place of the row in its file, for several responses a row counted on), `model`, `model_output`,
        `messages` with their texts.
    """
    table = pq.read_table(predictions, columns=[*_COLUMNS, "model"])
    responses = 1 + max((variant or 0 for variant in table["variant"].to_pylist()), default=0)
    for row in table.to_pylist():
        if row["prediction_status"] == OK:
            yield _line(row, row["source"]["row"] * responses + (row["variant"] or 0))


def _line(row: Mapping[str, Any], index: int) -> dict[str, Any]:
    said = [{"type": "text", "text": row["prediction"]}]
    if row["thinking"] is not None:
        said.insert(0, {"type": "reasoning", "reasoning": row["thinking"]})
    response = {"role": "assistant", "content": said if len(said) > 1 else row["prediction"], "source": "generate"}
    tokens = [row[name] or 0 for name in ("prompt_tokens", "completion_tokens")]
    usage = {"input_tokens": tokens[0], "output_tokens": tokens[1], "total_tokens": sum(tokens)}
    stop = _STOPS.get(row["finish_reason"] or "", "unknown")
    output = {"model": row["model"], "choices": [{"message": response, "stop_reason": stop}], "usage": usage}
    messages = []
    for turn in row["messages"]:
        texts = [{"type": "text", "text": part["text"]} for part in turn["content"] if part["type"] == "text"]
        messages.append({"role": turn["role"], "content": texts})
    about = {"index": index, "model": row["model"], "model_output": output}
    return {**about, "messages": [*messages, response], "metadata": {}}


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    publish(file, text.encode())
