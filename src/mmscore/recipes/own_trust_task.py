"""MMTrustEval's tasks, their documented faults fixed.

A text is one label, searched for as a whole; points are numbers, so that "75.0" is 75, and the first of several
counts. All else is as in `mmtrust_task`.

Parity: own definition; the chains are MMTrustEval's.
"""

from mmscore.core.recipe import OWN
from mmscore.kits.mmtrusteval.evaluators import EvaluatorContext
from mmscore.kits.mmtrusteval.rows import build_task_recipe

RECIPE = build_task_recipe(
    "MMTrustEval's tasks, a text being one label and points numbers",
    setting=EvaluatorContext(fixed=True),
    parity=OWN,
    versions={"1": "own"},
)
