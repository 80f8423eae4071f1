"""VLMEvalKit's result tables, whatever file they stand in."""

import json
from pathlib import Path

import pytest
import xlsxwriter
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import Error, UsageError
from mmconvert.core.record import Record, Source
from mmconvert.io.detect import guess
from mmconvert.pipeline.convert import read, write
from mmconvert.plugins.format import Target
from mmscore.core.predictions.load import open_rows
from mmscore.core.select_recipe import choose_recipe, gather_facts

ROW = {"index": 7, "question": "Which?", "A": "red", "B": "None", "answer": "B", "category": "c", "prediction": "B."}


def workbook(path: Path, *rows: dict) -> Path:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with xlsxwriter.Workbook(path, {"strings_to_formulas": False, "strings_to_urls": False}) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, columns)
        for number, row in enumerate(rows, 1):
            for column, name in enumerate(columns):
                if row.get(name) not in (None, ""):
                    sheet.write(number, column, row[name])
    return path


def table(path: Path, *rows: dict) -> Path:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    lines = [columns, *([str(row.get(name, "")) for name in columns] for row in rows)]
    path.write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")
    return path


def array(path: Path, *rows: dict) -> Path:
    path.write_text(json.dumps(rows, indent=4), encoding="utf-8")
    return path


def lines(path: Path, *rows: dict) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


FILES = {".xlsx": workbook, ".tsv": table, ".json": array, ".jsonl": lines}


@pytest.mark.parametrize("suffix", FILES)
def test_a_row_is_the_same_in_every_kind_of_file(tmp_path: Path, suffix: str) -> None:
    path = FILES[suffix](tmp_path / f"my_model_MMMU_DEV_VAL{suffix}", ROW)
    records = read(path)
    (record,) = records
    assert (records.format, record.id, record.dataset, record.task) == (
        "vlmevalkit_predictions", "7", "MMMU_DEV_VAL", "multiple_choice",
    )  # fmt: skip
    assert (record.options, record.answer, record.label) == (("red", "None"), "B", '"B"')
    assert (record.prediction, record.extra) == ("B.", {"model": "my_model"})


def test_the_kits_own_columns_stay_beside_and_count_for_nothing(tmp_path: Path) -> None:
    kit = {"hit": 0, "log": "B", "extracted": "Yes", "score": 1, "thinking": "Hm."}
    (record,) = read(workbook(tmp_path / "m_MME_auxmatch.xlsx", {**ROW, "A": "", "B": "", "answer": "Yes", **kit}))
    assert record.extra == {"model": "m", "hit": "0", "log": "B", "extracted": "Yes", "score": "1", "thinking": "Hm."}
    assert (record.dataset, record.task, record.answer, record.prediction) == ("MME", "yes_no", "Yes", "B.")


@pytest.mark.parametrize(
    ("stem", "model", "dataset"),
    [
        ("GPT4o_MMBench_DEV_EN_V11", "GPT4o", "MMBench_DEV_EN_V11"),
        ("llava_v1.5_7b_MME", "llava_v1.5_7b", "MME"),
        ("m_SEEDBench_IMG_exact_matching_result", "m", "SEEDBench_IMG"),
        ("m_TextVQA_VAL_results", "m", "TextVQA_VAL"),
        ("MMStar", None, "MMStar"),
        ("m_MMBench_TEST_FR", None, None),
        ("m_mme", None, None),
        ("m_MMEs", None, None),
    ],
)
def test_the_name_says_model_and_benchmark_in_the_kits_own_words_only(
    tmp_path: Path, stem: str, model: str | None, dataset: str | None
) -> None:
    (record,) = read(lines(tmp_path / f"{stem}.jsonl", ROW))
    assert (record.extra.get("model"), record.dataset) == (model, dataset)
    (record,) = read(lines(tmp_path / f"{stem}.jsonl", ROW), dataset="mine")
    assert record.dataset == "mine"
    assert open_rows(tmp_path / f"{stem}.jsonl").list_distinct("model") == ([model] if model else [])


