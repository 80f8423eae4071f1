"""Golden rules of EvalScope's answer parsing and text metrics."""

from goldens.rules import per_version
from mmscore.kits.evalscope.response import split_reasoning
from mmscore.metrics.evalscope_accuracy import evalscope_accuracy, join_target
from mmscore.metrics.evalscope_bleu_rouge import evalscope_bleu_rouge
from mmscore.parsers.evalscope_choice import evalscope_choice

VERSIONS = ("1.3.0", "1.10.0", "1.14.1")


def _parsing(chinese):
    def once(given, version):
        completion, _ = split_reasoning(given["response"])
        parsed = evalscope_choice(
            completion, given["n_choices"], version, chinese=chinese, multiple=given["multiple_correct"]
        )
        extracted = parsed.value or ""
        score = evalscope_accuracy(extracted, given["target"], version)
        name = "accuracy" if version == "1.14.1" else "acc"
        return {
            "completion": completion,
            "extracted": extracted,
            "reference": join_target(given["target"], version),
            "score": {} if score is None else {name: score},
        }

    return lambda given: per_version(lambda version: once(given, version), VERSIONS)


def _bleu_rouge(given):
    scores = per_version(lambda version: evalscope_bleu_rouge(given["pred"], given["ref"], version), VERSIONS)
    # Up to 1.10 the kit turns a refusal into "no score".
    return {v: {"returns": None} if v != "1.14.1" and "error" in value else value for v, value in scores.items()}


RULES = {
    ("evalscope_bleu_rouge", "evalscope_bleu_rouge"): _bleu_rouge,
    ("evalscope_vmcq", "evalscope_vmcq:parse"): _parsing(chinese=False),
    ("evalscope_vmcq", "evalscope_vmcq:parse_zh"): _parsing(chinese=True),
}
