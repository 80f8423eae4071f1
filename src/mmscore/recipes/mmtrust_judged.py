"""MMTrustEval's tasks in which a chat model is asked about each response: by `--judge mmtrust`, or as a log has it.

Parity: thu-ml/MMTrustEval@a067801 mmte/tasks/base.py:BaseTask.eval with mmte/configs/task. Not kept: a response of the
judge in which the next rule finds nothing is no score; the framework counts it as no, or as 0 points.
"""

from mmscore.kits.mmtrusteval.rows import build_task_recipe

RECIPE = build_task_recipe(
    "MMTrustEval's tasks in which a chat model judges each response", fits=lambda task: task.judged, judge="mmtrust"
)
