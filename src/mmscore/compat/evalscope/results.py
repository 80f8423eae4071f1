"""What EvalScope gives back: reports, its table, the `{model}_{dataset}_acc` result of its VLMEvalKit backend."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mmscore.compat.evalscope.config import TaskConfig, parse_task_config
from mmscore.compat.evalscope.mapping import RELEASES, is_vlmevalkit, version_of
from mmscore.compat.evalscope.native import BENCHMARKS, subsets_of
from mmscore.kits.evalscope.aggregation import Identity, build_label, parse_identity
from mmscore.kits.evalscope.report import MetricScore, ReportHeader, SubsetScore, build_report_json, draw_report_table
from mmscore.kits.evalscope.text_grid import draw_table
from mmscore.workflow.outcome import Outcome

_REPORT = "report.json"
_MAIN = "Rouge-L-R"
_SCORES = (
    *("acc", *(f"bleu-{n}" for n in range(1, 5))),
    *(f"Rouge-{n}-{statistic}" for n in ("1", "2", "L") for statistic in "RPF"),
)
"""Scores of the two benchmarks, by the recipes' names."""

Line = Mapping[str, Any]


def shown(given: TaskConfig | Mapping[str, Any], outcomes: Sequence[Outcome]) -> str:
    """Draw what the kit prints at the end of a task: a table a benchmark, or one a model and table.

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
    """Read the kit's own table of a run; a recipe that has none gives its numbers as `Overall` and so on."""
    (entry, *_) = json.loads((outcome.folder / _REPORT).read_bytes())["entries"]
    lines: Sequence[Line] = entry["table"]
    values = [metric["value"] for metric in entry["metrics"].values()]
    return lines or [{"Overall": values[0], **dict(zip(list(entry["metrics"])[1:], values[1:], strict=True))}]


def _has_numbers(outcome: "Outcome") -> bool:
    # A report over rows of which none was answered has a recipe, but no number.
    return outcome.error is None and any((outcome.scores or {}).values())


def acc_result(model: str, dataset: str, lines: Sequence[Line]) -> dict[str, dict[str, str]]:
    """Give a table as the kit's summary does: its first line, as texts; nothing of an empty one.

    Example:
        >>> acc_result("qwen-vl-chat", "custom_vqa", [{"Overall": 1.0}])
        {'qwen-vl-chat_custom_vqa_acc': {'Overall': '1.0'}}
    """
    if not lines:
        return {}
    line = {str(name): value if isinstance(value, str) else json.dumps(value) for name, value in lines[0].items()}
    return {f"{model}_{dataset}_acc": line}


def upright_text(lines: Sequence[Line]) -> str:
    """Draw a table as the kit prints it: upright where it has more columns than lines."""
    names = list(lines[0])
    if len(lines) < len(names):
        rows: list[list[Any]] = [[name, *(line.get(name) for line in lines)] for name in names]
    else:
        rows = [[number, *(line.get(name) for name in names)] for number, line in enumerate(lines)]
    return draw_table(rows, style="simple")


def _measured(config: TaskConfig, outcomes: Sequence[Outcome]) -> Iterator[tuple[list[MetricScore], ReportHeader]]:
    """Gather the subsets of each benchmark, benchmarks in the order of the kit's table."""
    release = RELEASES[version_of(config)]
    identities = {build_label(score, release): parse_identity(score) for score in _SCORES}
    runs = {outcome.dataset: outcome for outcome in outcomes if _has_numbers(outcome)}
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
            yield metrics, _setting(benchmark, runs[names[0].run].model, metrics)


def _setting(benchmark: str, model: str, metrics: Sequence[MetricScore]) -> ReportHeader:
    main = parse_identity(_MAIN)
    primary = main if any(metric.identity == main for metric in metrics) else None
    return ReportHeader(model, benchmark, BENCHMARKS[benchmark].pretty, {}, overall=True, primary=primary)
