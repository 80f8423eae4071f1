import base64
import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import openpyxl
import pytest
import xlsxwriter
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import Error, UsageError
from mmconvert.core.record import Image, Part, Record, Source, Turn
from mmconvert.io.detect import guess
from mmconvert.pipeline.convert import read, write
from mmconvert.plugins.format import Target
from support.datasets_on_disk import make_image

HEADER = ("index", "question", "A", "B", "C", "D", "prediction", "category", "l2_category")


def workbook(path, *rows, header=HEADER):
    with xlsxwriter.Workbook(path, {"strings_to_formulas": False, "strings_to_urls": False}) as book:
        sheet = book.add_worksheet()
        for number, row in enumerate((header, *rows)):
            sheet.write_row(number, 0, row)
    return path


def table(path, *rows):
    path.write_text("".join("\t".join(row) + "\n" for row in rows))
    return path


def record(index="7", prediction="B", options=("one", "two"), **fields):
    defaults = {"question": "What?", "category": "c", "l2_category": "CP", "sample": index}
    turn = Turn("user", (Part("text", "What?"),))
    return Record(
        **{
            **defaults,
            "id": index,
            "messages": (turn,),
            "task": "multiple_choice",
            "source": Source("mmbench", "a.xlsx", 0),
            "options": options,
            "prediction": prediction,
            **fields,
        }
    )


def cells(path):
    first, *rows = openpyxl.load_workbook(path).active.iter_rows(values_only=True)
    return [dict(zip(first, row, strict=True)) for row in rows]


def test_a_submission_workbook_gives_predictions_and_options(tmp_path):
    path = workbook(tmp_path / "t.xlsx", (3.0, "What?", "one", 2, None, None, "(B)", "c", "CP"))
    (got,) = read(path)
    assert (got.id, got.sample, got.variant, got.prediction) == ("3", "3", 0, "(B)")
    assert (got.options, got.category, got.l2_category, got.images) == (("one", "2"), "c", "CP", ())
    assert read(path).format == "mmbench"


@pytest.mark.parametrize(
    ("index", "sample", "variant"),
    [("7", "7", 0), ("1000007", "7", 1), ("3000000", "0", 3), ("00012", "00012", 0), ("a-1", "a-1", None)],
)
def test_the_index_tells_question_and_rotation(tmp_path, index, sample, variant):
    (got,) = read(workbook(tmp_path / "t.xlsx", (index, "What?", "one", "two", "", "", "A", "c", "CP")))
    assert (got.id, got.sample, got.variant) == (index, sample, variant)


def test_both_packagings_of_the_question_table_give_the_same_images(tmp_path):
    first = base64.b64encode(make_image(1)).decode()
    header = ("index", "question", "A", "B", "answer", "category", "L2-category", "image")
    rows = [("7", "What?", "one", "two", "A", "c", "CP"), ("1000007", "What?", "two", "one", "B", "c", "CP")]
    legacy = table(tmp_path / "legacy.tsv", header, *((*row, first) for row in rows))
    kit = table(tmp_path / "kit.tsv", header, (*rows[0], first), (*rows[1], "7"))
    for path in (legacy, kit):
        found = list(read(path, "mmbench"))
        assert [r.images[0].bytes for r in found] == [make_image(1)] * 2
        assert [(r.sample, r.variant, r.answer, r.l2_category) for r in found] == [
            ("7", 0, "A", "CP"),
            ("7", 1, "B", "CP"),
        ]
    assert guess(kit)[0] == "lmudata"


def test_a_file_named_as_the_benchmark_is_that_benchmark(tmp_path):
    row = (1, "What?", "one", "two", "", "", "A", "c", "CP")
    assert next(iter(read(workbook(tmp_path / "MMBench_TEST_EN.xlsx", row)))).dataset == "MMBench_TEST_EN"
    assert next(iter(read(workbook(tmp_path / "my_MMBench_TEST_EN.xlsx", row)))).dataset is None


