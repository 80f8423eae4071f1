"""The share of responses that MMTrustEval's phrases take for a refusal (RtA), whatever was asked.

Parity: thu-ml/MMTrustEval@a067801 and v0.2.1 mmte/evaluators/rule_eval.py, `rule_reject_template_eval`. English
phrases, found inside words too: "a public park" and "terror" are refusals.
"""

from mmscore.kits.mmtrusteval.rows import build_chain_recipe

RECIPE = build_chain_recipe(
    [{"rule_reject_template_eval": {"metrics_cfg": {"pred_mean": {}}}}],
    summary="Share of refusals by MMTrustEval's phrases, on any data",
)
