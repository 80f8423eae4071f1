import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmconvert.core.errors import Error
from mmscore.core.predictions.join import join, read_unmatched
from mmscore.core.predictions.load import FORMAT, open_rows
from mmscore.core.predictions.run_metadata import RUN_METADATA
from support.predictions import write_predictions

QUESTIONS = [{"id": n, "answer": n.upper(), "sample": n, "variant": 0} for n in "abc"]


def _joined(tmp_path, predictions, questions=QUESTIONS, **how):
    return join(
        open_rows(write_predictions(tmp_path / "p.parquet", predictions)),
        open_rows(write_predictions(tmp_path / "q.parquet", questions), required=("id",)),
        **how,
    )


def _columns(rows, *names):
    table = [batch.to_pydict() for batch in rows.read(names)]
    return [tuple(row) for batch in table for row in zip(*(batch[name] for name in names), strict=True)]


def test_references_come_in_the_order_of_the_predictions(tmp_path):
    rows = _joined(tmp_path, [{"id": "c", "prediction": "1"}, {"id": "a", "prediction": "2"}])
    assert _columns(rows, "answer", "id", "prediction") == [("C", "c", "1"), ("A", "a", "2")]
    assert rows.missing == ("b",)


def test_a_prediction_without_a_question_is_rejected(tmp_path):
    rows = _joined(tmp_path, [{"id": "zz", "prediction": "1"}, {"id": "a", "prediction": "2"}])
    assert _columns(rows, "id", "answer") == [("a", "A")]
    assert [refusal.id for refusal in rows.rejected] == ["zz"]
    assert len(rows) == 1


def test_sample_and_variant_join_where_ids_differ(tmp_path):
    rows = _joined(tmp_path, [{"id": "other", "sample": "b", "variant": 0, "prediction": "1"}])
    assert _columns(rows, "answer") == [("B",)]


def test_the_dataset_wins_over_what_the_predictions_say_of_the_question(tmp_path):
    rows = _joined(tmp_path, [{"id": "a", "prediction": "1", "answer": "wrong", "note": "kept", "model": "m"}])
    assert _columns(rows, "answer", "note") == [("A", "kept")]
    assert rows.list_distinct("model") == ["m"]


def test_unrelated_files_are_refused(tmp_path):
    with pytest.raises(Error, match="none of the ids"):
        _joined(tmp_path, [{"id": "x", "prediction": "1"}])


def test_what_a_dataset_says_of_answers_is_not_taken_for_the_predictions(tmp_path):
    questions = [{**row, "model": "teacher", "method": "generate", "prediction_status": "failed"} for row in QUESTIONS]
    rows = _joined(tmp_path, [{"id": "a", "prediction": "1"}], questions)
    assert not rows.names & {"model", "method", "prediction_status"}
    assert rows.list_distinct("model") == []
    assert _columns(rows, "id", "answer", "prediction") == [("a", "A", "1")]


def test_several_replies_find_the_one_row_of_their_question_and_keep_their_variants(tmp_path):
    questions = [{"id": n, "answer": n.upper(), "sample": n, "variant": None} for n in "abc"]
    replies = [{"id": f"{s}#{v}", "sample": s, "variant": v, "prediction": str(v)} for s in "ca" for v in (0, 1)]
    rows = _joined(tmp_path, replies, questions)
    assert _columns(rows, "id", "answer", "variant", "prediction") == [
        ("c#0", "C", 0, "0"), ("c#1", "C", 1, "1"), ("a#0", "A", 0, "0"), ("a#1", "A", 1, "1"),
    ]  # fmt: skip
    assert rows.identity["variant"].to_pylist() == [0, 1, 0, 1]
    assert rows.missing == ("b",)


def test_a_row_without_variant_does_not_find_a_question_by_its_sample_alone(tmp_path):
    questions = [{"id": n, "answer": n.upper(), "sample": n, "variant": None} for n in "ab"]
    replies = [
        {"id": "a", "sample": "a", "variant": None, "prediction": "1"},
        {"id": "x", "sample": "q", "variant": 0, "prediction": "1"},
    ]
    rows = _joined(tmp_path, replies, questions)
    assert [refusal.id for refusal in rows.rejected] == ["x"]


