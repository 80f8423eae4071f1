"""Tables that nobody's framework made."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmconvert.core.errors import Error, UsageError
from mmconvert.io.detect import guess
from mmconvert.pipeline.inputs import Input
from mmconvert.pipeline.read import ReadOptions, Records
from support.records import image_bytes
from support.videos import make_video


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "pics").mkdir()
    for name in ("a", "b"):
        (tmp_path / f"pics/{name}.png").write_bytes(image_bytes("PNG"))
    return tmp_path


def read(path, *mapping, **options):
    records = Records(Input(path), ReadOptions(mapping=mapping, **options))
    return list(records), records


def write(folder, text, name="t.csv"):
    path = folder / name
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    return path


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("image,question,answer", "--map image=image --map question=question --map answer=answer"),
        ("file_name,query,gt", "--map image=file_name --map question=query --map answer=gt"),
        ("img,problem,solution", "--map image=img --map question=problem --map answer=solution"),
        ("image_path,instruction,label", "--map image=image_path --map question=instruction --map answer=label"),
    ],
)
def test_known_names_are_taken_and_said(folder, header, said):
    path = write(folder, f"{header}\npics/a.png,What?,red\n")
    assert guess(path) == ("table", f"read with {said}")
    ((record,), _) = read(path)
    assert (record.question, record.answer, len(record.images), record.task) == ("What?", "red", 1, "vqa")
    assert [part.type for part in record.messages[0].content] == ["image", "text"]
    assert record.id == "000000000"


def test_columns_of_another_language_are_asked_for_at_once(folder):
    path = write(folder, "ID;Bild;Frage;Antwort\n1;pics/a.png;Was?;rot\n")
    with pytest.raises(Error, match="--map question=COLUMN --map image=COLUMN --map answer=COLUMN"):
        guess(path)
    ((record,), _) = read(path, "question=Frage", "image=Bild", "answer=Antwort")
    assert (record.id, record.question, record.answer, len(record.images)) == ("1", "Was?", "rot", 1)


def test_a_fields_own_name_goes_before_others(folder):
    path = write(folder, "question,prompt,answer\nWhat?,Say: What?,red\n")
    ((record,), _) = read(path)
    assert (record.question, record.extra) == ("What?", {"prompt": "Say: What?"})


def test_several_columns_for_one_field_are_not_chosen_from(folder):
    path = write(folder, "prompt,text,answer\nx,y,red\n")
    with pytest.raises(
        Error, match=r"several columns for question, 'prompt' and 'text'\. Name one: --map question=prompt"
    ):
        guess(path)
    ((record,), _) = read(path, "question=text")
    assert (record.question, record.extra) == ("y", {"prompt": "x"})


def test_a_reply_to_learn_and_a_prediction_look_alike(folder):
    path = write(folder, '{"instruction": "Say hi", "output": "hi"}\n', "t.jsonl")
    with pytest.raises(Error, match="a prediction or a response to train on"):
        guess(path)
    ((told,), _) = read(path, "question=instruction", "prediction=output")
    ((taught,), _) = read(path, "question=instruction", "reply=output")
    assert told.prediction == "hi"
    assert [turn.role for turn in taught.messages] == ["user", "assistant"]
    assert taught.prediction is None


@pytest.mark.parametrize("cell", ["A", "a", " A ", "red", " red", "(A)", "(a)", "[A]", "A.", "A)", "A: red", "(A) red"])
def test_an_answer_is_a_letter_or_the_text_of_one_option(folder, cell):
    path = write(folder, [{"question": "Which?", "choices": ["red", "None"], "answer": cell}], "t.json")
    ((record,), _) = read(path)
    assert (record.options, record.answer, record.task) == (("red", "None"), "A", "multiple_choice")


@pytest.mark.parametrize(
    ("options", "cell"),
    [
        (["red", "blue"], "C"),
        (["B", "A"], "A"),
        (["B", "A"], "(A)  B."),
        (["B ", "A "], "A"),
        (["B\u3000", "A\u3000"], "A"),
        (["red", "red"], "red"),
        (["red", "blue"], "(A) blue"),
        (["red", "blue"], "A red"),
        ([*"qrstuvwxyzqrstuvwxyz"], "\ufb06"),
        (["red", "blue"], "Red"),
        (["red", "blue"], True),
        (["yes", "true"], True),
    ],
)
def test_an_answer_that_may_be_several_or_none_refuses_the_row(folder, options, cell):
    path = write(folder, [{"question": "Which?", "choices": options, "answer": cell}], "t.json")
    (none, records) = read(path)
    assert none == []
    assert records.rejects[0].code == "answer.not_an_option"


@pytest.mark.parametrize("cell", [1, "1", 1.0])
def test_a_place_of_an_option_may_count_from_0_or_1_and_refuses_the_file(folder, cell):
    rows = [{"question": "Which?", "choices": ["red", "blue", "pink"], "label": cell, "prediction": "A"}]
    path = write(folder, rows, "t.json")
    for scoring in (False, True):
        with pytest.raises(Error, match=r"--map answer_index=label, from 1 with --map answer_number=label"):
            read(path, for_scoring=scoring)
        none, records = read(path, "question=question", for_scoring=scoring)
        assert (none, records.rejects[0].code) == ([], "answer.not_an_option")
        assert "may count from 0 or from 1" in records.rejects[0].message
    ((from_0,), _) = read(path, "answer_index=label")
    ((from_1,), _) = read(path, "answer_number=label")
    assert (from_0.answer, from_1.answer, from_1.answers) == ("B", "A", ("A",))


@pytest.mark.parametrize("name", ["answer_index", "correct_index", "correct_choice_idx"])
def test_an_index_is_known_by_its_name_and_counts_from_0(folder, name):
    rows = [{"question": "Which?", "choices": ["red", "blue"], name: place} for place in (1, 0, None, 2, -1, "B", True)]
    found, records = read(write(folder, rows, "t.json"))
    assert [record.answer for record in found] == ["B", "A", None]
    assert [reject.code for reject in records.rejects] == ["answer.not_an_option"] * 4


def test_an_answer_in_words_goes_before_its_place_and_a_mapping_before_both(folder):
    path = write(folder, [{"question": "?", "choices": ["red", "blue"], "answer": "red", "answer_index": 1}], "t.json")
    ((record,), _) = read(path)
    assert (record.answer, record.extra) == ("A", {"answer_index": 1})
    ((record,), _) = read(path, "answer_index=answer_index")
    assert (record.answer, record.extra) == ("B", {"answer": "red"})


def test_a_number_may_be_the_text_of_an_option(folder):
    path = write(folder, [{"question": "How many?", "choices": [3, "4"], "answer": 4}], "t.json")
    ((record,), _) = read(path)
    assert record.answer == "B"


def test_options_may_carry_their_letters(folder):
    rows = [{"question": "?", "choices": ["A. red", "B. blue"], "answer": cell} for cell in ("B", "blue", "(B) blue")]
    records, _ = read(write(folder, rows, "t.json"))
    assert [record.answer for record in records] == ["B", "B", "B"]


@pytest.mark.parametrize(
    "options",
    [
        {"A": "red", "B": "blue"},
        [{"label": "A", "text": "red"}, {"label": "B", "text": "blue"}],
        [{"key": "A", "value": "red"}, {"key": "B", "value": "blue"}],
        [{"text": "red"}, {"text": "blue"}],
        {"label": ["A", "B"], "text": ["red", "blue"]},
        {"text": ["red", "blue"]},
        "A. red; B. blue",
        "A) red\n(B) blue\n",
        "A: red | B: blue",
        ["A. red", "B. blue"],
        "['A. red', 'B. blue']",
    ],
)
def test_options_are_read_as_people_write_them(folder, options):
    ((record,), _) = read(write(folder, [{"question": "?", "options": options, "answerKey": "B"}], "t.json"))
    assert (record.options, record.answer) == (("red", "blue"), "B")


@pytest.mark.parametrize(
    "options",
    [
        [{"label": "1", "text": "red"}, {"label": "2", "text": "blue"}],
        [{"label": "B", "text": "red"}, {"label": "A", "text": "blue"}],
        {"label": ["A"], "text": ["red", "blue"]},
        {"A": "red", "C": "blue"},
        [{"text": "red"}, {"text": {"x": 1}}],
        "red; blue",
        "A. red; C. blue",
        "A. red",
    ],
)
def test_options_of_other_shapes_refuse_the_row(folder, options):
    (none, records) = read(write(folder, [{"question": "?", "options": options, "answer": "A"}], "t.json"))
    assert none == []
    assert records.rejects[0].field.startswith("options")


@pytest.mark.parametrize(
    "names",
    [
        "option_a,option_b",
        "Option A,Option B",
        "optionA,optionB",
        "choice_a,choice_b",
        "opt1,opt2",
        "option_0,option_1",
    ],
)
def test_options_may_have_columns_of_longer_names(folder, names):
    path = write(folder, f"question,{names},answer\nWhich?,red,blue,B\n")
    ((record,), records) = read(path)
    assert (record.options, record.answer, record.extra) == (("red", "blue"), "B", {})
    first, second = names.split(",")
    assert f"--map A={first} --map B={second}" in records.reason


def test_columns_of_letters_go_before_longer_names_and_one_option_is_none(folder):
    ((record,), _) = read(write(folder, "question,A,B,option_a,option_b,answer\n?,red,blue,x,y,B\n"))
    assert (record.options, record.extra) == (("red", "blue"), {"option_a": "x", "option_b": "y"})
    ((record,), _) = read(write(folder, "question,option_a,answer\n?,x,y\n"))
    assert (record.options, record.extra) == ((), {"option_a": "x"})


def test_letters_that_are_not_those_of_the_options_stay(folder):
    rows = [{"question": "?", "options": ["B. red", "A. blue"], "answer": "B. red"}]
    ((record,), _) = read(write(folder, rows, "t.json"))
    assert (record.options, record.answer) == (("B. red", "A. blue"), "A")


@pytest.mark.parametrize("options", [["No", "Yes"], ["false", "True"]])
def test_a_boolean_names_the_option_that_says_it(folder, options):
    rows = [{"question": "?", "choices": options, "answer": cell} for cell in (True, False)]
    records, _ = read(write(folder, rows, "t.json"))
    assert [record.answer for record in records] == ["B", "A"]


def test_a_code_names_the_field_and_a_message_the_column(folder):
    rows = [{"My Question": ["?"], "id": 1, "The key": "x"}, {"My Question": "?", "id": 2, "The key": {"a": 1}}]
    none, records = read(write(folder, rows, "t.json"), "question=My Question", "answer=The key")
    assert none == []
    assert [(reject.code, reject.field) for reject in records.rejects] == [
        *(("question.type", "My Question"), ("answer.type", "The key")),
    ]


def test_a_boolean_without_options_is_refused_with_the_words_to_write(folder):
    none, records = read(write(folder, [{"image": "pics/a.png", "question": "?", "answer": True}], "t.json"))
    assert (none, records.rejects[0].code) == ([], "answer.type")
    assert str(records.rejects[0]).endswith('Write it as responses do: "true" or "yes".')


def test_scoring_keeps_a_row_whose_answer_is_no_option(folder):
    rows = [{"question": "Which?", "choices": ["red", "blue"], "answer": "green", "prediction": "A"}]
    ((record,), _) = read(write(folder, rows, "t.json"), for_scoring=True)
    assert record.answer == "green"


def test_options_may_have_a_column_each_and_none_is_a_text(folder):
    path = write(folder, "question,A,B,C,answer\nWhich?,red,None,,B\n")
    ((record,), _) = read(path)
    assert (record.options, record.answer) == (("red", "None"), "B")
    path = write(folder, "q,first,second\nWhich?,red,blue\n")
    ((record,), _) = read(path, "question=q", "A=first", "B=second")
    assert (record.options, record.extra) == (("red", "blue"), {})


@pytest.mark.parametrize("cell", ['["pics/a.png", "pics/b.png"]', "['pics/a.png', 'pics/b.png']"])
def test_a_cell_may_list_images(folder, cell):
    path = write(folder, [{"images": cell, "question": "<image 2> or <image 1>?", "answer": "x"}], "t.json")
    ((record,), _) = read(path)
    assert [image.name for image in record.images] == ["pics/b.png", "pics/a.png"]
    assert [part.type for part in record.messages[0].content] == ["image", "text", "image", "text"]


def test_parquet_holds_images_as_datasets_writes_them(folder):
    image = {"bytes": image_bytes("PNG"), "path": "a.png"}
    path = folder / "t.parquet"
    pq.write_table(
        pa.Table.from_pylist([{"img": image, "problem": "What?", "solution": "red", "meta": {"k": 1}}]), path
    )
    ((record,), _) = read(path)
    assert (record.answer, record.images[0].format, record.extra) == ("red", "PNG", {"meta": {"k": 1}})


def test_a_missing_image_refuses_a_question_and_not_a_prediction(folder):
    rows = [{"image": "no.png", "question": "What?"}, {"image": "no.png", "question": "What?", "response": "red"}]
    ((record,), records) = read(write(folder, rows, "t.json"))
    assert (record.prediction, record.images) == ("red", ())
    assert [reject.code for reject in records.rejects] == ["image.missing"]
    assert len(records.warnings) == 1


def test_a_column_of_scores_is_none_of_videos(folder):
    ((record,), records) = read(write(folder, "id,clip,question,answer\n1,0.31,What?,red\n"))
    assert (records.rejects, record.images, record.extra) == ([], (), {"clip": "0.31"})
    ((record,), _) = read(write(folder, [{"clip": 0.31, "question": "What?", "answer": "red"}], "t.json"))
    assert record.extra == {"clip": 0.31}


def test_a_column_that_names_videos_is_said_and_can_be_mapped(folder):
    make_video(folder / "a.mp4")
    path = write(folder, "movie,question,answer\na.mp4,What?,red\n")
    ((record,), records) = read(path)
    assert record.images == ()
    (warning,) = records.warnings
    assert warning == "the column 'movie' names videos, which are not shown; to show them: --map video=movie"
    (none, records) = read(path, "video=movie")
    assert (none, records.rejects[0].field) == ([], "movie")
    assert str(records.rejects[0]).endswith("--frames 8")
    ((record,), records) = read(path, "video=movie", frames=2)
    assert ([image.time for image in record.images], [*records.warnings]) == ([0.6, 1.3], [])


def test_a_missing_image_of_a_prediction_names_the_folder_that_has_it(folder):
    (folder / "lists").mkdir()
    rows = [{"image": "pics/a.png", "question": "What?", "response": "red"}]
    ((record,), records) = read(write(folder / "lists", rows, "t.json"))
    assert record.images == ()
    ((remark, count),) = records.warnings.items()
    assert (remark.rpartition("; ")[2], count) == (f"the folder that has it: --image-root={folder}", 1)


def test_an_object_of_responses_is_a_table(folder):
    path = write(folder, {"v1": "red", "v2": "", "v3": None, "v4": 3}, "t.json")
    records, read_so = read(path, format="table")
    assert [(record.id, record.prediction) for record in records] == [("v1", "red"), ("v2", "")]
    assert [(reject.id, reject.code) for reject in read_so.rejects] == [
        ("v3", "question.missing"), ("v4", "prediction.type"),
    ]  # fmt: skip
    assert guess(write(folder, {"v1": "red", "v2": "no"}, "u.json"))[0] == "table"


def test_an_object_of_rows_is_a_table(folder):
    rows = {"7": {"question": "What?", "answer": "red"}, "8": {"question": "Which?", "answer": "blue"}}
    path = write(folder, rows, "t.json")
    assert guess(path) == ("table", "read with --map id=id --map question=question --map answer=answer")
    records, _ = read(path)
    assert [(record.id, record.answer) for record in records] == [("7", "red"), ("8", "blue")]


def test_an_object_that_is_a_row_itself_is_no_table_of_ids(folder):
    with pytest.raises(Error, match="one object and not a row for each id"):
        guess(write(folder, {"question": "What?", "answer": "red"}, "t.json"))


def test_an_id_of_several_rows_is_their_group(folder):
    path = write(folder, "question_id,question,response\ni1,a?,yes\ni1,b?,no\ni2,c?,yes\n")
    records, _ = read(path)
    assert [(record.id, record.group) for record in records] == [
        ("000000000", "i1"), ("000000001", "i1"), ("000000002", "i2"),
    ]  # fmt: skip


def test_a_question_without_anything_beside_is_no_table(folder):
    with pytest.raises(Error, match="nothing beside the question"):
        guess(write(folder, "question,note\nWhat?,x\n"))


def test_a_mapping_is_for_plain_tables(folder):
    path = write(folder, "image,question,answer\npics/a.png,What?,red\n")
    with pytest.raises(UsageError, match=r"--map is for plain tables, and vmcq has names of its own"):
        read(path, "answer=answer", format="vmcq")
    with pytest.raises(UsageError, match=r"no such column\. Did you mean answer"):
        read(path, "answer=anser")


def test_a_column_that_a_mapping_uses_is_not_taken_twice(folder):
    path = write(folder, "question,answer\nWhat?,red\n")
    ((record,), _) = read(path, "prediction=answer")
    assert (record.prediction, record.answer) == ("red", None)


def test_a_column_of_image_names_that_is_taken_for_nothing_is_named(folder):
    found, records = read(write(folder, "file,question,answer\na.png,Which?,red\nb.JPEG,Who?,me\n"))
    assert len(found) == 2
    ((text, count),) = records.warnings.items()
    assert ("--map image=file" in text, count) == (True, 2)


@pytest.mark.parametrize(
    ("question", "answer", "prediction"),
    [
        ("Question", "Answer", "Prediction"),
        ("question", "GT", "Pred"),
        ("prompt", "label", "predict"),
        ("question", "gold", "predicted_answer"),
        ("question", "reference", "modelResponse"),
        ("question", "correct_answer", "Model Answer"),
        ("input", "target", "generated_text"),
        ("question", "expected", "completion"),
        ("question", "annotation", "answer"),
    ],
)
def test_columns_are_known_by_many_names(tmp_path: Path, question: str, answer: str, prediction: str) -> None:
    path = tmp_path / "p.csv"
    path.write_text(f"{question},{answer},{prediction}\nWho?,me,you\n")
    (row,) = read(path)[0]
    assert (row.question, row.answer, row.prediction) == ("Who?", "me", "you")


@pytest.mark.parametrize(
    "name", ["image_name", "imagename", "Image", "img_filename", "picture", "filepath", "imageUrl"]
)
def test_columns_of_images_are_known_by_many_names(tmp_path: Path, name: str) -> None:
    (tmp_path / "i.png").write_bytes(image_bytes("PNG"))
    path = tmp_path / "q.csv"
    path.write_text(f"{name},question\ni.png,Who?\n")
    assert [len(row.images) for row in read(path)[0]] == [1]


def test_the_usual_name_counts_where_another_column_has_one_as_well(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"question": "Q", "Prompt": "P", "answer": "a", "gold": "g", "pred": "x", "generated": "y"}\n')
    (row,) = read(path)[0]
    assert (row.question, row.answer, row.prediction) == ("Q", "a", "x")
    assert row.extra == {"Prompt": "P", "gold": "g", "generated": "y"}


def test_a_caption_needs_no_question(tmp_path: Path) -> None:
    (tmp_path / "i.png").write_bytes(image_bytes("PNG"))
    path = tmp_path / "c.csv"
    path.write_text("image,caption\ni.png,A square.\n")
    (row,) = read(path)[0]
    assert (row.task, row.answer, len(row.images)) == ("caption", "A square.", 1)


@pytest.mark.parametrize("pair", [("prompt", "completion"), ("input", "output")])
def test_a_prompt_and_its_completion_may_be_a_reply_to_learn(tmp_path: Path, pair: tuple[str, str]) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"{','.join(pair)}\na,b\n")
    with pytest.raises(Error, match="a prediction or a response to train on"):
        guess(path)