def test_a_blank_prediction_is_an_empty_response_and_a_row_with_a_formula_is_refused(tmp_path):
    path = workbook(
        tmp_path / "t.xlsx",
        (1, "What?", "one", "two", "", "", None, "c", "CP"),
        (2, "What?", "one", "two", "", "", "   ", "c", "CP"),
        (3, "What?", "one", "two", "", "", "A", "c", "CP"),
    )
    book = openpyxl.load_workbook(path)
    book.active["C4"] = "=1+1"
    book.active["J1"], book.active["J3"] = "notes", "=2+2"
    book.save(path)
    records = read(path)
    assert [(r.id, r.prediction, r.extra.get("notes")) for r in records] == [("1", "", None), ("2", "   ", "=2+2")]
    assert [(r.code, r.where.line) for r in records.rejects] == [("cell.formula", 4)]


def test_a_prediction_of_the_longest_length_and_other_sheets_are_warned_about(tmp_path):
    path = workbook(tmp_path / "t.xlsx", (1, "What?", "one", "two", "", "", "x" * 32_767, "c", "CP"))
    book = openpyxl.load_workbook(path)
    book.create_sheet("notes")
    book.save(path)
    records = read(path)
    assert len(list(records)) == 1
    assert records.warnings == Counter(
        [
            "only the first sheet 'Sheet1' is read, not 'notes'",
            "a prediction has 32,767 characters, the most a cell holds: its end may be missing",
        ]
    )


def test_a_workbook_without_the_columns_names_them_and_the_sheets(tmp_path):
    path = workbook(tmp_path / "t.xlsx", (1, "What?"), header=("index", "question"))
    with pytest.raises(
        Error,
        match=r"t.xlsx A, prediction: the first sheet has no such column.*Found: index, question. Sheets: 'Sheet1'",
    ):
        list(read(path, "mmbench"))


