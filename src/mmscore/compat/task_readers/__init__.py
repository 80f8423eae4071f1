"""Task files of frameworks that `mmscore run` takes; each file brings one, see `mmscore.workflow.task_readers`."""
