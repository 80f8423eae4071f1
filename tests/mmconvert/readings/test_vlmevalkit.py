import base64
import json

import pytest
from click.testing import CliRunner

from mmconvert.cli import program
from mmconvert.core.errors import UsageError
from mmconvert.dataset.dataset import open_dataset
from mmconvert.pipeline.convert import read
from support.records import image_bytes
from support.workbooks import sheet, text_row, write_workbook

IMAGE = base64.b64encode(image_bytes("PNG")).decode()


def _table(folder, *rows, name="mine.tsv"):
    names = list(rows[0])
    lines = [names, *([row.get(name, "") for name in names] for row in rows)]
    file = folder / name
    file.write_text("".join("\t".join(line) + "\n" for line in lines), "utf-8")
    return file


def _row(index, **cells):
    return {"index": index, "question": "Which?", "A": "cat", "B": "dog", "answer": "A", "image": IMAGE, **cells}


def test_words_and_types_are_lost_where_asked_for_only(tmp_path):
    file = _table(tmp_path, _row("007", A="None", C="1"), _row("008", A="x", C="2"), _row("9", A="y", C=""))
    assert [(r.id, r.options) for r in read(file)][:2] == [("007", ("None", "dog", "1")), ("008", ("x", "dog", "2"))]
    lossy = list(read(file, read_as="vlmevalkit"))
    assert [(r.id, r.options) for r in lossy] == [("8", ("x", "dog", "2.0")), ("9", ("y", "dog"))]


def test_an_answer_whose_option_is_lost_is_a_refused_row(tmp_path):
    records = read(_table(tmp_path, _row("1", A="NA", C="x")), read_as="vlmevalkit")
    assert list(records) == []
    assert records.rejects[0].code == "answer.not_an_option"


def test_a_question_that_is_lost_is_asked_as_nan(tmp_path):
    file = _table(tmp_path, _row("1", question="null"), _row("2"))
    assert [record.question for record in read(file, read_as="vlmevalkit")] == ["nan", "Which?"]


def test_a_row_whose_image_is_lost_is_refused(tmp_path):
    records = read(_table(tmp_path, _row("1", image="None"), _row("2")), read_as="vlmevalkit")
    assert [record.id for record in records] == ["2"]
    assert records.rejects[0].code == "image.absent"


def test_a_refused_row_takes_no_part_in_the_types(tmp_path):
    file = _table(tmp_path, _row("1", C="01"), _row("2", C="02"))
    with file.open("a", encoding="utf-8") as table:
        table.write("too few cells\n")
    records = read(file, read_as="vlmevalkit")
    assert [record.options[2] for record in records] == ["1", "2"]
    assert [reject.where.row for reject in records.rejects] == [2]


def test_other_files_are_no_tables(tmp_path):
    file = tmp_path / "mine.jsonl"
    file.write_text(json.dumps({"question": "Which?", "options": ["a", "b"], "answer": "A"}) + "\n")
    with pytest.raises(UsageError, match=r"\.tsv, \.csv, \.xlsx"):
        list(read(file, read_as="vlmevalkit"))


def test_a_name_is_checked_before_anything_is_read(tmp_path):
    with pytest.raises(UsageError, match="vlmevalkit"):
        read(_table(tmp_path, _row("1")), read_as="vlmevalkti")


def test_a_workbook_is_typed_as_a_sheet(tmp_path):
    rows = (["index", "question", "A", "B", "prediction"], ["1", "Q?", "007", "b", "None"], ["2", "Q?", "8", "c", "A"])
    file = write_workbook(tmp_path / "p.xlsx", sheet(*(text_row(*cells) for cells in rows)))
    records = read(file, read_as="vlmevalkit")
    assert [(record.options, record.prediction) for record in records] == [(("7", "b"), "nan"), (("8", "c"), "A")]


def test_convert_takes_the_option_and_tells_it(tmp_path):
    file = _table(tmp_path, _row("1", C="01"), _row("2", C="02"))
    out = tmp_path / "out"
    done = CliRunner().invoke(program, ["convert", str(file), "-o", str(out), "--read-as", "vlmevalkit", "--quiet"])
    assert done.exit_code == 0, done.output
    assert [record.options[2] for record in open_dataset(out).records()] == ["1", "2"]
    assert json.loads((out / ".mmconvert" / "manifest.json").read_text())["options"]["read_as"] == "vlmevalkit"
