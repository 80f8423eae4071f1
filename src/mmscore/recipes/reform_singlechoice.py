"""ReForm-Eval's single choice: the first mark in brackets, or the option of least loss.

`format_hit_rate` is the share of responses with a mark. Where samples stand in several rows (other
prompts, options shuffled), `instability` is the mean entropy of what was chosen, in natural logarithms, and
rows of one sample count as one for the errors.

Parity: FudanDISC/ReForm-Eval@df1cfa7 run_loader_eval.py, metrics/singlechoice.py. The options' texts
are not looked for, as the framework's evaluation does not; its log needs every sample equally often.
"""

from mmscore.core.recipe import Facts
from mmscore.kits.reform_eval.rows import build_choice_recipe, is_from_kit


def _default_for(facts: Facts) -> str | None:
    if is_from_kit(facts, "multiple_choice") and not (facts.grouped and facts.rounds):
        return "single choice of ReForm-Eval"
    return None


RECIPE = build_choice_recipe("Single choice as ReForm-Eval scores it, with its stability", _default_for)
