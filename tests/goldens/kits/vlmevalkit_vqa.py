"""Golden rules of VLMEvalKit's short answers, and of what they share with yes/no questions."""

from mmscore.metrics.vlmevalkit_vqa import choose_rule, compare_references, read_references, reduce_matches
from mmscore.nlp.relaxed_match import compute_anls_distance, is_relaxed_match
from mmscore.nlp.vqa_normalize import process_answer, process_punctuation
from mmscore.parsers.vlmevalkit_yes_no import vlmevalkit_yes_no


def _process_line(given):
    result = compare_references(given["prediction"], read_references(given["answer"]), given["method"])
    return {"gt": list(result.references), "pred": result.prediction, "match": list(result.values)}


RULES = {
    ("vlmeval_vqa", "process_answer"): process_answer,
    ("vlmeval_vqa", "relaxed_correctness"): lambda given: is_relaxed_match(given["target"], given["prediction"]),
    ("vlmeval_vqa", "anls_compute"): lambda given: compute_anls_distance(given["groundtruth"], given["prediction"]),
    ("vlmeval_vqa", "process_line"): _process_line,
    ("vlmeval_vqa", "hit_calculate"): lambda given: reduce_matches(
        given["match"], choose_rule(given["dataset"]).aggregation
    ),
    ("vlmeval_yorn", "YOrN_Extraction"): lambda given: vlmevalkit_yes_no(given).value or "Unknown",
    ("vlmeval_yorn", "process_punctuation"): process_punctuation,
}