def test_a_sample_that_several_questions_have_tells_nothing(tmp_path):
    questions = [{"id": f"{s}-0", "answer": s, "sample": "0", "variant": None} for s in ("easy", "hard")]
    replies = [{"id": f"0#{v}", "sample": "0", "variant": v, "prediction": "1"} for v in (0, 1)]
    with pytest.raises(Error, match="none of the ids"):
        _joined(tmp_path, replies, questions)


def test_what_only_the_predictions_say_of_a_question_stays(tmp_path):
    questions = [
        {"id": "a", "category": None, "options": [], "extra": '{"year": 1, "from": "dataset"}', "round": 3},
        {"id": "b", "category": "own", "options": ["x"], "extra": "{}", "round": None},
    ]
    replies = [
        {"id": "b", "prediction": "1", "category": "log", "options": ["y"], "extra": '{"lat": 2}', "round": 1},
        {"id": "a", "prediction": "2", "category": "log", "options": ["z", "u"], "extra": '{"lat": 1, "from": "log"}'},
    ]
    rows = _joined(tmp_path, replies, questions, allow_mismatch=True)
    assert _columns(rows, "category", "options", "round", "extra") == [
        ("own", ["x"], 1, '{"lat": 2}'),
        ("log", ["z", "u"], 3, '{"lat":1,"from":"dataset","year":1}'),
    ]
    assert rows.identity["round"].to_pylist() == [1, 3]


@pytest.mark.parametrize("broken", ["[1]", "{", "null"])
def test_extra_that_is_no_object_is_left_as_the_dataset_has_it(tmp_path, broken):
    rows = _joined(tmp_path, [{"id": "a", "prediction": "1", "extra": '{"lat": 1}'}], [{"id": "a", "extra": broken}])
    assert _columns(rows, "extra") == [(broken,)]


def test_the_references_of_a_row_come_from_one_side(tmp_path):
    said = {"prediction": "1", "answer": "log", "answers": ["log"], "label": '"log"'}
    questions = [{"id": "a", "answer": None, "answers": ["x", "y"]}, {"id": "b", "answer": None, "answers": []}]
    rows = _joined(tmp_path, [{"id": "a", **said}, {"id": "b", **said}], questions)
    assert _columns(rows, "answer", "answers", "label") == [(None, ["x", "y"], None), ("log", ["log"], '"log"')]
    assert _columns(rows, "label") == [(None,), ('"log"',)]


def test_the_source_is_the_kit_that_made_the_predictions_else_that_of_the_dataset(tmp_path):
    log, table = tmp_path / "1_samples_vqav2_val.jsonl", tmp_path / "table.jsonl"
    log.write_text('{"doc_id": 0, "target": "x", "filtered_resps": ["x"], "input": "?", "doc_hash": "0"}\n')
    table.write_text('{"id": "0", "prediction": "x"}\n')
    source = pa.array([{"format": "lmudata", "file": "f", "row": 0}])
    pq.write_table(pa.table({"id": ["0"], "answer": ["x"], "source": source}), tmp_path / "q.parquet")
    questions = open_rows(tmp_path / "q.parquet", required=("id",))
    found = [join(open_rows(file), questions).list_distinct(FORMAT) for file in (log, table)]
    assert found == [["lmms_eval_samples"], ["lmudata"]]


def test_a_refused_row_is_not_missing_as_well(tmp_path):
    file = tmp_path / "p.jsonl"
    file.write_text('{"id": "a", "prediction": "1"}\n{"id": "b", "prediction": null}\n')
    rows = join(open_rows(file), open_rows(write_predictions(tmp_path / "q.parquet", QUESTIONS), required=("id",)))
    assert ([refusal.id for refusal in rows.rejected], rows.missing) == (["b"], ("c",))


