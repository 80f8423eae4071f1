"""What may be spent: up to a cap and no further."""

import pytest

from mmscore.llm.budget import CapReachedError, Price, Spending
from mmscore.llm.response_cache import Answer

MILLION = 1_000_000


@pytest.mark.parametrize(
    ("spending", "said"),
    [
        (Spending("judge", 2, None), "cap of 2 calls"),
        (Spending("judge", None, 2 * MILLION), "cap of 2,000,000 tokens"),
        (Spending("judge", None, None, 8.0, Price(1.0, 4.0)), "cap on cost of 8"),
    ],
    ids=["calls", "tokens", "cost"],
)
def test_a_cap_may_be_reached_and_not_passed(spending: Spending, said: str) -> None:
    spending.begin_now(MILLION)
    spending.begin_now(MILLION)
    with pytest.raises(CapReachedError, match=said):
        spending.begin_now(1)


def test_what_a_call_really_cost_takes_the_place_of_what_it_could_cost() -> None:
    spending = Spending("judge", None, None, 8.0, Price(1.0, 4.0))
    spending.begin_now(2 * MILLION)
    spending.count(Answer("A", prompt_tokens=MILLION, completion_tokens=0), 2 * MILLION)
    spending.end(2 * MILLION)
    with pytest.raises(CapReachedError):
        spending.begin_now(2 * MILLION)
    spending.begin_now(MILLION)
