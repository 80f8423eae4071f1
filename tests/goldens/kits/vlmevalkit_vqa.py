"""Golden rules of VLMEvalKit's short answers, and of what they share with yes/no questions."""

from mmscore.metrics.vlmevalkit_vqa import choose_rule, compare_references, read_references, reduce_matches
from mmscore.metrics.vlmevalkit_yes_no import UNKNOWN
from mmscore.nlp.relaxed_match import compute_anls_distance, is_relaxed_match
from mmscore.nlp.vqa_normalize import process_answer, process_punctuation
from mmscore.parsers.vlmevalkit_yes_no import vlmevalkit_yes_no


def _process_line(given):
    result = compare_references(given["prediction"], read_references(given["answer"]), given["method"])
    return {"gt": list(result.references), "pred": result.prediction, "match": list(result.values)}


def _relaxed(given):
    return is_relaxed_match(given["target"], given["prediction"])


def _anls(given):
    return compute_anls_distance(given["groundtruth"], given["prediction"])


def _hits(given):
    return reduce_matches(given["match"], choose_rule(given["dataset"]).aggregation)


def _extracted(given):
    return vlmevalkit_yes_no(given).value or UNKNOWN


VQA, YES_NO = (f"mmscore score --recipe vlmevalkit_{name}" for name in ("vqa", "yorn"))
RULES = {
    ("vlmeval_vqa", "process_answer"): (VQA, process_answer),
    ("vlmeval_vqa", "relaxed_correctness"): (VQA, _relaxed),
    ("vlmeval_vqa", "anls_compute"): (VQA, _anls),
    ("vlmeval_vqa", "process_line"): (VQA, _process_line),
    ("vlmeval_vqa", "hit_calculate"): (VQA, _hits),
    ("vlmeval_yorn", "YOrN_Extraction"): (YES_NO, _extracted),
    ("vlmeval_yorn", "process_punctuation"): (YES_NO, process_punctuation),
}
