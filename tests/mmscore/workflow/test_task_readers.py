"""Whose task a file holds is told by its content."""

import pytest

from mmconvert.core.errors import UsageError
from mmscore.workflow.task_file import build_plan
from mmscore.workflow.task_readers import find_reader

OURS = {"datasets": ["d"], "models": ["m"], "work-dir": "w"}
EVALSCOPE = {"model": "m", "datasets": ["general_vqa"]}
MMTRUSTEVAL = {"model_id": "m", "dataset_id": "d"}


@pytest.mark.parametrize(("given", "found"), [(OURS, False), (EVALSCOPE, True), (MMTRUSTEVAL, True), ({}, False)])
def test_a_task_of_a_kit_has_its_reader(given, found):
    assert (find_reader(given) is not None) is found


def test_a_task_of_classes_is_met_with_the_command_that_takes_it(tmp_path):
    with pytest.raises(
        UsageError, match=r"^t\.yaml: a task of MMTrustEval .* python -m mmscore\.compat\.mmtrusteval run"
    ):
        build_plan(MMTRUSTEVAL, tmp_path, "t.yaml")
