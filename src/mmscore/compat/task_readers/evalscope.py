"""The task files of EvalScope."""

from mmscore.compat.evalscope.config import is_task
from mmscore.compat.evalscope.mapping import adopted
from mmscore.compat.evalscope.results import shown
from mmscore.workflow.task_readers import TaskReader

TASK_READER = TaskReader(is_task, adopted, shown)