@pytest.mark.parametrize(
    ("refused", "variant"),
    [
        ({"sample": "b", "variant": 0}, 0),
        ({"sample": "b", "variant": 1}, None),
        ({"sample": "b"}, None),
    ],
)
def test_a_refused_row_finds_its_question_as_rows_that_are_read_do(tmp_path, refused, variant):
    file = tmp_path / "p.jsonl"
    read = {"id": "r0", "sample": "a", "variant": 0, "prediction": "1"}
    file.write_text("".join(json.dumps(row) + "\n" for row in (read, {"id": "r1", "prediction": None, **refused})))
    questions = [{"id": f"q{n}", "answer": n, "sample": n, "variant": variant} for n in "abc"]
    rows = join(open_rows(file), open_rows(write_predictions(tmp_path / "q.parquet", questions), required=("id",)))
    assert ([refusal.id for refusal in rows.rejected], rows.missing) == (["r1"], ("qc",))


def test_a_refused_row_without_a_sample_finds_its_question_by_the_id_as_its_sample(tmp_path):
    file = tmp_path / "p.jsonl"
    file.write_text('{"id": "a", "prediction": "1"}\n{"id": "b", "prediction": null}\n')
    questions = [{"id": f"q{n}", "answer": n, "sample": n, "variant": None} for n in "abc"]
    rows = join(open_rows(file), open_rows(write_predictions(tmp_path / "q.parquet", questions), required=("id",)))
    assert rows.missing == ("qc",)


def test_questions_without_a_row_are_told_by_the_dataset_else_by_the_predictions(tmp_path):
    questions = [{"id": n, "category": n.upper(), "group": None, "prediction": "theirs"} for n in "abc"]
    replies = [{"id": n, "prediction": "1", "group": "g", "category": "log"} for n in ("a", "zz")]
    rows = _joined(tmp_path, replies, questions)
    told = read_unmatched(rows, ["zz", None, "c"], ["category", "group", "prediction", "other"])
    assert told.to_pylist() == [
        {"id": "zz", "category": "log", "group": "g"},
        {"id": None, "category": None, "group": None},
        {"id": "c", "category": "C", "group": None},
    ]
    assert read_unmatched(rows.sides[0], ["x"], ["category"]).to_pylist() == [{"id": "x"}]


def _asked(count, **others):
    """Make questions, the text of some of them another one: `others` by number, as n3="text"."""
    texts = {n: others.get(f"n{n}", f"Is there a thing {n} in the image?") for n in range(count)}
    return [{"id": str(n), "question": text} for n, text in texts.items()]


def _replies(rows):
    return [{**row, "question": f"{row['question']} Say yes or no.", "prediction": "yes"} for row in rows]


def test_a_few_rows_that_ask_something_else_are_named(tmp_path):
    rows = _joined(tmp_path, _replies(_asked(100)), _asked(100, n3="Is it a cat?", n50="Is it a car?"))
    (note,) = rows.notes
    assert "q.parquet: 2 of 100 rows differ from" in note
    assert "3: 'Is there a thing 3 in the image? Say yes or no.' against 'Is it a cat?'; 50: " in note
    assert rows.mismatch == ""
    assert len(rows) == 100


def test_more_than_two_percent_of_other_questions_are_refused_and_may_be_allowed(tmp_path):
    asked = _asked(100, n3="Is it a cat?", n50="Is it a car?", n51="Is it a dog?")
    with pytest.raises(Error, match=r"3 of 100 rows differ .* against 'Is it a car\?'\. .* --allow-mismatch\.$"):
        _joined(tmp_path, _replies(_asked(100)), asked)
    rows = _joined(tmp_path, _replies(_asked(100)), asked, allow_mismatch=True)
    assert (len(rows), rows.mismatch) == (100, "3/100")
    assert "3 of 100 rows differ" in rows.notes[0]


def test_alike_questions_say_nothing(tmp_path):
    rows = _joined(tmp_path, _replies(_asked(3)), _asked(3), allow_mismatch=True)
    assert (rows.notes, rows.mismatch) == ((), "")


def _write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _key(path, rows):
    """Write POPE's question file, whose rows its reader numbers."""
    lines = [{"question_id": 1, "image": "i.jpg", "text": row["question"], "label": "yes"} for row in rows]
    return open_rows(_write_lines(path, lines), required=("id",))


def _llava(path, rows, first=20_000_001):
    lines = [
        {"question_id": first + n, "prompt": row["question"], "text": "Yes", "answer_id": "a", "model_id": "m"}
        for n, row in enumerate(rows)
    ]
    return open_rows(_write_lines(path, lines))


