"""Golden rules of ReForm-Eval's metrics and of its whole evaluation."""

from mmscore.kits.reform_eval.evaluation import evaluate, find_chosen_text, judge_choice
from mmscore.metrics.reform_instability import reform_instability
from mmscore.metrics.reform_round_trend import reform_round_trend
from mmscore.metrics.reform_word_match import compare_kie, compare_ocr


def _single_choice(given):
    result = judge_choice(
        given["prediction"], given["answer"], given["options"], given["infer_method"], given["alphabet"]
    )
    return {"correct": int(result.right), "pred_index": result.index}


def _ocr(given):
    match = compare_ocr(given["prediction"], given["answer"])
    return {"correct": int(match.right), "returned": match.prediction}


def _kie(given):
    answer, match = given["answer"], compare_kie(given["prediction"], given["answer"])
    if not isinstance(answer, list):
        return {"correct": int(match.right), "normalized_prediction": match.prediction}
    # The original writes what it rewrites into the caller's list, which is shown where it changed.
    changed = {"answer_list_after_call": list(match.references)} if list(match.references) != answer else {}
    return {"correct": int(match.right), "normalized_prediction": None, **changed}


def _evaluation(given):
    result = evaluate(
        given["records"],
        given["formulation"],
        multi_round_eval=given["multi_round_eval"],
        eval_stability=given["eval_stability"],
        infer_method=given["infer_method"],
    )
    return {"log": list(result.log), **result.numbers}


def _entropy(given):
    return {"instability": reform_instability(given["question2pred"].values())}


def _trend(given):
    trend = reform_round_trend(dict(given["round2metric"]))
    return {"corr": trend.correlation, "slope": trend.slope}


def _pred_result(given):
    result = judge_choice(given["prediction"], given["answer"], given["answer_options"], given["infer_method"])
    return [[given["sample_id"], find_chosen_text(result.index, given)]]


EVALUATION = "mmscore.compat.reform_eval.loader_eval"
CHOICE, OCR, KIE = (f"mmscore score --recipe reform_{name}" for name in ("singlechoice", "ocr", "kie"))
RULES = {
    ("reform_singlechoice", "metric_call"): (CHOICE, _single_choice),
    ("reform_singlechoice", "loader_eval"): (EVALUATION, _evaluation),
    ("reform_singlechoice", "entropy"): (EVALUATION, _entropy),
    ("reform_ocr", "metric_call"): (OCR, _ocr),
    ("reform_ocr", "loader_eval"): (EVALUATION, _evaluation),
    ("reform_kie", "metric_call"): (KIE, _kie),
    ("reform_kie", "loader_eval"): (EVALUATION, _evaluation),
    ("reform_multiround", "loader_eval_multi_round"): (EVALUATION, _evaluation),
    ("reform_multiround", "multi_round_eval"): (EVALUATION, _trend),
    ("reform_multiround", "pred_result"): (EVALUATION, _pred_result),
    ("reform_generation", "loader_eval"): (EVALUATION, _evaluation),
}