@pytest.mark.parametrize("suffix", FILES)
def test_rotated_copies_are_told_by_their_rows(tmp_path: Path, suffix: str) -> None:
    options = ("red", "green", "blue")
    rows = [
        {"index": 7 + k * 1_000_000, "question": "Which?", **dict(zip("ABC", options[k:] + options[:k], strict=True)),
         "answer": "ACB"[k], "prediction": "A"}
        for k in range(3)
    ]  # fmt: skip
    path = FILES[suffix](tmp_path / f"some{suffix}", *rows, {**rows[0], "index": 1_000_008})
    assert [(r.sample, r.variant) for r in read(path)] == [("7", None), ("7", 1), ("7", 2), ("1000008", None)]
    assert choose_recipe(gather_facts(open_rows(path))).name == "mmbench_circular"


def test_a_table_without_questions_or_with_placeholders_needs_no_images(tmp_path: Path) -> None:
    captions = {"index": 1, "answer": "['A cat.', 'Cat.']", "prediction": "A cat sits.", "image_path": "a.jpg"}
    (record,) = read(table(tmp_path / "m_COCO_VAL.tsv", captions))
    assert (record.task, record.messages, record.answers) == ("caption", (), ("A cat.", "Cat."))
    (record,) = read(
        workbook(tmp_path / "t.xlsx", {**ROW, "question": "<image 1> or <image 2>?", "image_path": "['a']"})
    )
    assert record.messages[0].content[0].text.startswith("<image 1> or <image 2>?\nA. red")
    assert (record.images, record.extra["image_path"]) == ((), "['a']")


def test_yes_no_rows_of_one_image_share_a_group(tmp_path: Path) -> None:
    rows = [
        {"index": n, "question": "Is it?", "answer": "Yes", "image_path": "a.jpg", "prediction": "no"} for n in (1, 2)
    ]
    assert [record.group for record in read(table(tmp_path / "m_MME.tsv", *rows))] == ["a.jpg", "a.jpg"]


def test_a_dialogs_replies_go_to_their_rounds(tmp_path: Path) -> None:
    row = {"index": 3, "question": "['<ImageHere>?', 'And?']", "answer": "['a', 'b']", "prediction": '["x", "y"]'}
    path = lines(
        tmp_path / "m_MMDU.jsonl", {**row, "prediction": ["x", "y"]}, {**row, "index": 4, "prediction": "['x']"}
    )
    records = read(path)
    assert [(r.id, r.group, r.prediction, r.answer) for r in records] == [
        ("3#0", "3", "x", "a"),
        ("3#1", "3", "y", "b"),
    ]
    assert [reject.code for reject in records.rejects] == ["dialog.replies"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"prediction": None}, "prediction.missing"),
        ({"index": None}, "id.missing"),
        ({"answer": "C"}, "answer.not_an_option"),
    ],
)
def test_a_bad_row_is_refused_and_the_others_go_on(tmp_path: Path, change: dict, code: str) -> None:
    records = read(lines(tmp_path / "t.jsonl", ROW, {**ROW, **change}, {**ROW, "index": 9, "prediction": ""}))
    assert [(record.id, record.prediction) for record in records] == [("7", "B."), ("9", "")]
    assert [reject.code for reject in records.rejects] == [code]


def test_a_table_without_the_columns_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(Error, match=r"t.xlsx prediction: there is no such column. Did you mean predictions"):
        list(read(workbook(tmp_path / "t.xlsx", {"index": 1, "predictions": "a"}), "vlmevalkit_predictions"))


