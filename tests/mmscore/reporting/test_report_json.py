"""Reports that were edited by hand: what mmscore did not write is refused in one message."""

import json

import pytest
from msgspec.structs import replace

from mmconvert.core.errors import Error
from mmscore.reporting.report_json import is_report, read_report
from mmscore.scoring.evaluate import score
from support.predictions import choices, write_predictions


@pytest.fixture
def report(tmp_path):
    file = write_predictions(tmp_path / "p.parquet", choices(("A", "A"), ("B", "A"), model="m", dataset="D"))
    return score(file, "own_choice")


AGREEMENT = {"judges": ["a", "b"], "n": 3, "same": 2, "kappa": 0.4, "ci95": [0.1, 0.7]}
USAGE = {
    "judge": "own@1", "model": "m", "responses": 3, "uncounted": 0, "prompt_tokens": 5, "cached_tokens": 0,
    "completion_tokens": 7, "cost": 0.5, "currency": "USD", "prices_of": "2026-11-01", "priced_as": "m",
}  # fmt: skip
JUDGING = {"agreement": [AGREEMENT], "usage": [USAGE]}


def test_what_is_said_of_judges_is_read_as_it_was_written(report, tmp_path):
    told = report.to_json()
    told["entries"][0]["judging"] = JUDGING
    (tmp_path / "r.json").write_text(json.dumps(told))
    (entry,) = read_report(tmp_path / "r.json")
    assert json.loads(json.dumps(entry.to_json()["judging"])) == JUDGING


def test_a_report_is_read_as_it_was_written(report, tmp_path):
    path = tmp_path / "r.json"
    path.write_text(json.dumps(report.to_json()))
    assert is_report(path)
    (entry,), (written,) = read_report(path), report.entries
    # What averages over groups need beside the interval is not written.
    numbers = {name: replace(number, effective_n=None) for name, number in written.metrics.items()}
    assert (entry.metrics, entry.counts, entry.model) == (numbers, written.counts, "m")


@pytest.mark.parametrize(
    "change",
    [
        {"model": None},
        {"model": ["x"]},
        {"model": "\ud800"},
        {"method": 3},
        {"partial": "no"},
        {"dataset": 1},
        {"messages": "none"},
        {"table": {}},
        {"counts": {"total": 2}},
        {"metrics": []},
        {"judging": 3},
        {"judging": {"agreement": []}},
        *({"judging": JUDGING | {"agreement": [AGREEMENT | change]}} for change in (
            {"kappa": 2}, {"n": -1}, {"ci95": [0.5]}, {"judges": ["a"]}, {"judges": ["a", "\ud800"]},
        )),
        *({"judging": JUDGING | {"usage": [USAGE | change]}} for change in (
            {"cost": float("inf")}, {"cost": -1}, {"responses": 0.5}, {"model": None}, {"currency": "\ud800"},
        )),
        *({"metrics": {"accuracy": change}} for change in (
            {"value": "0.5"}, {"value": True}, {"value": float("inf")}, {"value": 10**400}, {"n": 1.5}, {"n": None},
            {"ci95": [0.1]}, {"ci95": 3}, {"unit": None}, {"higher_is_better": 1}, {"stderr": "0"},
        )),
    ],
    ids=str,
)  # fmt: skip
def test_a_value_of_another_type_is_refused(report, tmp_path, change):
    told = report.to_json()
    (entry,) = told["entries"]
    if change.get("metrics"):
        change = {"metrics": {"accuracy": entry["metrics"]["accuracy"] | change["metrics"]["accuracy"]}}
    entry |= change
    path = tmp_path / "r.json"
    path.write_text(json.dumps(told))
    with pytest.raises(Error, match=r"r\.json: is not a report that mmscore wrote \(.+\)\. Score again with -o\."):
        read_report(path)


@pytest.mark.parametrize(
    ("entries", "message"),
    [([], "without an entry"), ({}, "is not a report"), (None, "is not a report"), ([3], "is not a report")],
)
def test_a_report_without_entries_is_refused(tmp_path, entries, message):
    path = tmp_path / "r.json"
    path.write_text(json.dumps({"schema_version": 1, "entries": entries}))
    with pytest.raises(Error, match=message):
        read_report(path)


def test_a_report_of_a_later_version_is_refused(tmp_path):
    path = tmp_path / "r.json"
    path.write_text(json.dumps({"schema_version": 99, "entries": {}}))
    with pytest.raises(Error, match=r"schema version 99; this program knows 1\. Upgrade"):
        read_report(path)
