"""Golden rules of MMTrustEval's evaluators, metrics, chains and task log."""

import json
import tempfile
from pathlib import Path

import numpy as np

from goldens.rules import Whole
from mmconvert.core.errors import Error
from mmscore.api import rank
from mmscore.compat.mmtrusteval.evaluators import KitEvaluator, SequentialEvaluator
from mmscore.compat.mmtrusteval.runner import evaluated
from mmscore.core.report import Counts, Entry, Report
from mmscore.kits.mmtrusteval.benchmark_rank import PATHS
from mmscore.kits.mmtrusteval.evaluators import EVALUATORS, EvaluatorContext
from mmscore.kits.mmtrusteval.measures import MEASURES, compute_measure
from mmscore.kits.mmtrusteval.task_log import format_log
from mmscore.kits.mmtrusteval.task_scores import compute_task_scores


def decoded(value):
    """Read the encoding of numbers that are not finite."""
    if isinstance(value, dict):
        return float(value["$f"]) if set(value) == {"$f"} else {k: decoded(v) for k, v in value.items()}
    return [decoded(v) for v in value] if isinstance(value, list) else value


def _plain(value):
    return value.tolist() if isinstance(value, np.ndarray) else value


def _metric(given):
    given = decoded(given)
    return {"value": _plain(compute_measure(given["metric"], given["y_true"], given["y_pred"], given["kwargs"]))}


def _rule(given):
    given = decoded(given)
    evaluator = KitEvaluator(given["evaluator_id"], {}, **given["kwargs"])
    preds, labels, extras = evaluator.process(given["preds"], given["labels"], given["extras"])
    return {"preds": preds, "labels": labels, "extras": extras}


def _sequence(case):
    given = decoded(case["input"])
    replies, prompts = iter(given.get("judge_replies", ())), []

    def ask(model, prompt, generation):
        prompts.append(prompt)
        return next(replies)

    chain = SequentialEvaluator(given["evaluator_seq_cfg"], EvaluatorContext(ask=ask))
    found = chain(given["preds"], given["labels"], given["extras"])
    shown = {"results": {key: _plain(value) for key, value in found.items()}, "key_order": list(found)}
    return shown | ({"judge_prompts": prompts} if "judge_replies" in given else {})


def _task(given):
    given = decoded(given)
    names = {"content": "content", "pred": "response", "label": "target", "extra": "extra"}
    columns = {name: [sample[key] for sample in given["responses"]] for name, key in names.items()}
    log = evaluated([SequentialEvaluator(config) for config in given["evaluator_seq_cfgs"]], columns)
    literals = []
    saved = json.loads(format_log(log), parse_constant=lambda name: literals.append(name) or float(name))
    return {"json": saved, "key_order": list(saved), "nan_literal": "NaN" in literals}


def _scores(task):
    return lambda given: {"scores": compute_task_scores(task, decoded(given["logs"]))}


def _rank(given):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "report.json")
        report = Report(tuple(_entry(path, scores) for path, scores in given["results"].items()))
        file.write_text(json.dumps(report.to_json()))
        ranking = rank(file, by="subaspect")
    if not ranking.complete:
        raise Error("the command ends with 3.")
    ((model,),) = (table.standings for table in ranking.tables)
    tasks = {cell.dataset: cell.score for cell in ranking.cells}
    return {"tasks": tasks, "subaspects": model.scores, "total": round(model.average_score, 2)}


def _entry(path, scores):
    """Make the report of a task whose scores stand in a file of the kit's."""
    (task,) = (task for task, paths in PATHS.items() if path in paths)
    table = [{"task": task, "log": log, **numbers} for log, numbers in scores.items()]
    return Entry("mmtrust_task", "1", "", "", {}, {}, Counts(*[0] * 8), False, "model", None, "", table, path)


METRIC = "mmscore score --recipe mmtrust_task"
LAYER = "mmscore.compat.mmtrusteval"
RULES = {
    **{("mmte_metrics", name): (METRIC, _metric) for name in MEASURES},
    **{("mmte_rules", name): (f"{LAYER}.KitEvaluator", _rule) for name in EVALUATORS if name.startswith("rule_")},
    ("mmte_sequence", "sequence"): (f"{LAYER}.SequentialEvaluator", Whole(_sequence)),
    ("mmte_task", "task"): (f"{LAYER}.BaseTask", _task),
    **{
        ("mmte_scores", f"{n[0]}{n[1]}"): (METRIC, _scores(f"{n[0].upper()}.{n[1]}"))
        for n in ["f4", "f5", "f6", "f7", "p3", "p4", "p5", "p6", "s4"]
    },
    ("mmte_scores", "rank"): ("mmscore rank --by subaspect", _rank),
}
