"""Golden rules of EvalScope's answer parsing and text metrics."""

import json

from goldens.product import score_row
from goldens.rules import per_version
from mmscore.kits.evalscope.response import split_reasoning
from mmscore.kits.evalscope.table import RELEASES as RECIPE_RELEASES
from mmscore.metrics.evalscope_accuracy import join_target
from mmscore.metrics.evalscope_bleu_rouge import evalscope_bleu_rouge
from support.releases import RELEASES

VERSIONS = {release: version for version, release in RECIPE_RELEASES.items()}
RECIPES = {release: f"evalscope_general_vmcq@{VERSIONS[release]}" for release in RELEASES}


def _parsing(chinese):
    def once(given, release):
        parsed, scores = score_row(
            RECIPES[release],
            {"chinese": chinese, "multiple": given["multiple_correct"]},
            prediction=given["response"],
            options=[f"opt{number}" for number in range(given["n_choices"])],
            label=json.dumps(given["target"]),
        )
        return {
            "completion": split_reasoning(given["response"])[0],
            "extracted": parsed.value or "",
            "reference": join_target(given["target"], release),
            "score": scores,
        }

    return lambda given: per_version(lambda release: once(given, release), RECIPES)


def _bleu_rouge(given):
    def once(release):
        scores = evalscope_bleu_rouge(given["pred"], given["ref"], release)
        return {"returns": None} if scores is None else scores

    return per_version(once, RECIPES)


VMCQ, VQA = (f"mmscore score --recipe evalscope_general_{name}" for name in ("vmcq", "vqa"))
RULES = {
    ("evalscope_bleu_rouge", "evalscope_bleu_rouge"): (VQA, _bleu_rouge),
    ("evalscope_vmcq", "evalscope_vmcq:parse"): (VMCQ, _parsing(chinese=False)),
    ("evalscope_vmcq", "evalscope_vmcq:parse_zh"): (f"{VMCQ} --recipe-options FILE", _parsing(chinese=True)),
}
