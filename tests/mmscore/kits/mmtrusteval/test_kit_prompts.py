"""MMTrustEval's own judge prompts out of a checkout; `support.kit_checkouts` has its form and words of our own."""

import pytest

from mmconvert.core.errors import Error, UsageError
from mmscore.core.recipe import Item
from mmscore.kits.mmtrusteval.kit_prompts import TASK_PROMPTS, read_task_prompts
from mmscore.kits.mmtrusteval.task_file import CHAINS
from support.kit_checkouts import MMTRUSTEVAL, write_checkout


@pytest.mark.parametrize("below", ["", "mmte"])
def test_each_dataset_of_a_task_has_the_prompt_of_its_task_file(tmp_path, below):
    prompts = read_task_prompts(write_checkout(tmp_path, MMTRUSTEVAL) / below)
    assert prompts["g-text-misleading"] == "Said {pred}, true {label}. [Yes] or [No]?"
    assert {prompts[f"benchlmm-{name}"] for name in ("infrared", "ct", "driving")} == {"Rate {}, {}, {}"}
    # Its file's name is the dataset's, `dataset_id` another.
    assert prompts["instruction-enhancement-logic"] == "Logic {pred} {label}"
    assert "stereo-agreement-text" not in prompts


def test_a_row_needs_a_prompt_where_its_task_asks_a_chat_model():
    assert TASK_PROMPTS.choose(Item(dataset="g-text-misleading"), {}) == "g-text-misleading"
    assert TASK_PROMPTS.choose(Item(dataset="stereo-agreement-text"), {}) is None
    assert TASK_PROMPTS.choose(Item(dataset="g-text-misleading"), {CHAINS: []}) is None


def test_a_folder_without_prompts_is_refused(tmp_path):
    with pytest.raises(Error, match=r"no file mmte/configs/task/\*/\*\.yaml has a prompt_template"):
        read_task_prompts(tmp_path)
    write_checkout(tmp_path, {"mmte/configs/task/a/b.yaml": "x: ["})
    with pytest.raises(UsageError, match=r"b\.yaml: cannot be read as YAML"):
        read_task_prompts(tmp_path)
    write_checkout(tmp_path, {"mmte/configs/task/a/b.yaml": "#" * 1_000_001})
    with pytest.raises(Error, match="too many or too long"):
        read_task_prompts(tmp_path)
