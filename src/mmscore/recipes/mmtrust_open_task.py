"""MMTrustEval's tasks without references: refusals, stereotypes, jailbreaks, by the name of the dataset.

What a classifier or a judge said is read from the log that the predictions stand in; without it such a task is
refused, and `mmtrust_refusal` gives the share of refusals that phrases tell.

Parity: thu-ml/MMTrustEval@a067801 mmte/tasks/base.py:BaseTask.eval with mmte/configs/task, and scripts/score
for the table.
"""

from mmscore.kits.mmtrusteval.rows import offered, recipe_of, task_chains

RECIPE = recipe_of(
    task_chains(lambda task: not task.labelled),
    "MMTrustEval's tasks without references, each by its own chains",
    labelled=False,
    default_for=offered(labelled=False),
)
