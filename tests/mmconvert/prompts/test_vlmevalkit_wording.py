import pytest

from mmconvert.core.errors import RowError, UsageError
from mmconvert.core.record import Image, Record, Source
from mmconvert.prompts.vlmevalkit import (
    CLASSES,
    build_choice_text,
    build_conversation,
    build_messages,
    split_at_images,
    vlmevalkit,
)

CHOICE = {"question": "Which?", "hint": "Look.", "A": "cat", "C": 42.0}


def _values(turn):
    return [piece["value"] for piece in turn]


def test_choices_keep_gaps_and_end_with_a_blank_before_the_line_break():
    assert build_choice_text(CHOICE) == (
        "Hint: Look.\nQuestion: Which?\nOptions:\nA. cat\nC. 42.0\n"
        "Please select the correct answer from the options above. \n"
    )
    assert build_choice_text({"question": None}) == "Question: nan\n"


@pytest.mark.parametrize(
    ("name", "dataset", "end"),
    [
        ("ImageVQADataset", "x", "\nAnswer the question using a single word or phrase."),
        ("MTVQADataset", "x", " in the language of the question."),
        ("ImageShortQADataset", "x", "\nPlease directly provide a short answer to the question. "),
        ("ImageYORNDataset", "AMBER", "\nPlease answer yes or no."),
        ("ImageYORNDataset", "MME", "Which?"),
        ("MMMUProDataset", "MMMU_Pro_10c", "\nAnswer directly with the option letter from the given choices. "),
        ("MMMUProDataset", "MMMU_Pro_V_COT", "Think step by step before answering. "),
    ],
)
def test_each_class_has_its_closing_line(name, dataset, end):
    turn = build_messages(name, dataset, CHOICE, ["a.png"])
    assert turn[0] == {"type": "image", "value": "a.png"}
    assert turn[-1]["value"].endswith(end)


def test_a_caption_without_question_gets_the_kits_own():
    assert build_messages("ImageCaptionDataset", "COCO", {"answer": "x"}, [])[-1]["value"].startswith("Please describe")
    assert _values(build_messages("ImageCaptionDataset", "COCO", {"question": "Say!"}, [])) == ["Say!"]


@pytest.mark.parametrize("question", [2, None, 3.5])
def test_a_number_cannot_be_followed_by_a_suffix(question):
    with pytest.raises(RowError, match="expected a text"):
        build_messages("ImageVQADataset", "x", {"question": question}, [])
    assert build_messages("OCRBench", "x", {"question": question}, [])[-1]["value"] == (
        "nan" if question is None else question
    )


def test_images_stand_where_the_text_names_them():
    assert _values(split_at_images("<image 2><image 1> and <image 2>", ["a", "b"])) == [
        "",
        "b",
        "",
        "a",
        " and ",
        "b",
        "",
    ]
    assert _values(split_at_images("no name", ["a", "b"])) == ["a", "b", "no name"]
    assert _values(split_at_images("<image 0>", ["a", "b"])) == ["", "b", ""]


@pytest.mark.parametrize("text", ["<image 10>", "<image  1>", "<image x>", "<image ", "<image 3>"])
def test_other_spellings_and_missing_images_are_refused(text):
    with pytest.raises(RowError):
        split_at_images(text, ["a", "b"])


def test_a_dialog_takes_images_in_order():
    turns = build_conversation(
        {"question": "['<ImageHere> this?', 'and <ImageHere>']", "answer": "['a', 'b']"}, ["1", "2"]
    )
    assert [_values(turn["content"]) for turn in turns] == [["1", " this?"], ["a"], ["and ", "2"], ["b"]]
    assert _values(build_conversation({"question": "one"}, [])[1]["content"]) == [""]


@pytest.mark.parametrize(
    "row",
    [
        {"question": "['a', 'b']", "answer": "['c']"},
        {"question": "<ImageHere><ImageHere>"},
        {"question": "a", "answer": "<ImageHere>"},
        {"question": 3},
    ],
)
def test_a_dialog_that_does_not_add_up_is_refused(row):
    with pytest.raises(RowError):
        build_conversation(row, ["1"])


def test_a_record_is_worded_by_its_task_or_by_the_class_asked_for():
    record = Record(
        "1", "1", (), "multiple_choice", Source("t", "f", 0), (Image(b"", 3),), "Which?", ("cat", None, "dog")
    )
    wording = vlmevalkit(record)
    assert wording.slots == (3,)
    assert wording.parts[1].text.startswith("Question: Which?\nOptions:\nA. cat\nC. dog\n")
    assert vlmevalkit(record, "OCRBench").parts[1].text == "Which?"
    with pytest.raises(UsageError, match="Did you mean ImageVQADataset"):
        vlmevalkit(record, "ImageVQADatasets")
    with pytest.raises(UsageError, match="words whole conversations"):
        vlmevalkit(record, "ImageMTDataset")


def test_captions_without_a_question_are_asked_the_class_s_own():
    record = Record("1", "1", (), "caption", Source("t", "f", 0), (Image(b"", 0),))
    for class_name in (None, "ImageCaptionDataset"):
        assert vlmevalkit(record, class_name).parts[-1].text.startswith("Please describe this image in general.")


def test_every_class_words_a_plain_row():
    for name in CLASSES:
        assert build_messages(name, "x", {"question": "Which?", "A": "cat", "B": "dog"}, ["a.png"])
