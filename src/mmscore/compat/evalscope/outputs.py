"""Files of a run where EvalScope has them, in its own shape: its `use_cache` and its viewers read them.

<run>/configs/task_config.yaml                            the task, without keys of services
<run>/logs/eval_log.log                                   the table
<run>/predictions/<model>/<benchmark>_<subset>.jsonl      replies; pictures of the messages are left out
<run>/reports/<model>/<benchmark>.json                    what `run_task` returns

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
from mmscore.compat.evalscope.config import TaskConfig
from mmscore.core.report import publish
from mmscore.llm.response_cache import OK
from mmscore.workflow.outcome import Outcome

_COLUMNS = (
    *("id", "variant", "source", "messages", "prediction", "prediction_status", "thinking", "finish_reason"),
    *("prompt_tokens", "completion_tokens"),
)
_PREDICTIONS = "predictions.parquet"
_STOPS = {"stop": "stop", "length": "max_tokens", "content_filter": "content_filter"}


def write_outputs(
    config: TaskConfig, folder: Path, outcomes: Sequence[Outcome], reports: Mapping[str, Any], table: str
) -> None:
    """Write the kit's files beside ours.

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


def refuse_the_kits_own(folder: Path, task: Mapping[str, Any]) -> None:
    """Refuse to go on with a run of EvalScope's own: every row would be asked again.

    Args:
        folder: Folder of the run.
        task: What is to be done, in the shape of docs/run.md.

    Raises:
        UsageError: Replies of the kit stand there, and none of ours.
    """
    for model in task["models"]:
        for dataset in task["datasets"]:
            kits = folder / "predictions" / model["name"] / f"{dataset['name']}.jsonl"
            if kits.is_file() and not (folder / model["name"] / dataset["name"]).exists():
                raise UsageError(
                    f"{kits}: are replies of EvalScope's own run. Score them with `mmscore {kits} --answers DATASET`, "
                    "DATASET being made by mmconvert convert, or name another folder."
                )


def prediction_lines(predictions: Path) -> Iterator[dict[str, Any]]:
    """Give the lines of EvalScope's predictions file, one a row that has a reply.

    Args:
        predictions: Our predictions file; its dataset was made of one file.

    Yields:
        `index` (place of the row in its file, for several replies a row counted on), `model`, `model_output`,
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
    asked = [_message(turn) for turn in row["messages"]]
    return {
        "index": index,
        "model": row["model"],
        "model_output": output,
        "messages": [*asked, response],
        "metadata": {},
    }


def _message(turn: Mapping[str, Any]) -> dict[str, Any]:
    texts = [{"type": "text", "text": part["text"]} for part in turn["content"] if part["type"] == "text"]
    return {"role": turn["role"], "content": texts}


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    publish(file, text.encode())
