import json

import pytest

from mmconvert.pipeline.convert import read
from support.predictions import choices, write_predictions
from support.terminal import mmconvert, mmscore, one_message


@pytest.fixture
def file(tmp_path):
    rows = choices(("A", "A"), ("the (B)", "B"), ("=1+1", "C"), category="colour", l2_category="sight")
    return write_predictions(tmp_path / "p.parquet", [{**row, "question": f"Which? {row['id']}"} for row in rows])


def test_what_is_submitted_is_what_was_predicted(file, tmp_path):
    shown = mmscore("submit", file, "--to", "mmbench", "-o", tmp_path / "s.xlsx")
    assert (shown.code, shown.err) == (0, "")
    assert "3 rows as mmbench" in shown.out
    assert "not in a submission: answer (3)" in shown.out
    records = list(read(tmp_path / "s.xlsx"))
    assert [(r.id, r.prediction, r.question, r.category) for r in records] == [
        ("0", "A", "Which? 0", "colour"),
        ("1", "the (B)", "Which? 1", "colour"),
        ("2", "=1+1", "Which? 2", "colour"),
    ]


def test_what_was_converted_and_predicted_can_be_submitted(tmp_path, repository):
    source = repository / "src" / "mmconvert" / "testing" / "demo" / "files" / "mmbench" / "Circular.tsv"
    assert mmconvert("convert", source, "-o", tmp_path / "ds", "--quiet").code in (0, 3)
    assert (
        mmscore("predict", tmp_path / "ds", "-o", tmp_path / "p.parquet", "--backend", "echo", "--model", "answer").code
        == 0
    )
    shown = mmscore(
        "submit", tmp_path / "p.parquet", "--to", "mmbench", "-o", tmp_path / "s.xlsx", "--columns", "server"
    )
    assert shown.code == 0, shown.err
    assert {r.id: r.prediction for r in read(tmp_path / "s.xlsx")} == {
        r.id: r.prediction for r in read(tmp_path / "p.parquet", "predictions")
    }


def test_rows_without_an_answer_are_named_and_give_exit_code_3(tmp_path):
    rows = [{**row, "question": "Which?"} for row in choices(("A", "A"), ("", "A"))]
    rows[0]["question"] = None
    file = write_predictions(tmp_path / "p.parquet", rows)
    shown = mmscore("submit", file, "--to", "mmbench", "-o", tmp_path / "s.xlsx", "--json")
    assert shown.code == 3
    found = json.loads(shown.out)
    assert {(fault["id"], fault["field"]) for fault in found["faults"]} == {("0", "question"), ("1", "prediction")}
    assert (found["rows"], found["left_out"]) == (2, {"answer": 2})
    assert mmscore("submit", file, "--to", "mmbench", "-o", tmp_path / "s.xlsx", "--allow-rejects").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["none.parquet", "--to", "mmbench", "-o", "s.xlsx"], 2, "none.parquet: no such file or folder."),
        (["{file}", "--to", "mmbnech", "-o", "{folder}/s.xlsx"], 2, "Did you mean mmbench"),
        (["{file}", "--to", "mmbench", "-o", "{folder}/s.csv"], 2, ".xlsx"),
        (["{file}", "--to", "mmbench", "-o", "{folder}/s.xlsx", "--columns", "sever"], 2, "Did you mean server?"),
        (["{file}", "--to", "mmbench"], 2, "Missing option '-o'"),
        (["{file}", "--to", "mmbench", "-o", "{folder}/no/such/s.xlsx"], 2, "its folder does not exist"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_message(file, tmp_path, arguments, code, message):
    ended = mmscore("submit", *(text.format(file=file, folder=tmp_path) for text in arguments))
    assert message in one_message(ended, "mmscore")
    assert ended.code == code
    assert [path.name for path in tmp_path.iterdir()] == ["p.parquet"]
