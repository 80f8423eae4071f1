"""What a judge costs, before and after it is asked, from the command line."""

import json

import pytest

from support.batch_server import batch_server
from support.chat_server import Said, chat_server
from support.judge_commands import OWN, grade, make_runner, only_entry, write_rows

pytestmark = pytest.mark.slow


@pytest.fixture
def run(capfd, monkeypatch):
    return make_runner(capfd, monkeypatch)


@pytest.fixture
def file(tmp_path):
    return write_rows(tmp_path)


@pytest.fixture
def server():
    with chat_server(grade) as server:
        yield server


PRICES = """
date: 2026-11-01
currency: USD
models:
  wise: {input: 1000, output: 2000, cached_input: 100, batch_discount: 0.5}
"""


@pytest.fixture
def prices(tmp_path):
    table = tmp_path / "prices.yaml"
    table.write_text(PRICES)
    return table


def _costs(out):
    return [one for one in only_entry(out)["messages"] if one.startswith("cost: ")]


def test_the_report_says_what_each_judge_costs_whichever_run_asked(run, file, server, prices):
    models = ["--judge-model", "wise-2026-07-18", "--judge-model", "other", "--judge-base-url", server.url]
    options = [file, *OWN, *models, "--prices", prices, "--json"]
    first, again = run(*options), run(*options)
    assert _costs(first[1]) == [
        "cost: judge own@1 (wise-2026-07-18): 2 responses, 14 + 8 tokens, 0.03 USD by the price of wise of 2026-11-01.",
        (
            "cost: judge own@1 (other): 2 responses, 14 + 8 tokens; the table of 2026-11-01 has no price for it, "
            "so the cost is unknown."
        ),
    ]
    assert first[1] == again[1]
    wise, other = only_entry(first[1])["judging"]["usage"]
    assert (wise["cost"], wise["currency"], wise["prices_of"], wise["priced_as"]) == (0.03, "USD", "2026-11-01", "wise")
    assert (other["cost"], other["prompt_tokens"], other["completion_tokens"]) == (None, 14, 8)


def test_batches_and_cached_prompts_cost_less(run, file, prices, monkeypatch):
    def say(request):
        body = json.loads(grade(request).body)
        body["usage"]["prompt_tokens_details"] = {"cached_tokens": 5}
        return Said(json.dumps(body).encode())

    monkeypatch.setattr("mmscore.llm.batches._FIRST_PAUSE", 0.005)
    with batch_server(say) as server:
        options = [file, *OWN, "--judge-model", "wise", "--judge-base-url", server.url, "--prices", prices, "--json"]
        _, out, _ = run(*options, "--judge-batch")
    # Four of fourteen tokens at the full price, ten at a tenth of it, eight of responses; half of it all.
    assert _costs(out) == [
        (
            "cost: judge own@1 (wise): 2 responses, 14 + 8 tokens (10 of them cached), 0.0105 USD by the price of "
            "wise of 2026-11-01."
        )
    ]


def test_a_dry_run_estimates_the_cost(run, file, prices):
    options = [file, *OWN, "--judge-generation", '{"max_tokens": 100}', "--prices", prices, "--dry-run"]
    _, out, _ = run(*options, "--judge-model", "wise", "--json")
    (guess,) = json.loads(out)["estimates"]
    assert guess["cost"] == pytest.approx((guess["prompt_tokens"] * 1000 + 200 * 2000) / 1e6)
    assert (guess["currency"], guess["prices_of"]) == ("USD", "2026-11-01")
    _, out, _ = run(*options, "--judge-model", "wise", "--judge-batch")
    assert f"at most {guess['cost'] / 2:.4g} USD by the prices of 2026-11-01." in out
    _, out, _ = run(*options, "--judge-model", "other")
    assert "the table of 2026-11-01 has no price for other. No request was sent." in out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("currency: USD\nmodels: {}", "missing required field `date`"),
        (PRICES.replace("1000", "-1"), "`float` >= 0.0 - at `$.models[...].input`"),
        (PRICES.replace("1000", "cheap"), "Expected `float`, got `str`"),
        (PRICES.replace("cached_input", "cached"), "unknown field `cached`"),
        ("[", "cannot be read as YAML"),
    ],
)
def test_a_wrong_table_of_prices_is_refused_before_anything_is_asked(run, file, server, prices, text, told):
    prices.write_text(text)
    code, _, err = run(file, *OWN, "--judge-base-url", server.url, "--prices", prices)
    assert (code, server.asked) == (2, [])
    assert str(prices) in err
    assert told in err
