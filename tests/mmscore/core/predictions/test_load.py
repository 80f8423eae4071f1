import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mmconvert
from mmconvert.core.errors import Error, UsageError
from mmscore.core.predictions.load import open_rows
from support.predictions import write_predictions

ROWS = [{"id": "a", "prediction": "x"}, {"id": "b", "prediction": None}]


def _texts(rows, name):
    return [value for batch in rows.read([name]) for value in batch.column(name).to_pylist()]


def test_reads_only_what_is_asked_for_and_in_order(tmp_path):
    rows = open_rows(write_predictions(tmp_path / "p.parquet", ROWS, task="vqa"))
    assert len(rows) == 2
    assert _texts(rows, "prediction") == ["x", None]
    assert rows.list_distinct("task") == ["vqa"]
    assert rows.list_distinct("dataset") == []


def test_a_folder_is_its_files_sorted_by_name(tmp_path):
    write_predictions(tmp_path / "b.parquet", [{"id": "3", "prediction": "z"}])
    write_predictions(tmp_path / "a.parquet", ROWS)
    assert _texts(open_rows(tmp_path), "id") == ["a", "b", "3"]


def test_what_is_kept_beside_a_dataset_is_none_of_its_rows(tmp_path):
    asked = [{"id": str(n), "question": f"What is {n}?", "answer": str(n)} for n in range(3)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in asked))
    mmconvert.convert(tmp_path / "in.jsonl", tmp_path / "set")
    mmconvert.dedupe(tmp_path / "set", tmp_path / "kept", near=True)
    assert [*(tmp_path / "set/.mmconvert").glob("fingerprints-*.parquet")]
    assert _texts(open_rows(tmp_path / "set", required=("id",)), "id") == ["0", "1", "2"]
    (tmp_path / "set/.mmconvert/manifest.json").unlink()
    assert len(list(mmconvert.open_dataset(tmp_path / "set").files)) == 1


def test_ids_that_several_configs_share_are_told_with_the_folders_to_name(tmp_path):
    (tmp_path / "in.jsonl").write_text('{"id": "1", "question": "What?", "answer": "x"}\n')
    for config in "ab":
        mmconvert.convert(tmp_path / "in.jsonl", tmp_path / "set", config_name=config, append=config == "b")
    with pytest.raises(Error, match=r"several configs: a, b\. Name the folder of one: \S+/set/a or \S+/set/b\."):
        open_rows(tmp_path / "set", required=("id",))
    assert len(open_rows(tmp_path / "set/b", required=("id",))) == 1


def test_a_kits_file_goes_through_its_format(tmp_path):
    file = tmp_path / "p.jsonl"
    file.write_text('{"id": "1", "prediction": "x", "answer": "y", "task": "vqa"}\n{"id": "2", "answer": "y"}\n')
    rows = open_rows(file)
    assert _texts(rows, "prediction") == ["x"]
    assert rows.list_distinct("source.format") == ["predictions"]
    assert [refusal.id for refusal in rows.rejected] == ["2"]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"id": ["1"], "predictoin": ["x"]}, ["p.parquet", "'prediction'", "Did you mean predictoin?"]),
        ({"Ids": ["1"], "prediction": ["x"]}, ["'id'"]),
        ({"id": ["1"], "prediction": [["x"]]}, ["prediction", "expected text", "lists of text"]),
        ({"id": [1.5], "prediction": ["x"]}, ["id", "expected text", "double"]),
        ({"id": ["1"], "prediction": ["x"], "options": ["A"]}, ["options", "expected lists of text"]),
        ({"id": ["1", "2", "1"], "prediction": ["x"] * 3}, ["id", "rows 0 and 2", "'1'"]),
        ({"id": pa.array([], pa.string()), "prediction": pa.array([], pa.string())}, ["no rows"]),
    ],
)
def test_what_does_not_fit_is_refused_by_name(tmp_path, columns, words):
    pq.write_table(pa.table(columns), tmp_path / "p.parquet")
    with pytest.raises(Error) as caught:
        _read_everything(tmp_path / "p.parquet")
    for word in words:
        assert word in str(caught.value)


def _read_everything(file):
    rows = open_rows(file)
    return sum(batch.num_rows for batch in rows.read(sorted(rows.names)))


def test_numbers_dictionaries_and_large_texts_are_texts(tmp_path):
    table = pa.table(
        {
            "id": pa.array([1, 2]),
            "prediction": pa.array(["x", "y"]).dictionary_encode(),
            "answer": pa.array(["x", None], pa.large_string()),
        }
    )
    pq.write_table(table, tmp_path / "p.parquet")
    rows = open_rows(tmp_path / "p.parquet")
    assert _texts(rows, "id") == ["1", "2"]
    assert _texts(rows, "prediction") == ["x", "y"]
    assert _texts(rows, "answer") == ["x", None]


def test_bytes_that_are_no_text_are_refused(tmp_path):
    bad = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"], pa.binary()).buffers())
    pq.write_table(pa.table({"id": ["1"], "prediction": bad}), tmp_path / "p.parquet")
    with pytest.raises(Error, match="UTF-8"):
        list(open_rows(tmp_path / "p.parquet").read(["prediction"]))


@pytest.mark.parametrize("content", [b"", b"PAR1PAR1", b"id,prediction\n1,x\n"])
def test_a_damaged_file_is_refused_by_name(tmp_path, content):
    (tmp_path / "p.parquet").write_bytes(content)
    with pytest.raises(Error, match=r"p\.parquet: .*(empty|damaged|not a parquet file)"):
        open_rows(tmp_path / "p.parquet")


def test_a_missing_file_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="no such file"):
        open_rows(tmp_path / "p.parquet")


