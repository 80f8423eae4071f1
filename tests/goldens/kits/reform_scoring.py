"""Golden rules of ReForm-Eval's metrics and of its whole evaluation."""

from mmconvert.core.errors import RowError
from mmscore.kits.reform_eval.evaluation import evaluate, find_chosen_text, judge_choice
from mmscore.metrics.reform_instability import reform_instability
from mmscore.metrics.reform_round_trend import reform_round_trend
from mmscore.metrics.reform_word_match import match_kie, match_ocr, normalize_kie_text


def _single_choice(given):
    result = judge_choice(
        given["prediction"], given["answer"], given["options"], given["infer_method"], given["alphabet"]
    )
    return {"correct": int(result.right), "pred_index": result.index}


def _joined(value):
    """Join texts as the metric does, which takes lists on both sides."""
    texts = value if isinstance(value, list) else [value]
    if not all(isinstance(text, str) for text in texts):
        raise RowError("text", "", "no text")
    return " ".join(texts)


def _text(value):
    if not isinstance(value, str):
        raise RowError("text", "", "no text")
    return value


def _ocr(given):
    prediction = _joined(given["prediction"])
    return {"correct": int(match_ocr(prediction, _joined(given["answer"]))), "returned": prediction}


def _kie(given):
    prediction, answer = given["prediction"], given["answer"]
    references = [answer] if isinstance(answer, str) else answer
    if not isinstance(prediction, str) or not isinstance(references, list):
        raise RowError("text", "", "no text")
    encoded = {"correct": int(any(match_kie(prediction, [_text(text)]) for text in references))}
    if isinstance(answer, str):
        return {**encoded, "normalized_prediction": normalize_kie_text(prediction)}
    # The original writes the rewritten alternatives into the caller's list until one matches.
    found = next((n for n, text in enumerate(answer, 1) if match_kie(prediction, [_text(text)])), len(answer))
    written = [normalize_kie_text(text) for text in answer[:found]] + answer[found:]
    changed = {"answer_list_after_call": written} if written != answer else {}
    return {**encoded, "normalized_prediction": None, **changed}


def _evaluation(given):
    result = evaluate(
        given["records"],
        given["formulation"],
        multi_round_eval=given["multi_round_eval"],
        eval_stability=given["eval_stability"],
        infer_method=given["infer_method"],
    )
    return {"log": list(result.log), **result.numbers}


def _trend(given):
    trend = reform_round_trend(dict(given["round2metric"]))
    return {"corr": trend.correlation, "slope": trend.slope}


def _pred_result(given):
    result = judge_choice(given["prediction"], given["answer"], given["answer_options"], given["infer_method"])
    return [[given["sample_id"], find_chosen_text(result.index, given)]]


RULES = {
    ("reform_singlechoice", "metric_call"): _single_choice,
    ("reform_singlechoice", "loader_eval"): _evaluation,
    ("reform_singlechoice", "entropy"): lambda given: {
        "instability": reform_instability(given["question2pred"].values())
    },
    ("reform_ocr", "metric_call"): _ocr,
    ("reform_ocr", "loader_eval"): _evaluation,
    ("reform_kie", "metric_call"): _kie,
    ("reform_kie", "loader_eval"): _evaluation,
    ("reform_multiround", "loader_eval_multi_round"): _evaluation,
    ("reform_multiround", "multi_round_eval"): _trend,
    ("reform_multiround", "pred_result"): _pred_result,
    ("reform_generation", "loader_eval"): _evaluation,
}
