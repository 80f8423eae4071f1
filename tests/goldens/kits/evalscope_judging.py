"""Golden rules of EvalScope's judge: prompt, verdict, merging with the rules."""

from goldens.rules import per_version
from mmscore.kits.evalscope.aggregation import NEW
from mmscore.kits.evalscope.judging import LABELS, Scale, fill_template, merge, needs_judge, read_verdict

VERSIONS = ("1.3.0", "1.10.0", "1.14.1")


def _parse(given):
    scale = Scale(given["score_type"], given.get("score_mapping", LABELS), given.get("score_pattern"))

    def once(version):
        reading = read_verdict(given["response"], scale, version)
        if version != NEW:
            return {"score": reading.score}
        return {"ok": False, "kind": reading.fault} if reading.fault else {"ok": True, "score": reading.score}

    return per_version(once, VERSIONS)


def _prompt(given):
    values = {name: given[name] for name in ("question", "gold", "pred")}
    return per_version(lambda v: {"prompt": fill_template(given["prompt_template"], **values, release=v)}, VERSIONS)


def _merge(given):
    rule, name = given["rule"], given["main_score_name"]
    (verdict,) = given["judge"].values()

    def once(version):
        called = needs_judge(rule, name)
        return {"judge_called": called, "value": merge(rule, verdict, version, name) if called else rule}

    return per_version(once, VERSIONS)


JUDGE = "mmscore score --recipe evalscope_general_vqa --judge evalscope"
RULES = {
    ("evalscope_judge", "evalscope_judge:parse"): (JUDGE, _parse),
    ("evalscope_judge", "evalscope_judge:prompt"): (f"{JUDGE} --judge-prompt FILE", _prompt),
    ("evalscope_judge", "evalscope_judge:merge"): (f"{JUDGE} --judge-strategy llm_recall", _merge),
}
