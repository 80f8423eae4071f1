import json

import pytest
from msgspec.structs import replace

import mmscore
from goldens.run import read_family
from mmconvert.core.errors import Error, UsageError
from mmconvert.io.detect import guess
from mmconvert.pipeline.convert import read, write
from mmconvert.plugins.format import Target
from support.datasets_on_disk import record as asked

ROW = {
    "id": "validation_Art_1", "question_type": "multiple-choice", "answer": "C", "response": "C",
    "all_choices": ["A", "C"], "index2ans": {"A": "Aurelia", "C": "Hermione"},
}  # fmt: skip
OPEN = {"id": "validation_Math_15", "question_type": "short-answer", "answer": ["24/7", "3.429"], "response": "x"}


def _folder(tmp_path, **subjects):
    for subject, content in subjects.items():
        (tmp_path / subject).mkdir()
        text = content if isinstance(content, str) else json.dumps(content)
        (tmp_path / subject / "output.json").write_text(text)
    (tmp_path / "total_val_output.json").write_text('{"validation_Art_1": "C"}')
    return tmp_path


def test_one_record_a_row_subject_after_subject(tmp_path):
    records = read(_folder(tmp_path, Math=[OPEN], Art=[ROW]))
    first, second = records
    assert records.format == "mmmu_outputs"
    assert (first.id, first.options, first.answer, first.prediction) == (
        "validation_Art_1",
        ("Aurelia", None, "Hermione"),
        "C",
        "C",
    )
    assert (first.category, first.split, first.task, first.source.file) == (
        "Art",
        "validation",
        "multiple_choice",
        "Art/output.json",
    )
    assert (second.answers, second.label, second.options) == (("24/7", "3.429"), '["24/7","3.429"]', ())


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"id": None}, "id.missing"),
        ({"response": 3}, "response.type"),
        ({"answer": 3}, "answer.type"),
        ({"all_choices": None}, "options.type"),
        ({"all_choices": ["AB"], "index2ans": {"AB": "x"}}, "options.type"),
        ({"index2ans": {"A": "x"}}, "options.type"),
    ],
)
def test_a_bad_row_is_rejected_and_the_others_go_on(tmp_path, change, code):
    records = read(_folder(tmp_path, Art=[{**ROW, **change}, {**ROW, "id": "validation_Art_2"}, 3]))
    assert [record.id for record in records] == ["validation_Art_2"]
    assert [reject.code for reject in records.rejects] == [code, "json.type"]


@pytest.mark.parametrize("content", ["{", '{"id": "1"}', '[{"id": NaN}]'])
def test_a_bad_file_is_refused_by_name(tmp_path, content):
    with pytest.raises(Error, match=r"output\.json"):
        list(read(_folder(tmp_path, Art=content)))


def test_a_response_that_is_null_is_no_prediction(tmp_path):
    (record,) = read(_folder(tmp_path, Art=[{**ROW, "response": None}]))
    assert record.prediction is None


def test_a_list_that_is_read_alone_says_a_subject_by_its_ids_only(tmp_path):
    (tmp_path / "output.json").write_text(json.dumps([ROW, {**ROW, "id": "other"}]))
    assert [record.category for record in read(tmp_path / "output.json", "mmmu_outputs")] == ["Art", None]


def test_a_folder_is_written_as_it_was_read(tmp_path):
    rows = {"Art": [ROW, {**ROW, "id": "validation_Art_2", "log": 3}], "Math": [OPEN]}
    (tmp_path / "in").mkdir()
    source = list(read(_folder(tmp_path / "in", **rows)))
    assert write(reversed(source), Target(tmp_path / "out"), "mmmu_outputs") == []
    assert {file.parent.name: json.loads(file.read_text()) for file in tmp_path.glob("out/*/output.json")} == {
        "Art": rows["Art"][::-1],
        "Math": rows["Math"],
    }
    assert sorted(read(tmp_path / "out", "mmmu_outputs"), key=lambda record: record.id) == [
        replace(record, source=replace(record.source, row=row)) for record, row in zip(source, (1, 0, 0), strict=True)
    ]


def test_one_list_holds_every_row_whatever_its_subject(tmp_path):
    record = replace(next(iter(read(_folder(tmp_path, Art=[ROW])))), id="q1", sample="q1", category=None, split=None)
    assert write([record], Target(tmp_path / "out.json"), "mmmu_outputs") == []
    assert json.loads((tmp_path / "out.json").read_text()) == [{**ROW, "id": "q1"}]


@pytest.mark.parametrize(
    ("id", "category", "folder"),
    [("validation_Art_1", "other", "Art"), ("q", "Physics", "Physics"), ("validation_Alchemy_1", "x", None)],
)
def test_a_row_stands_under_the_subject_of_its_id_or_its_category(id, category, folder, tmp_path):
    record = replace(next(iter(read(_folder(tmp_path, Art=[ROW])))), id=id, sample=id, category=category)
    losses = write([record], Target(tmp_path / "out"), "mmmu_outputs")
    assert [file.parent.name for file in tmp_path.glob("out/*/output.json")] == [name for name in [folder] if name]
    assert [loss.field for loss in losses if loss.left_out] == ([] if folder else ["category"])