@pytest.mark.parametrize(
    ("about", "partial"), [({"partial": True}, True), ({"partial": False}, False), ({}, False), ([], False)]
)
def test_a_run_that_was_limited_says_so(tmp_path, about, partial):
    table = pa.table({"id": ["1"], "prediction": ["x"]}).replace_schema_metadata({"mmscore.run": json.dumps(about)})
    pq.write_table(table, tmp_path / "p.parquet")
    assert open_rows(tmp_path / "p.parquet").partial is partial


def test_the_hostile_predictions_are_read_or_refused_as_the_policy_says(shared):
    folder = shared / "badinput" / "visible"
    cases = map(json.loads, (folder / "manifest.jsonl").read_text("utf-8").splitlines())
    for case in (case for case in cases if case["format"] == "pred_parquet"):
        allowed = {case["expect"], *case.get("alt", [])}
        try:
            rows = open_rows(folder / case["file"])
            count = sum(batch.num_rows for batch in rows.read(["id", "prediction"]))
        except Error as error:
            outcome, message = "file_error", str(error)
        else:
            # A bad row is among the rows; the engine counts it as failed or rejected.
            outcome, message = "ok" if "ok" in allowed else "row_error", case["file"]
            assert count == case["n_rows"], case["file"]
        assert outcome in allowed, case["file"]
        assert case["file"].rpartition("/")[2] in message


def test_a_table_of_ours_says_how_a_prediction_was_made_whatever_file_it_stands_in(tmp_path):
    said = {"method": "likelihood", "prediction_status": "failed", "prediction_error": "too long", "model": "m"}
    (tmp_path / "p.jsonl").write_text(json.dumps({"id": "1", "prediction": "A", "thinking": 3, **said}) + "\n")
    rows = open_rows(tmp_path / "p.jsonl")
    assert {name: _texts(rows, name) for name in said} == {name: [value] for name, value in said.items()}
    assert _texts(rows, "thinking") == [None]
    assert rows.list_distinct("method") == ["likelihood"]


def test_a_field_of_a_kits_log_says_nothing_of_a_run_of_ours(tmp_path):
    row = {"doc_id": 0, "target": "x", "filtered_resps": ["x"], "input": "?", "prediction_status": "failed"}
    (tmp_path / "1_samples_x.jsonl").write_text(json.dumps({**row, "doc_hash": "0"}) + "\n")
    assert "prediction_status" not in open_rows(tmp_path / "1_samples_x.jsonl").names


def test_a_parquet_table_with_names_of_its_own_is_read_as_any_other_table(tmp_path):
    rows = [{"question_id": str(n), "question": f"What is {n}?", "gt": "red", "response": "red"} for n in range(3)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "p.parquet")
    found = open_rows(tmp_path / "p.parquet")
    (batch,) = found.read(["id", "answer", "prediction"])
    assert batch.to_pylist()[0] == {"id": "0", "answer": "red", "prediction": "red"}
    columns = "--map id=question_id --map question=question --map answer=gt --map prediction=response"
    assert found.notes == (f"{tmp_path}/p.parquet: read with {columns}.",)


def test_a_table_without_predictions_is_refused_and_not_counted_as_failed(tmp_path):
    file = tmp_path / "q.csv"
    file.write_text("question,answer,my_model\nWho?,me,you\n")
    with pytest.raises(Error, match=r"no predictions\. Give it as --answers: .*--map prediction=COLUMN"):
        open_rows(file)
    assert len(open_rows(file, required=("id",))) == 1
    assert len(open_rows(file, mapping=("prediction=my_model",))) == 1


@pytest.mark.parametrize(("key", "answer"), [("question_id", "answer"), ("questionId", "answer"), ("id", "Answer")])
def test_a_submission_of_ids_and_answers_holds_predictions(tmp_path, key, answer):
    submitted = tmp_path / "vqa_OpenEnded_results.json"
    submitted.write_text(json.dumps([{key: 458752000, answer: "red"}, {key: 458752001, answer: ""}]))
    rows = open_rows(submitted)
    (batch,) = rows.read(["id", "prediction", "answer"])
    assert batch.to_pydict() == {
        "id": ["458752000", "458752001"],
        "prediction": ["red", ""],
        "answer": [None, None],
    }
    assert rows.notes == (f"{submitted}: read with --map prediction={answer} --map id={key}.",)
    (batch,) = open_rows(submitted, required=("id",)).read(["prediction", "answer"])
    assert batch.to_pydict() == {"prediction": [None], "answer": ["red"]}


def test_a_table_with_more_than_ids_and_answers_is_asked_about(tmp_path):
    key = tmp_path / "key.json"
    for more in ({"question": "?", "answer": "red"}, {"answers": ["red"]}):
        key.write_text(json.dumps([{"question_id": 1, **more}]))
        with pytest.raises(Error, match=r"holds questions and answers but no predictions.*--map prediction=COLUMN"):
            open_rows(key)


def test_keys_of_vqa_and_docvqa_are_references_without_their_images(tmp_path):
    said = [{"answer": text, "answer_confidence": "yes", "answer_id": place} for place, text in enumerate(("a", "b"))]
    vqa = {"annotations": [{"question_id": 1, "image_id": 2, "answers": said, "multiple_choice_answer": "a"}]}
    doc = {"data": [{"questionId": 1, "question": "?", "image": "documents/x.png", "answers": ["a", "b"], "docId": 2}]}
    for held in (vqa, doc):
        key = tmp_path / "key.json"
        key.write_text(json.dumps({"info": {}, **held}))
        (batch,) = open_rows(key, required=("id",)).read(["id", "answers"])
        assert batch.to_pydict() == {"id": ["1"], "answers": [["a", "b"]]}
