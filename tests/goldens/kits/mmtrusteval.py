"""Golden rules of MMTrustEval's evaluators, metrics, chains and task log."""

import math

import numpy as np

from goldens.rules import Whole
from mmscore.kits.mmtrusteval.benchmark_rank import compute_benchmark_rank
from mmscore.kits.mmtrusteval.chains import read_chain, run_chain
from mmscore.kits.mmtrusteval.evaluators import EVALUATORS, EvaluatorContext
from mmscore.kits.mmtrusteval.measures import MEASURES, compute_measure
from mmscore.kits.mmtrusteval.task_log import evaluate_samples, format_log
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
    config = {given["evaluator_id"]: {**given["kwargs"], "metrics_cfg": {}}}
    columns = given["preds"], given["labels"], given["extras"]
    (link,) = read_chain(config).links
    return {"preds": link.process_all(*columns), "labels": columns[1], "extras": columns[2]}


def _sequence(case):
    given = decoded(case["input"])
    replies, prompts = iter(given.get("judge_replies", ())), []

    def ask(model, prompt, generation):
        prompts.append(prompt)
        return next(replies)

    chain = read_chain(given["evaluator_seq_cfg"], EvaluatorContext(ask=ask))
    found = run_chain(chain, given["preds"], given["labels"], given["extras"])
    shown = {"results": {key: _plain(value) for key, value in found.items()}, "key_order": list(found)}
    return shown | ({"judge_prompts": prompts} if "judge_replies" in given else {})


def _task(given):
    given = decoded(given)
    log = evaluate_samples([read_chain(config) for config in given["evaluator_seq_cfgs"]], given["responses"])
    format_log(log)
    return {"json": log, "key_order": list(log), "nan_literal": _holds_nan(log)}


def _holds_nan(value):
    if isinstance(value, dict | list):
        return any(map(_holds_nan, value.values() if isinstance(value, dict) else value))
    return isinstance(value, float) and math.isnan(value)


def _scores(task):
    return lambda given: {"scores": compute_task_scores(task, decoded(given["logs"]))}


def _rank(given):
    rank = compute_benchmark_rank(given["results"])
    return {"tasks": rank.tasks, "subaspects": rank.subaspects, "total": rank.total}


RULES = {
    **{("mmte_metrics", name): _metric for name in MEASURES},
    **{("mmte_rules", name): _rule for name in EVALUATORS if name.startswith("rule_")},
    ("mmte_sequence", "sequence"): Whole(_sequence),
    ("mmte_task", "task"): _task,
    **{
        ("mmte_scores", f"{n[0]}{n[1]}"): _scores(f"{n[0].upper()}.{n[1]}")
        for n in ["f4", "f5", "f6", "f7", "p3", "p4", "p5", "p6", "s4"]
    },
    ("mmte_scores", "rank"): _rank,
}
