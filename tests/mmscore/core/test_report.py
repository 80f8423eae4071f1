import csv
import io
import json
import math

import pytest

from mmconvert.core.errors import UsageError
from mmscore.core.report import CSV_COLUMNS, publish
from mmscore.scoring.evaluate import score
from support.predictions import choices, write_predictions
from support.write_order import watch_writes

ENTRY_KEYS = {
    "recipe", "version", "parity", "reason", "metrics", "groups", "counts", "partial", "model", "dataset",
    "signature", "fingerprint", "table", "predictions", "messages", "method", "notes", "without_failures",
    "judging",
}  # fmt: skip


@pytest.fixture
def report(tmp_path):
    rows = choices(("A", "A"), ("B", "A"), ("what?", "C"), category="c1")
    rows[2]["category"] = "=c2"
    return score(write_predictions(tmp_path / "p.parquet", rows, dataset="D"), "vlmevalkit_mcq")


def test_json_has_the_keys_of_the_contract(report):
    found = json.loads(json.dumps(report.to_json(), allow_nan=False))
    (entry,) = found["entries"]
    assert set(entry) == ENTRY_KEYS
    assert set(entry["counts"]) == {
        "total", "scored", "unparsed", "excluded", "failed", "judge_failed", "missing", "rejected",
        "blank", "failures",
    }  # fmt: skip
    assert set(entry["metrics"]["accuracy"]) == {"value", "unit", "n", "stderr", "ci95", "higher_is_better"}
    assert entry["metrics"]["accuracy"]["value"] == 1 / 3
    assert entry["groups"]["category"]["c1"]["accuracy"]["value"] == 0.5
    assert entry["table"] == [{"split": "none", "Overall": 1 / 3, "=c2": 0.0, "c1": 0.5}]


def test_a_number_that_does_not_exist_is_null(tmp_path):
    rows = choices((None, "A"))
    found = score(write_predictions(tmp_path / "p.parquet", rows), "vlmevalkit_mcq").to_json()
    assert math.nan not in found["entries"][0]["metrics"].values()
    json.dumps(found, allow_nan=False)


def test_csv_has_a_line_for_each_number(report):
    lines = list(csv.DictReader(io.StringIO(report.to_csv())))
    assert tuple(lines[0]) == CSV_COLUMNS
    assert [(line["group"], line["group_value"], line["n"]) for line in lines] == [
        ("", "", "3"), ("category", "c1", "2"), ("category", "'=c2", "1"),
    ]  # fmt: skip
    assert float(lines[0]["value"]) == 1 / 3
    assert lines[2]["stderr"] == ""


def test_complete_means_every_row_has_its_score(report, tmp_path):
    assert report.complete
    file = write_predictions(tmp_path / "q.parquet", choices((None, "A"), ("A", "A")))
    assert not score(file, "vlmevalkit_mcq").complete


def test_a_result_file_appears_whole_or_not_at_all(tmp_path):
    publish(tmp_path / "r.json", b"{}")
    assert (tmp_path / "r.json").read_bytes() == b"{}"
    with pytest.raises(UsageError, match="cannot be written"):
        publish(tmp_path / "no" / "r.json", b"{}")
    assert [p.name for p in tmp_path.iterdir()] == ["r.json"]


def test_a_result_file_is_on_the_disk_before_it_has_its_name(tmp_path):
    with watch_writes(tmp_path / "r.json"):
        publish(tmp_path / "r.json", b"{}")