def test_what_is_not_written_is_named(tmp_path):
    record = replace(asked(1), id="validation_Art_1", sample="validation_Art_1", extra={"response": 3, "note": "n"})
    losses = write([record], Target(tmp_path / "out"), "mmmu_outputs")
    found = {(loss.field, loss.remark) for loss in losses}
    content = {"messages", "images", "prediction", "answer"}
    assert found == {*((name, False) for name in content), ("response", True)}
    (row,) = json.loads((tmp_path / "out/Art/output.json").read_text())
    known = {"id": "validation_Art_1", "question_type": "short-answer", "answer": None, "response": None}
    assert row == {**known, "note": "n"}


@pytest.mark.parametrize(
    ("label", "answers", "written"),
    [
        ('"B"', ("B",), "B"),
        ("1", ("B",), "B"),
        ('["a","b"]', ("a", "b"), ["a", "b"]),
        ("\"['a', 'b']\"", ("a", "b"), ["a", "b"]),
        ('["a"]', ("a",), ["a"]),
    ],
)
def test_an_answer_is_written_as_the_script_compares_it(label, answers, written, tmp_path):
    record = replace(asked(1), id="validation_Art_1", answer=answers[0], answers=answers, label=label, prediction="x")
    write([record], Target(tmp_path / "out"), "mmmu_outputs")
    assert json.loads((tmp_path / "out/Art/output.json").read_text())[0]["answer"] == written


def test_a_folder_that_holds_something_stays_as_it_is(tmp_path):
    records = list(read(_folder(tmp_path, Art=[ROW])))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError, match="is not an empty folder"):
        write(records, Target(tmp_path, folder=True), "mmmu_outputs")
    assert sorted(tmp_path.rglob("*")) == before
    with pytest.raises(UsageError, match=r"model-1\.5: .* is written to \.json or a folder \(FOLDER/\)"):
        write(records, Target(tmp_path / "model-1.5"), "mmmu_outputs")
    write(records, Target(tmp_path / "model-1.5", folder=True), "mmmu_outputs")
    assert len(list(read(tmp_path / "model-1.5", "mmmu_outputs"))) == 1


def _list_golden_cases():
    """List MMMU's own runs: outputs of several subjects, and the table that its script printed for them."""
    cases = (case for _, case in read_family("mmmu_eval") if case["rule"] == "mmmu_parse_and_eval")
    return [case for case in cases if "table" in case["expected"] and len(case["input"]["outputs"]) > 1][:5]


def test_outputs_that_are_exported_give_the_scripts_numbers(tmp_path):
    cases = _list_golden_cases()
    assert len(cases) == 5
    for number, case in enumerate(cases):
        folder = tmp_path / str(number)
        (folder / "in").mkdir(parents=True)
        source = list(read(_folder(folder / "in", **case["input"]["outputs"]), "mmmu_outputs"))
        turned = sorted(source, key=lambda record: record.category, reverse=True)  # rows of a subject keep their order
        write(turned, Target(folder / "out"), "mmmu_outputs")
        (entry,) = mmscore.score(folder / "out", "mmmu_val").entries
        assert [[line["name"], line["num"], line["acc"]] for line in entry.table] == case["expected"]["table"]


def test_one_subject_or_one_file_is_read_by_its_ids(shared):
    for place in ("mmmu_one/Music", "mmmu_file/Physics_output/output.json", "mmmu_file"):
        records = read(shared / "real/field" / place)
        rows = list(records)
        assert (records.format, len(rows), records.rejects) == ("mmmu_outputs", 30, [])
        assert {row.category for row in rows} == {"Music" if "Music" in place else "Physics"}


def test_a_folder_of_several_models_names_them(tmp_path):
    for model in ("one", "two"):
        folder = tmp_path / model / "Art"
        folder.mkdir(parents=True)
        (folder / "output.json").write_text("[]")
    with pytest.raises(Error, match=r"has the outputs of 2 models\. Give .*/one or .*/two\."):
        list(read(tmp_path))


def test_a_folder_of_one_model_names_it(tmp_path):
    (tmp_path / "one" / "Art").mkdir(parents=True)
    (tmp_path / "one" / "Art" / "output.json").write_text("[]")
    with pytest.raises(Error) as error:
        list(read(tmp_path, "mmmu_outputs"))
    assert str(error.value) == f"{tmp_path}: is the folder above a model's. Give {tmp_path}/one."


def test_an_output_file_of_something_else_is_not_taken(tmp_path):
    (tmp_path / "output.json").write_text('[{"id": "1", "response": "A"}]')
    with pytest.raises(Error, match="none of the formats of folders fits"):
        guess(tmp_path)
