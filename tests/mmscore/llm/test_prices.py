"""Tables of prices: what the page shows is one, and who is in it."""

import re
from pathlib import Path

import pytest

from mmconvert.core.errors import UsageError
from mmscore.llm.budget import Price, read_price
from mmscore.llm.prices import ModelPrice, TokenUsage, read_prices

PAGE = Path(__file__).parents[3] / "docs" / "judges.md"


@pytest.fixture
def table(tmp_path):
    (block,) = re.findall("```yaml\n(date: .*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "prices.yaml").write_text(block, encoding="utf-8")
    return read_prices(str(tmp_path / "prices.yaml"))


def test_the_table_of_the_page_is_one(table):
    assert (str(table.date), table.currency) == ("2026-11-01", "USD")
    assert table.models["judge-mini"] == ModelPrice(0.15, 0.6, cached_input=0.075, batch_discount=0.5)


@pytest.mark.parametrize(
    ("model", "found"),
    [
        ("judge-mini", "judge-mini"),
        ("judge-mini-2026-07-18", "judge-mini"),
        ("judge-mini-20260718", "judge-mini"),
        ("judge-mini-0718", None),
        ("judge-mini-2026-07-18-preview", None),
        ("Judge-mini", None),
        ("", None),
    ],
)
def test_a_date_at_the_end_of_a_name_changes_no_price(table, model, found):
    price = table.find(model)
    assert (None if price is None else price[0]) == found


def test_a_model_that_is_asked_is_priced_by_a_table_too(table, tmp_path):
    file = str(tmp_path / "prices.yaml")
    assert read_price(file, "judge-large-20260718") == Price(prompt=2.5, completion=10.0)
    with pytest.raises(UsageError, match=r"has no price for 'judge-larg'\. Did you mean judge-large"):
        read_price(file, "judge-larg")


def test_more_cached_tokens_than_prompts_cost_no_less_than_nothing(table):
    usage = TokenUsage(prompt=10, cached=1000)
    assert usage.compute_cost(table.models["judge-mini"]) == pytest.approx(10 * 0.075 / 1e6)


def test_prompts_that_no_cache_held_cost_the_whole_price():
    price = ModelPrice(2.0, 4.0, cached_input=0.5)
    assert TokenUsage().compute_cost(price) == 0
    assert TokenUsage(prompt=1_000_000).compute_cost(price) == 2.0
    assert TokenUsage(completion=1_000_000).compute_cost(price) == 4.0