def test_other_ids_join_by_place_where_a_side_has_none_and_the_questions_agree(tmp_path):
    key = _key(tmp_path / "key.json", _asked(4))
    rows = join(_llava(tmp_path / "a.jsonl", _asked(3)), key)
    assert _columns(rows, "id", "answer") == [(str(n), "yes") for n in range(20_000_001, 20_000_004)]
    assert rows.missing == ("000000003",)
    assert "joined by place" in rows.notes[0]
    with pytest.raises(Error, match=r"2 of 4 rows joined by place, since no id is found .* differ"):
        join(_llava(tmp_path / "b.jsonl", _asked(4, n1="Is it a cat?", n2="Is it a car?")), key)
    own = [{**row, "id": f"q{row['id']}"} for row in _asked(3)]
    with pytest.raises(Error, match="none of the ids"):
        join(
            _llava(tmp_path / "a.jsonl", _asked(3)),
            open_rows(write_predictions(tmp_path / "q.parquet", own), required=("id",)),
        )


def test_a_refused_row_keeps_its_place_and_rows_behind_the_end_are_rejected(tmp_path):
    key = _key(tmp_path / "key.json", _asked(4))
    file = tmp_path / "a.jsonl"
    _llava(file, _asked(6))
    lines = file.read_text().splitlines()
    lines[1] = lines[1].replace('"text": "Yes"', '"text": 1')
    file.write_text("\n".join(lines))
    rows = join(open_rows(file), key)
    assert rows.identity["id"].to_pylist() == ["20000001", "20000003", "20000004"]
    assert (len(rows.rejected), rows.missing) == (3, ())
    assert "no row at the place" in rows.rejected[-1].message


def test_ids_that_a_reader_numbered_vouch_for_nothing(tmp_path):
    def table(name, **columns):
        rows = [{"id": f"{n:09d}", "prediction": "yes", "answer": "yes", **columns} for n in range(3)]
        return open_rows(write_predictions(tmp_path / name, rows))

    with pytest.raises(Error, match=r"3 of 3 rows have no question to compare, nor ids of their own"):
        join(table("p.parquet", question="What?"), table("q.parquet"))
    assert join(table("p.parquet"), table("q.parquet"), allow_mismatch=True).mismatch == "3/3"
    assert len(join(table("p.parquet", question="What?"), table("q.parquet", question="what?"))) == 3


def test_a_run_of_ours_takes_the_ids_over(tmp_path):
    table = pa.table({"id": ["000000000"], "prediction": ["yes"]}).replace_schema_metadata({RUN_METADATA: '{"n": 1}'})
    pq.write_table(table, tmp_path / "p.parquet")
    key = write_predictions(tmp_path / "q.parquet", [{"id": "000000000", "answer": "yes"}])
    assert len(join(open_rows(tmp_path / "p.parquet"), open_rows(key, required=("id",)))) == 1


def _ask(*questions: tuple[str, str], **more: str) -> list[dict]:
    return [
        {"id": f"{number:09d}", "group": group, "question": question, **more}
        for number, (group, question) in enumerate(questions)
    ]


def test_rows_without_ids_are_joined_by_the_image_and_the_question_about_it(tmp_path):
    asked = (
        ("color/1.png", "Is it red? Please answer yes or no."),
        ("color/1.png", "Is it blue? Please answer yes or no."),
    )
    questions = [{**row, "answer": row["question"]} for row in _ask(*asked, ("color/2.png", asked[0][1]))]
    said = (("color/1", "Is it blue?\nAnswer the question using a single word or phrase."), ("color/1", "is it  red?"))
    rows = _joined(tmp_path, _ask(*said, prediction="yes"), [{**row, "id": f"color-{row['id']}"} for row in questions])
    assert _columns(rows, "answer") == [(asked[1][1],), (asked[0][1],)]
    assert rows.missing == ("color-000000002",)
    assert any("group and question" in note for note in rows.notes)


