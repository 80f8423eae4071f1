"""Golden rules of EvalScope's judge: prompt, verdict, merging with the rules."""

from goldens.rules import per_version
from mmscore.kits.evalscope.aggregation import NEW
from mmscore.kits.evalscope.judging import Scale, fill_template, merge, needs_judge, read_verdict

VERSIONS = ("1.3.0", "1.10.0", "1.14.1")
SCALE = {"kind": "score_type", "labels": "score_mapping", "pattern": "score_pattern"}
"""Field of `Scale` -> its name in a case."""


def _parse(given):
    scale = Scale(**{field: given[name] for field, name in SCALE.items() if name in given})
    return per_version(lambda version: _encoded(read_verdict(given["response"], scale, version), version), VERSIONS)


def _encoded(reading, version):
    if version != NEW:
        return {"score": reading.score}
    return {"ok": False, "kind": reading.fault} if reading.fault else {"ok": True, "score": reading.score}


def _prompt(given):
    values = {name: given[name] for name in ("question", "gold", "pred")}
    return per_version(lambda v: {"prompt": fill_template(given["prompt_template"], **values, release=v)}, VERSIONS)


def _merge(given):
    rule, name = given["rule"], given["main_score_name"]
    (verdict,) = given["judge"].values()
    called = needs_judge(rule, name)
    return per_version(lambda v: {"judge_called": called, "value": merge(rule, verdict, v, name)}, VERSIONS)


JUDGE = "mmscore score --recipe evalscope_general_vqa --judge evalscope"
RULES = {
    ("evalscope_judge", "evalscope_judge:parse"): (JUDGE, _parse),
    ("evalscope_judge", "evalscope_judge:prompt"): (f"{JUDGE} --judge-prompt FILE", _prompt),
    ("evalscope_judge", "evalscope_judge:merge"): (f"{JUDGE} --judge-strategy llm_recall", _merge),
}