@pytest.mark.parametrize(
    ("row", "format_"),
    [
        (ROW, "vlmevalkit_predictions"),
        ({**ROW, "id": "validation_Art_1"}, "vlmevalkit_predictions"),
        ({"index": 0, "id": "a", "prediction": "x"}, "predictions"),
        ({**ROW, "l2_category": "CP"}, "mmbench"),
        ({**ROW, "l2-category": "CP"}, "vlmevalkit_predictions"),
        ({**ROW, "image": "7"}, "lmudata"),
        ({**ROW, "image_path": "a.jpg"}, "vlmevalkit_predictions"),
        ({**ROW, "image_path": "a.jpg", "l2_category": "CP"}, "vlmevalkit_predictions"),
    ],
)
def test_each_kind_of_table_has_one_format(tmp_path: Path, row: dict, format_: str) -> None:
    assert guess(table(tmp_path / "t.tsv", row))[0] == format_


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)


@given(
    suffix=st.sampled_from([".xlsx", ".tsv", ".csv", ".json", ".jsonl"]),
    replies=st.lists(TEXT, min_size=1, max_size=3),
    options=st.lists(st.one_of(st.none(), TEXT), max_size=5).map(lambda o: tuple(o) if o and o[-1] else ()),
    more=st.dictionaries(st.sampled_from(["hit", "log", "thinking"]), TEXT),
)
def test_a_written_table_reads_back_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    suffix: str,
    replies: list[str],
    options: tuple[str | None, ...],
    more: dict[str, str],
) -> None:
    records = [
        Record(
            str(number), str(number), (), "multiple_choice" if options else "vqa", Source("f", "f", number),
            question="What?", options=options, prediction=reply, category="c", dataset="MMStar",
            extra={"model": "a_b", **more},
        )
        for number, reply in enumerate(replies)
    ]  # fmt: skip
    path = tmp_path_factory.mktemp("out") / f"a_b_MMStar{suffix}"
    assert write(records, Target(path), "vlmevalkit_predictions") == []
    again = list(read(path, "vlmevalkit_predictions"))
    for field in ("id", "question", "options", "prediction", "category", "dataset", "extra", "task"):
        expected = [getattr(record, field) for record in records]
        if field == "task":
            expected = ["multiple_choice"] * len(records)
        assert [getattr(record, field) for record in again] == expected


def test_what_a_table_cannot_hold_is_a_loss(tmp_path: Path) -> None:
    record = Record("1", "1", (), "vqa", Source("f", "f", 0), question="What?", prediction="", dataset="MME")
    losses = write([record], Target(tmp_path / "t.tsv"), "vlmevalkit_predictions")
    assert [loss.field for loss in losses] == ["dataset"]
    (record,) = read(tmp_path / "t.tsv", "vlmevalkit_predictions")
    assert record.prediction == ""
    with pytest.raises(UsageError, match=r"\.xlsx or \.tsv"):
        write([record], Target(tmp_path / "t.txt"), "vlmevalkit_predictions")


def test_the_references_of_vizwiz_stand_in_a_column_of_their_own(tmp_path):
    path = tmp_path / "m_VizWiz.tsv"
    path.write_text('index\tquestion\tanswers\tprediction\n1\tWhat?\t["cat", "cat", "a cat", "dog"]\tcat\n')
    (record,) = read(path)
    assert (record.dataset, record.answers[:2], record.answer) == ("VizWiz", ("cat", "cat"), "cat")
    (tmp_path / "new").mkdir()
    write([record], Target(tmp_path / "new" / "m_VizWiz.tsv"), "vlmevalkit_predictions")
    assert (tmp_path / "new" / "m_VizWiz.tsv").read_text().split("\n")[0] == "index\tquestion\tanswers\tprediction"


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".xlsx"])
def test_an_index_is_a_text_or_a_number_that_is_kept_as_it_was_written(tmp_path: Path, suffix: str) -> None:
    numbers = (7.0, 2.5, 1e20, "2.5", 9007199254740991)
    path = FILES[suffix](tmp_path / f"some{suffix}", *({**ROW, "index": number} for number in numbers))
    records = read(path, "vlmevalkit_predictions")
    assert [record.id for record in records] == ["7", "2.5", "9007199254740991"]
    code = "id.number" if suffix == ".xlsx" else "id.type"
    assert [(reject.where.row, reject.code) for reject in records.rejects] == [(1, code), (2, code)]
