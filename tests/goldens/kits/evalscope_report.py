"""Golden rule of EvalScope's report file, data frame and table."""

from goldens.rules import per_version
from mmscore.kits.evalscope.aggregation import Identity, ResponseScores
from mmscore.kits.evalscope.report import (
    ReportHeader,
    aggregate_metrics,
    build_report_json,
    build_report_rows,
    choose_report_metric,
    draw_report_table,
)
from mmscore.scoring.collector import gather_scores

VERSIONS = ("1.3.0", "1.10.0", "1.14.1")
MOST_ROWS = 16
"""The golden file leaves out tables that are longer."""


def _report(given):
    return per_version(lambda version: _one(given, version), VERSIONS)


def _one(given, version):
    subsets = {name: _replies(samples) for name, samples in given["subsets"].items()}
    wanted = given.get("primary")
    primary = wanted and Identity(
        wanted["name"], wanted["aggregation"], tuple(sorted(wanted.get("dimensions", {}).items()))
    )
    setting = ReportHeader(
        given["model"], given["dataset"], "P", given["category_map"], given["add_overall_metric"], primary
    )
    metrics = aggregate_metrics(subsets, setting.category_map, given["aggregation"], version)
    report = build_report_json(metrics, setting, version)
    chosen = choose_report_metric(metrics, setting, version)
    columns, rows = build_report_rows(metrics, setting, version)
    found = {"report": report, "score": chosen and chosen.score, "columns": columns}
    if version == "1.3.0" or len(rows) <= MOST_ROWS:
        found["rows"] = rows
    if len(rows) <= MOST_ROWS:
        found["table"] = draw_report_table(metrics, setting, version)
    return found


def _replies(samples):
    return ResponseScores(
        gather_scores([sample["value"] for sample in samples]),
        [sample.get("group") for sample in samples],
        [sample.get("extracted", "") for sample in samples],
    )


RULES = {("evalscope_report", "evalscope_report"): ("mmscore.compat.evalscope.run_task", _report)}