@given(
    st.lists(
        st.builds(
            record,
            index=st.one_of(st.integers(0, 10**13).map(str), st.text("ab0", min_size=1, max_size=4)),
            prediction=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30),
            options=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=2, max_size=4).map(
                tuple
            ),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_a_written_submission_reads_back_the_same(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("out") / "s.xlsx"
    assert write(records, Target(path), "mmbench") == []
    assert [(r.id, r.question, r.options, r.prediction, r.category, r.l2_category) for r in read(path, "mmbench")] == [
        (r.id, r.question, r.options, r.prediction, r.category, r.l2_category) for r in records
    ]


def test_a_submission_has_exactly_the_columns_of_the_document(tmp_path):
    write([record(options=("=1+1", "http://example.org", "007"))], Target(tmp_path / "s.xlsx"), "mmbench")
    (row,) = cells(tmp_path / "s.xlsx")
    assert list(row) == ["question", "A", "B", "C", "D", "prediction", "category", "l2_category", "index"]
    assert (row["A"], row["B"], row["C"], row["D"], row["index"]) == ("=1+1", "http://example.org", "007", None, 7)


def test_the_servers_columns_are_written_when_asked_for(tmp_path):
    write([record(split="test", hint="h")], Target(tmp_path / "s.xlsx", columns="server"), "mmbench")
    (row,) = cells(tmp_path / "s.xlsx")
    assert (row["answer"], row["l2-category"], row["split"], row["hint"]) == (None, "CP", "test", "h")
    with pytest.raises(UsageError, match=r"unknown columns 'servers'. Did you mean server"):
        write([record()], Target(tmp_path / "s.xlsx", columns="servers"), "mmbench")


def test_rotations_of_a_transform_get_mmbenchs_numbers(tmp_path):
    write(
        [
            record("7#0", sample="7", variant=0),
            record("7#2", sample="7", variant=2),
            record("x#1", sample="x", variant=1),
        ],
        Target(tmp_path / "s.xlsx"),
        "mmbench",
    )
    assert [row["index"] for row in cells(tmp_path / "s.xlsx")] == [7, 2_000_007, "x#1"]


def test_the_same_records_give_the_same_bytes(tmp_path):
    for name in ("a.xlsx", "b.xlsx"):
        write([record()], Target(tmp_path / name), "mmbench")
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()


def test_what_a_cell_cannot_hold_is_an_error_or_a_loss_never_cut(tmp_path):
    target = Target(tmp_path / "s.xlsx")
    with pytest.raises(Error, match="row '7' prediction: has 32,768 characters, a cell holds 32,767"):
        write([record(prediction="x" * 32_768)], target, "mmbench")
    with pytest.raises(Error, match="has 16,384 characters"):
        write([record(prediction="\U0001f600" * 16_384)], target, "mmbench")
    assert not target.path.exists()
    assert write([record(prediction="x" * 32_767)], target, "mmbench") == []
    losses = write(
        [record(prediction=None), record("8", prediction=""), record("9", options=tuple("vwxyz"))], target, "mmbench"
    )
    assert [(loss.id, loss.field) for loss in losses] == [("7", "prediction"), ("8", "prediction"), ("9", "options")]


def test_what_has_no_column_is_a_loss_by_name(tmp_path):
    full = record(hint="h", split="dev", answer="A", images=(Image(make_image(1), 1),), extra={"source": "web"})
    losses = write([full], Target(tmp_path / "s.xlsx"), "mmbench")
    assert [loss.field for loss in losses] == ["images", "answer", "hint", "split", "source"]
    losses = write([full], Target(tmp_path / "s.xlsx", columns="server"), "mmbench")
    assert [loss.field for loss in losses] == ["images", "answer", "source"]


def test_another_suffix_is_a_wrong_usage(tmp_path):
    with pytest.raises(UsageError, match="--to lmudata"):
        write([record()], Target(tmp_path / "s.tsv"), "mmbench")


def cases():
    manifest = Path(__file__).parents[3].parent / "shared" / "badinput" / "visible" / "manifest.jsonl"
    entries = map(json.loads, manifest.read_text().splitlines()) if manifest.is_file() else ()
    return [entry for entry in entries if entry["format"] == "mmbench_xlsx"]


@pytest.fixture(scope="session")
def bad_set(shared, tmp_path_factory):
    folder = tmp_path_factory.mktemp("badinput") / "set"
    shutil.copytree(shared / "badinput" / "visible", folder)
    subprocess.run([shared / "badinput" / "make_links", folder], check=True)
    return folder


@pytest.mark.parametrize("case", [pytest.param(case, id=case["case"]) for case in cases()] or [None])
def test_hostile_workbooks_end_as_the_policy_says(bad_set, case):
    refused, rows, records = None, {}, None
    try:
        records = read(bad_set / case["file"], "mmbench", image_roots=(bad_set / "root",))
        rows = {r.source.row: r for r in records}
    except Error as error:
        refused = str(error)
    if case["expect"] == "file_error":
        assert refused is not None or not rows
        return
    assert refused is None
    twice = {row for row, r in rows.items() if any(o.id == r.id for k, o in rows.items() if k < row)}
    bad = sorted({reject.where.row for reject in records.rejects} | twice)
    assert bad == case["bad_rows"] or (not bad and "ok" in case.get("alt", ()))
    for fact in case.get("facts", []):
        found = rows[fact["row"]]
        if fact["field"] == "options":
            assert found.options == tuple(fact["value"].values())
        elif fact["field"] in ("id", "prediction"):
            assert getattr(found, fact["field"]) == fact["value"]


def test_a_question_without_two_options_is_refused_and_not_written(tmp_path):
    rows = [("1", "q", "a", "b"), ("2", "q", "a"), ("3", "q")]
    path = workbook(tmp_path / "t.xlsx", *((*row, *[""] * (6 - len(row)), "A", "c", "CP") for row in rows))
    records = read(path)
    assert [record.id for record in records] == ["1"]
    assert [reject.code for reject in records.rejects] == ["options.count"] * 2
    scored = list(read(path, for_scoring=True))
    assert [len(record.options) for record in scored] == [2, 1, 0]
    losses = write(scored, Target(tmp_path / "again.xlsx"), "mmbench")
    assert {(loss.id, loss.field) for loss in losses if loss.left_out} == {("2", "options"), ("3", "options")}
    assert [record.id for record in read(tmp_path / "again.xlsx")] == ["1"]
