"""MMTrustEval's tasks that have references: the chains of each dataset, by its name.

A label is compared as the source wrote it: a text is searched for character by character, "1" is not 1. What a
judge said is read from the log that the predictions stand in; without it such a task is refused.

Parity: thu-ml/MMTrustEval@a067801 mmte/tasks/base.py:BaseTask.eval with mmte/configs/task, and scripts/score
for the table. Of several numbers in a grader's reply the first counts; the kit takes one at random.
"""

from mmscore.kits.mmtrusteval.rows import offered, recipe_of, task_chains

RECIPE = recipe_of(
    task_chains(lambda task: task.labelled),
    "MMTrustEval's tasks with references, each by its own chains",
    labelled=True,
    default_for=offered(labelled=True),
)
