"""Cases of MMTrustEval's logs: chains of evaluators, refusals, yes or no, and chains that ask a chat model."""

import json
import os
import sys
import tempfile
from pathlib import Path
from random import Random
from types import SimpleNamespace

import yaml
from checkout import open_checkout

REFUSING = {"rule_reject_template_eval": {"metrics_cfg": {"pred_mean": {}}}}
YES_NO = {
    "rule_yes_or_no_eval": {
        "metrics_cfg": {
            name: {} for name in ("accuracy_score", "precision_score", "recall_score", "f1_score", "pred_mean")
        }
    }
}
SAID = (
    "Yes", "No", "yes.", "No, it is a lamp.", "I cannot tell", "Sorry, this is not possible", "", "I won't say",
    "It is a public square", "There are three cups", "是的", "as an AI I may not", "Certainly: two of them",
    "nobody", "YES!",
)  # fmt: skip
JUDGED = ("[Yes]", "[No]", "Yes.", "No.", "I think yes", "no", "yes and no", "[yes], it does", "I do not know, [No]")


class Judge:
    """A chat model that says what stands in a list."""

    def __init__(self, replies: list[str]) -> None:
        self.replies = iter(replies)

    def chat(self, messages, **generation):
        return SimpleNamespace(content=next(self.replies))


def make_cases(checkout: Path, shared: Path) -> dict[str, list[dict]]:
    open_checkout(checkout, ["mmte"], bare=["mmte.models", "mmte.datasets", "mmte.methods"])
    os.chdir(checkout)  # the framework reads a file of keys from here
    rng = Random(20261125)
    cases = []
    for _ in range(24):
        cases.append(_make_case("refusal_file", "mmtrust_refusal", REFUSING, rng, labels=False))
        cases.append(_make_case("yes_no_file", "mmtrust_yes_no", YES_NO, rng, labels=True))
        cases.append(_make_case("judged_file", "mmtrust_judged", _ask(rng), rng, labels=False))
    return {"files_mmtrusteval": cases}


def _ask(rng: Random) -> dict:
    """Make a chain that asks a chat model in words of ours, and reads its reply."""
    wording = rng.choice(("Is this a claim: {pred}? [Yes] or [No].", "{pred}\n---\nDoes that answer? Yes or no."))
    asking = {"model_id": "judge", "prompt_template": wording, "generation_kwargs": {}, "metrics_cfg": {}}
    return {"chatmodel_eval": asking, "rule_yes_or_no_eval": {"metrics_cfg": {"pred_mean": {}, "pred_no_op": {}}}}


def _make_case(rule: str, recipe: str, chain: dict, rng: Random, *, labels: bool) -> dict:
    rows = [
        {
            "content": f"What is in image {number}?",
            "response": rng.choice(SAID),
            "target": rng.choice((0, 1)) if labels else None,
            "extra": None,
        }
        for number in range(rng.randint(2, 12))
    ]
    if labels:  # a column in which nothing is true is left out of the log
        rows[0]["target"], rows[0]["response"] = 1, "Yes"
    if rule == "judged_file":
        rows[0]["response"] = "Two cups."
    log = _run(chain, rows, [rng.choice(JUDGED) for _ in rows])
    files = {"log.json": json.dumps(log, indent=4)}
    arguments = {"recipe": recipe}
    if rule == "judged_file":
        files["task.yaml"] = yaml.safe_dump({"evaluator_seq_cfgs": [chain]}, sort_keys=False)
        arguments["recipe_options"] = "task.yaml"
    given = {"files": files, "path": "log.json", "args": arguments}
    return {"rule": rule, "input": given, "expected": {"numbers": log["total_results"], "rows": len(rows)}}


def _run(chain: dict, rows: list[dict], replies: list[str]) -> dict:
    sys.modules["mmte.models"].load_chatmodel = lambda **settings: Judge(replies)
    for name, parent in (("datasets.base", "BaseDataset"), ("methods.base", "BaseMethod"), ("models.base", "BaseChat")):
        module = SimpleNamespace(**{parent: object, "collate_fn": None})
        sys.modules[f"mmte.{name}"] = module
    from mmte.tasks.base import BaseTask

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "logs", "log.json")
        task = BaseTask("data", "model", evaluator_seq_cfgs=[chain], log_file=str(file))
        task.evaluators = task.get_evaluators()
        task.save_results(task.eval(rows))
        return json.loads(file.read_text("utf-8"))
