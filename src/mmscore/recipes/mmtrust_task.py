"""MMTrustEval's tasks: the chains of each dataset, by its name, or those of a task file (`--recipe-options`).

A label is compared as the source wrote it: a text is searched for character by character, "1" is not 1. What a
judge, a classifier or a service said is read from the log that the predictions stand in; without it such a task is
refused, and `mmtrust_refusal` gives the share of refusals that phrases tell.

Parity: thu-ml/MMTrustEval@a067801 mmte/tasks/base.py:BaseTask.eval with mmte/configs/task, and scripts/score
for the table. Of several numbers in a grader's response the first counts; the framework takes one at random.
"""

from mmscore.kits.mmtrusteval.rows import build_task_recipe, offer_recipe_for_logs

RECIPE = build_task_recipe("MMTrustEval's tasks, each by its own chains", default_for=offer_recipe_for_logs)
