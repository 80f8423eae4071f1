"""MMTrustEval's tasks with references, its documented faults mended.

A text is one label, searched for as a whole; points are numbers, so that "75.0" is 75, and the first of several
counts. All else is as in `mmtrust_task`.
"""

from mmscore.kits.mmtrusteval.evaluators import Setting
from mmscore.kits.mmtrusteval.rows import recipe_of, task_chains
from mmscore.recipe import OWN

RECIPE = recipe_of(
    task_chains(lambda task: task.labelled, Setting(fixed=True)),
    "MMTrustEval's tasks with references, a text being one label and points numbers",
    labelled=True,
    parity=OWN,
    versions={"1": "own"},
)
