"""Yes or no as MMTrustEval reads it, against labels 1 and 0.

Parity: thu-ml/MMTrustEval@a067801 mmte/evaluators/rule_eval.py, `rule_yes_or_no_eval`, and scikit-learn's rates.
A response that holds neither counts as no.
"""

from mmscore.kits.mmtrusteval.rows import build_chain_recipe

METRICS = ("accuracy_score", "precision_score", "recall_score", "f1_score", "pred_mean")

RECIPE = build_chain_recipe(
    [{"rule_yes_or_no_eval": {"metrics_cfg": {metric: {} for metric in METRICS}}}],
    summary="Yes or no as MMTrustEval reads it, labels 1 and 0",
)