def test_a_question_that_no_group_asks_is_rejected_and_not_joined_by_place(tmp_path):
    questions = [
        {**row, "id": f"q{row['id']}", "answer": "Yes"}
        for row in _ask(("1.png", "Is it red?"), ("2.png", "Is it tall?"))
    ]
    rows = _joined(tmp_path, _ask(("1.png", "Is it red?"), ("2.png", "Is it far away?"), prediction="yes"), questions)
    assert len(rows) == 1
    assert "no row with the group and question of this one" in rows.rejected[0].message


def _write_mme(folder, *images):
    """Write a key as MME has it, two questions an image."""
    folder.mkdir()
    lines = [f"{image}.png\tIs it {what}?\tYes" for image in images for what in ("a red car", "a blue boat")]
    (folder / "color.txt").write_text("".join(f"{line}\n" for line in lines))
    return open_rows(folder, required=("id",))


def _answer_mme(path, *images, broken=""):
    lines = [
        {"question_id": f"color/{image}.png", "prompt": f"Is it {what}?", "text": None if image == broken else "Yes",
         "answer_id": "a", "model_id": "m"}
        for image in images for what in ("a red car", "a blue boat")
    ]  # fmt: skip
    return open_rows(_write_lines(path, lines))


def test_a_refused_row_that_is_joined_by_its_question_is_not_missing_as_well(tmp_path):
    rows = join(_answer_mme(tmp_path / "a.jsonl", *"12", broken="2"), _write_mme(tmp_path / "key", *"123"))
    assert (len(rows), len(rows.rejected)) == (2, 2)
    assert rows.missing == ("color-000000004", "color-000000005")


def test_a_key_of_other_images_is_another_file_and_a_larger_or_smaller_key_is_none(tmp_path):
    key = _write_mme(tmp_path / "key", *"12345")
    for name, images in (("all", "12345678"), ("few", "1"), ("half", "123678")):
        assert join(_answer_mme(tmp_path / f"{name}.jsonl", *images), key).mismatch == ""
    other = _answer_mme(tmp_path / "other.jsonl", *"16789")
    wanted = (
        r"is another file: 2 of 10 rows of .*other.jsonl have their group and question here\. "
        r"One that has not: color/6 'is it a red car\?'; one of .*key: color/2 'is it a red car\?'\. .*--allow-mismatch"
    )
    with pytest.raises(Error, match=wanted):
        join(other, key)
    rows = join(other, key, allow_mismatch=True)
    assert (len(rows), rows.mismatch) == (2, "8/10")


NUMBERED = [{"id": f"{n:09d}", "question": f"What is shown in {n}?", "answer": str(n)} for n in range(4)]


def _say(rows, numbered):
    return [{**row, "source": {"format": "f", "file": "f.jsonl", "row": n, "numbered": numbered}}
            for n, row in enumerate(rows)]  # fmt: skip


def test_ids_that_a_reader_gave_do_not_vouch_for_a_join(tmp_path):
    asked = _say(NUMBERED, True)
    other = [{**row, "question": None, "prediction": "1"} for row in asked]
    with pytest.raises(Error, match="have no question to compare, nor ids of their own"):
        _joined(tmp_path, other, asked)
    run = {RUN_METADATA: json.dumps({"n": 1}).encode()}
    table = pq.read_table(write_predictions(tmp_path / "run.parquet", other)).replace_schema_metadata(run)
    pq.write_table(table, tmp_path / "run.parquet")
    with pytest.raises(Error, match="nor ids of their own"):
        join(open_rows(tmp_path / "run.parquet"), open_rows(tmp_path / "q.parquet", required=("id",)))
    alike = [{**row, "prediction": "1"} for row in asked]
    assert len(_joined(tmp_path, alike, asked)) == 4


def test_ids_of_a_source_vouch_though_they_look_like_numbers_of_rows(tmp_path):
    asked = _say(NUMBERED, False)
    silent = [{**row, "question": None, "prediction": "1"} for row in asked]
    assert len(_joined(tmp_path, silent, asked)) == 4
    # Where neither side says what its ids are, as in files of version 1, they are looked at.
    old = [{name: value for name, value in row.items() if name != "source"} for row in asked]
    with pytest.raises(Error, match="nor ids of their own"):
        _joined(tmp_path, [{**row, "question": None, "prediction": "1"} for row in old], old)
