"""Golden rules of VLMEvalKit's short answers, and of what they share with yes/no questions."""

from mmscore.metrics.vlmevalkit_vqa import hit, matches, references_of, rule_for
from mmscore.nlp.relaxed_match import anls_distance, relaxed_correctness
from mmscore.nlp.vqa_normalize import process_answer, process_punctuation
from mmscore.parsers.vlmevalkit_yes_no import vlmevalkit_yes_no


def _process_line(given):
    result = matches(given["prediction"], references_of(given["answer"]), given["method"])
    return {"gt": list(result.references), "pred": result.prediction, "match": list(result.values)}


RULES = {
    ("vlmeval_vqa", "process_answer"): process_answer,
    ("vlmeval_vqa", "relaxed_correctness"): lambda given: relaxed_correctness(given["target"], given["prediction"]),
    ("vlmeval_vqa", "anls_compute"): lambda given: anls_distance(given["groundtruth"], given["prediction"]),
    ("vlmeval_vqa", "process_line"): _process_line,
    ("vlmeval_vqa", "hit_calculate"): lambda given: hit(given["match"], rule_for(given["dataset"]).aggregation),
    ("vlmeval_yorn", "YOrN_Extraction"): lambda given: vlmevalkit_yes_no(given).value or "Unknown",
    ("vlmeval_yorn", "process_punctuation"): process_punctuation,
}
