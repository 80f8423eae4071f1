"""A request for judges is checked before anybody is asked."""

import pytest

from mmconvert.core.errors import UsageError
from mmscore.core.select_recipe import find_recipe
from mmscore.scoring.judging.request import JudgeRequest, choose_panel


@pytest.mark.parametrize("name", ["concurrency", "repeats", "min_valid", "max_calls", "max_total_tokens"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True])
def test_numbers_are_whole_and_at_least_one(name: str, value: object) -> None:
    with pytest.raises(UsageError, match=f"{name} is a whole number from 1"):
        choose_panel(JudgeRequest("own", **{name: value}), find_recipe("own_choice"))


def test_a_template_without_a_required_slot_says_which_there_are() -> None:
    request = JudgeRequest("own", model="m", prompt="Is this right? {question}")
    with pytest.raises(UsageError, match=r"judge 'own' fills in \{question\}, \{reference\}, \{answer\}"):
        choose_panel(request, find_recipe("own_choice"))
