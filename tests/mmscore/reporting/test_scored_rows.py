import pyarrow.parquet as pq
import pytest

from mmconvert.core.errors import UsageError
from mmscore.reporting.scored_rows import ROWS_SCHEMA, RowsWriter
from mmscore.scoring.evaluate import ScoreOptions, score_each
from support.predictions import choices, write_predictions
from support.write_order import watch_writes


def _write(tmp_path, rows, target):
    file = write_predictions(tmp_path / "p.parquet", rows, model="m")
    with RowsWriter(target) as writer:
        for entry, scored in score_each([file], ["vlmevalkit_mcq"], ScoreOptions()):
            writer.write(entry, scored)
    return pq.read_table(target)


def test_a_row_says_what_was_read_by_which_rule_and_where(tmp_path):
    table = _write(tmp_path, choices(("It is (B).", "B"), ("hm", "A"), (None, "A")), tmp_path / "rows.parquet")
    assert table.schema.equals(ROWS_SCHEMA)
    first, second, third = table.to_pylist()
    assert first["recipe"] == "vlmevalkit_mcq@v3"
    assert (first["id"], first["model"], first["status"], first["value"]) == ("0", "m", "scored", "B")
    assert "It is (B)."[slice(*first["span"].values())] == "B"
    assert first["scores"] == [{"name": "accuracy", "value": 1.0}]
    assert (second["value"], second["how"], second["span"]) == (None, "unparsed", None)
    assert second["scores"] == [{"name": "accuracy", "value": 0.0}]
    assert (third["status"], third["scores"]) == ("failed", [])


def test_a_run_that_breaks_off_leaves_nothing(tmp_path):
    with pytest.raises(RuntimeError), RowsWriter(tmp_path / "rows.parquet"):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"rows\.parquet"):
        RowsWriter(tmp_path / "no" / "rows.parquet")


def test_scored_rows_are_on_the_disk_before_they_have_their_name(tmp_path):
    with watch_writes(tmp_path / "rows.parquet"):
        _write(tmp_path, choices(("A", "A")), tmp_path / "rows.parquet")
