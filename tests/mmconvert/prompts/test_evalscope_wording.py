import pytest

from mmconvert.core.errors import RowError, UsageError
from mmconvert.core.record import Image, Part, Record, Source, Turn
from mmconvert.core.text.placeholders import format_turn
from mmconvert.kits.evalscope.files import read_rows
from mmconvert.pipeline.convert import read
from mmconvert.prompts.evalscope import TEMPLATES, build_choice_text, evalscope, read_choice_sample, read_options
from support.releases import RELEASES

BRIEF = "{question}\n{choices}"


def _record(question, options=(), images=(), attachments=(), turns=None):
    turns = turns or (Turn("user", (*(Part("image") for _ in images), Part("text", question or ""))),)
    return Record(
        "1",
        "1",
        turns,
        "multiple_choice" if options else "vqa",
        Source("f", "f", 0),
        images=tuple(Image(b"", slot) for slot in images),
        question=question,
        options=tuple(options),
        attachments=tuple(Image(b"", slot) for slot in attachments),
    )


def _shown(record, **options):
    wording = evalscope(record, **options)
    return format_turn(Turn("user", wording.parts), [Image(b"", slot) for slot in wording.slots])


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_template_holds_question_options_and_letters(name):
    text = build_choice_text("Which {one}?", ["cat", "dog"], name)
    assert "Which {one}?" in text
    assert "A) cat\nB) dog" in text
    assert "A,B" in text


def test_the_templates_end_as_the_kit_ends_them():
    assert TEMPLATES["single_cot"].endswith("Think step by step before answering.\n\n{question}\n\n{choices}")
    assert TEMPLATES["chinese_single_cot"].endswith("一步步思考。\n\n问题：{question}\n选项：\n{choices}\n")
    assert "全部内容" in TEMPLATES["chinese_single"]


@pytest.mark.parametrize("template", ["single_cto", "{other}", "{0}", "{question.missing}", "{"])
def test_a_template_that_cannot_be_used(template):
    with pytest.raises(UsageError):
        build_choice_text("Which?", ["cat", "dog"], template)


def test_images_stand_where_they_are_named():
    record = _record("Is <image 2> red?", ("<image 1>", "no"), images=(2, 1))
    assert _shown(record, template=BRIEF) == "Is <image 2> red?\nA) <image 1>\nB) no"


def test_images_that_no_placeholder_names_go_first():
    assert (
        _shown(_record("Which?", ("a", "b"), images=(1, 2)), template=BRIEF) == "<image 1><image 2>Which?\nA) a\nB) b"
    )


def test_gaps_between_options_close_up():
    assert _shown(_record("Which?", ("a", None, "c")), template=BRIEF) == "Which?\nA) a\nB) c"


def test_an_image_that_the_prompt_did_not_show_may_be_named():
    assert _shown(_record("See <image_3>", ("a", "b"), attachments=(3,)), template=BRIEF) == "See <image 3>\nA) a\nB) b"
    with pytest.raises(RowError):
        evalscope(_record("See <image 4>", ("a", "b")))


def test_a_question_without_options_stays_as_it_is():
    turns = (
        Turn("user", (Part("image"), Part("text", "First?"))),
        Turn("assistant", (Part("text", "Yes."),)),
        Turn("user", (Part("text", "Then "), Part("image"), Part("text", " "))),
    )
    record = _record("Then <image 2> ", images=(1, 2), turns=turns)
    assert evalscope(record).parts == turns[2].content
    assert evalscope(record).slots == (2,)


@pytest.mark.parametrize(
    ("cell", "options"),
    [
        (["a", 1, True, None], ["a", "1", "True", "None"]),
        ('["a", null]', ["a", "None"]),
        ("('a', \"b\")", ["a", "b"]),
        ("{'a': 1}", ["a"]),
        ('"ab"', ["a", "b"]),
        ("['a' 'b']", ["ab"]),
        ("[]", []),
    ],
)
def test_options_are_read_loosely(cell, options):
    assert read_options(cell) == options


@pytest.mark.parametrize("cell", [None, 5, {"a": 1}, "a,b", '["a"', "5", "null", "", "(" * 300, "-" * 100_000 + "1"])
def test_what_is_no_list_of_options_is_refused(cell):
    with pytest.raises(RowError):
        read_options(cell)


def test_a_row_needs_a_question_and_an_answer():
    row = {"question": None, "options": ["a", "b"], "answer": ["A", "B"]}
    for release in RELEASES:
        sample = read_choice_sample(row, release, BRIEF)
        assert sample.messages == [{"role": "user", "content": [{"type": "text", "text": "None\nA) a\nB) b"}]}]
        assert sample.target == ["A", "B"]
    for name in row:
        with pytest.raises(RowError):
            read_choice_sample({key: value for key, value in row.items() if key != name})
    with pytest.raises(RowError):
        read_choice_sample({**row, "answer": None})


def test_records_are_worded_as_the_raw_rows_of_real_files(shared):
    folder = shared / "real" / "evalscope_custom_eval" / "custom_eval" / "multimodal"
    for name in ("mcq/example.jsonl", "mcq/example.tsv"):
        file = folder / name
        records = list(read(file, image_roots=(folder.parent.parent,), prompt="evalscope"))
        rows = read_rows(file)
        assert len(records) == len(rows) > 0
        for record, row in zip(records, rows, strict=True):
            (message,) = read_choice_sample(row).messages
            assert [part.text for part in record.messages[0].content] == [p.get("text", "") for p in message["content"]]
            shown = [part["image"] for part in message["content"] if part["type"] == "image"]
            assert [image.name for image in record.images] == shown
