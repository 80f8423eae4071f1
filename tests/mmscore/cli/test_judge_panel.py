"""Several judges of each response, or one that is asked several times, from the command line."""

import json
import threading

import pyarrow.parquet as pq
import pytest

from support.chat_server import chat_server, refused, said
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


def _strict(request):
    """Two models of three opinions: `kind` finds everything right, the others go by the answer."""
    return said('{"verdict": "correct"}') if request["model"] == "kind" else grade(request)


PANEL = ("--judge-model", "kind", "--judge-model", "just", "--judge-model", "too")


def test_several_models_judge_each_row_and_every_verdict_is_kept(run, file, tmp_path):
    rows = tmp_path / "rows.parquet"
    with chat_server(_strict) as server:
        code, out, err = run(file, *OWN, *PANEL, "--judge-base-url", server.url, "--json", "--rows", rows)
        assert (code, len(server.asked)) == (0, 6)
        majority = run(
            file, *OWN, *PANEL, "--judge-base-url", server.url, "--json", "--judge-aggregation", "majority_vote"
        )
        assert len(server.asked) == 6
    # A dog is no cat to two of three.
    assert only_entry(out)["metrics"]["accuracy"]["value"] == pytest.approx((1 + 1 + 1 / 3) / 3)
    assert only_entry(majority[1])["metrics"]["accuracy"]["value"] == pytest.approx(2 / 3)
    assert "judge_model:kind+just+too|" in only_entry(out)["signature"]
    assert "|judge_repeats:1|judge_aggregation:mean|judge_min_valid:1|" in only_entry(out)["signature"]
    assert "all verdicts on a row are the same in 1 of 2 rows" in err
    assert err.count("2 rows, 0 responses from the store, 2 new in 2 calls") == 3
    table = {row["id"]: row for row in pq.read_table(rows).to_pylist()}
    votes = table["wrong"]["judge_votes"]
    assert [(vote["model"], vote["scores"][0]["value"]) for vote in votes] == [("kind", 1), ("just", 0), ("too", 0)]
    assert json.loads(votes[1]["reply"])["verdict"] == "incorrect"
    assert (table["wrong"]["judge_model"], table["wrong"]["tries"]) == ("kind, just, too", 3)
    assert table["same"]["judge_votes"] is None


def test_an_unknown_model_of_several_is_named(run, file):
    with chat_server(lambda request: refused(404) if request["model"] == "too" else _strict(request)) as server:
        code, out, err = run(file, *OWN, *PANEL, "--judge-base-url", server.url)
    assert (code, out) == (1, "")
    assert "no such address or model (got 'too') (404 no)" in err


def test_what_failed_is_asked_again_of_the_judge_that_failed(run, file):
    healthy = threading.Event()

    def moody(request):
        return _strict(request) if healthy.is_set() or request["model"] != "too" else said("?")

    with chat_server(moody) as server:
        options = [file, *OWN, *PANEL, "--judge-base-url", server.url, "--json"]
        code, out, _ = run(*options)
        # Two judges are enough, unless more are asked for.
        assert (code, only_entry(out)["metrics"]["accuracy"]["value"]) == (0, pytest.approx((1 + 1 + 1 / 2) / 3))
        healthy.set()
        asked = len(server.asked)
        code, out, _ = run(*options, "--rejudge", "failed")
        assert [request["model"] for request in server.asked[asked:]] == ["too", "too"]
    assert only_entry(out)["metrics"]["accuracy"]["value"] == pytest.approx((1 + 1 + 1 / 3) / 3)


def test_each_repeat_is_a_reply_of_its_own(run, file, server):
    options = [file, *OWN, "--judge-base-url", server.url, "--judge-repeats", 3, "--json"]
    code, out, _ = run(*options)
    assert (code, len(server.asked)) == (0, 6)
    assert only_entry(out)["metrics"]["accuracy"]["value"] == pytest.approx(2 / 3)
    assert run(*options)[1] == out
    run(file, *OWN, "--judge-base-url", server.url)
    assert len(server.asked) == 6


def test_a_dry_run_counts_each_judge(run, file):
    _, out, _ = run(file, *OWN, *PANEL, "--judge-repeats", 2, "--dry-run", "--json")
    guesses = json.loads(out)["estimates"]
    assert [(guess["model"], guess["repeat"], guess["calls"]) for guess in guesses] == [
        (model, repeat, 2) for model in ("kind", "just", "too") for repeat in (0, 1)
    ]
    assert "judge own@1 (kind), strategy" in run(file, *OWN, *PANEL, "--dry-run")[1]


def test_too_few_verdicts_are_a_failure_of_the_judges(run, file):
    with chat_server(lambda request: _strict(request) if request["model"] != "too" else said("?")) as server:
        code, out, err = run(
            file, *OWN, *PANEL, "--judge-base-url", server.url, "--json", "--judge-min-valid", 3, "--max-failed", 1
        )
    assert (code, only_entry(out)["counts"]["judge_failed"]) == (3, 2)
    assert "judge: 2 of 3 judges have a verdict, 3 are needed; the response is not one JSON object" in err


def test_judges_of_which_one_would_ask_nobody_are_refused(run, file, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from mmscore.core.judge import Judge, LEAVE\n"
        "JUDGE = Judge('mine', 'own', {'1': ''}, {'all': ''}, 'rule', (), lambda case, responses: LEAVE)\n"
    )
    code, _, err = run(file, *OWN, "--judge", f"{tmp_path / 'mine.py'}@JUDGE")
    assert code == 2
    assert "would send no request, beside others that do. Give --judge-strategy all." in err


def test_agreement_of_two_judges_is_in_the_terminal_the_json_and_the_page(run, file, server, tmp_path):
    models = ["--judge-model", "m", "--judge-model", "n", "--judge-strategy", "llm"]
    code, out, err = run(file, *OWN, "--judge-base-url", server.url, *models, "--json", "--html", tmp_path / "r.html")
    told = "judges: m and n agree on 3 of 3 rows (100.0%); Cohen's kappa 1.000 (95 % -0.263 to 1.000)."
    assert code == 0
    assert told in only_entry(out)["messages"]
    assert told in err
    (pair,) = only_entry(out)["judging"]["agreement"]
    assert (pair["judges"], pair["n"], pair["same"], pair["kappa"]) == (["m", "n"], 3, 3, 1)
    assert pair["ci95"] == pytest.approx([-0.263, 1], abs=1e-3)
    assert "Cohen's kappa 1.000" in (tmp_path / "r.html").read_text(encoding="utf-8")
