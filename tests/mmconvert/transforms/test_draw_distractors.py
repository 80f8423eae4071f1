"""Options drawn from a list: TDIUC's and object counting's."""

import json

import pytest

from mmconvert.core.errors import RowError, UsageError
from mmconvert.core.record import LETTERS, join_prompt_text
from mmconvert.plugins.transform import apply_steps, load_steps, make_copies
from support.drawing import applied, asked, photo

COLOURS = ["red", "green", "blue", "white", "black", "brown"]


@pytest.fixture
def colours(tmp_path):
    file = tmp_path / "color.json"
    file.write_text(json.dumps(COLOURS))
    return file


def question(answer="red", id_="7", **fields):
    return asked(
        photo(3, 3), "What colour?", id_=id_, answer=answer, answers=(answer,), label=json.dumps(answer), **fields
    )


def test_a_question_gets_its_answer_and_three_others(colours):
    made = applied(question(), f"draw_distractors:choices={colours}")
    assert len(set(made.options)) == 4
    assert set(made.options) <= set(COLOURS)
    index = made.options.index("red")
    assert (made.task, made.answer, made.answers, made.label) == (
        "multiple_choice",
        LETTERS[index],
        (LETTERS[index],),
        str(index),
    )
    lines = join_prompt_text(made).split("\n")
    assert lines[0] == "<image>What colour?"
    assert lines[1:5] == [f"{letter}. {text}" for letter, text in zip("ABCD", made.options, strict=True)]
    assert (made.id, made.variant) == ("7", None)


def test_unshuffled_the_answer_is_last(colours):
    assert applied(question(), f"draw_distractors:choices={colours},shuffle=no").options[3] == "red"
    assert applied(question("purple"), f"draw_distractors:choices={colours},shuffle=no,count=2").options[2] == "purple"


def test_yes_and_no_are_the_options_of_a_yes_no_question(colours):
    made = applied(question("no"), f"draw_distractors:choices={colours},shuffle=false")
    assert (made.options, made.answer, made.label) == (("yes", "no"), "B", "1")


def test_every_copy_draws_anew_and_every_run_alike(colours):
    chain = load_steps([f"draw_distractors:choices={colours}"], seed=5)
    drawn = [made.options for copy in make_copies(question(), 8) for made in apply_steps(copy, chain)]
    assert drawn == [made.options for copy in make_copies(question(), 8) for made in apply_steps(copy, chain)]
    assert len(set(drawn)) > 4
    assert all("red" in options for options in drawn)


def test_every_other_answer_is_drawn_sometimes_and_every_place_taken(colours):
    spec = f"draw_distractors:choices={colours},count=2"
    made = [applied(question(id_=str(n)), spec) for n in range(60)]
    assert {text for one in made for text in one.options} == set(COLOURS)
    assert {one.answer for one in made} == set("ABC")


@pytest.mark.parametrize(
    "text",
    [
        '[{"choice": "red"}, {"choice": "green"}, {"choice": "blue"}, {"choice": "white"}]',
        '{"choice": ["red", "green", "blue", "white"]}',
        '{"choice": "red"}\n{"choice": "green"}\n{"choice": "blue"}\n{"choice": "white"}\n',
        '["red", "green", "red", "blue", "white", "green"]',
    ],
)
def test_a_list_may_be_written_in_several_ways(tmp_path, text):
    (tmp_path / "list.json").write_text(text)
    made = applied(question(), f"draw_distractors:choices={tmp_path}/list.json")
    assert set(made.options) == {"red", "green", "blue", "white"}


def test_numbers_are_compared_as_texts(tmp_path):
    (tmp_path / "counts.json").write_text("[0, 1, 2, 3, 4]")
    made = applied(question("3"), f"draw_distractors:choices={tmp_path}/counts.json,count=4")
    assert sorted(made.options) == ["0", "1", "2", "3", "4"]


def test_a_folder_has_a_list_for_each_kind(colours):
    (colours.parent / "counting.json").write_text("[0, 1, 2, 3, 4]")
    spec = f"draw_distractors:choices={colours.parent}"
    assert set(applied(question(extra={"question_type": "color"}), spec).options) <= set(COLOURS)
    assert set(applied(question("2", category="counting"), spec).options) <= set("01234")
    with pytest.raises(RowError, match="Did you mean color"):
        applied(question(extra={"question_type": "colour"}), spec)
    with pytest.raises(RowError, match="by=NAME"):
        applied(question(), spec)


@pytest.mark.parametrize(
    ("record", "code"),
    [
        (question(options=("red", "blue")), "options.present"),
        (asked("What colour?"), "answer.missing"),
        (asked("What colour?", messages=(), answer="red"), "messages.no_user"),
    ],
)
def test_a_question_that_takes_no_options_is_refused(colours, record, code):
    with pytest.raises(RowError) as error:
        applied(record, f"draw_distractors:choices={colours}")
    assert error.value.code == code


def test_a_short_list_refuses_the_row(colours):
    with pytest.raises(RowError, match="holds 5 others, 6 are to be drawn"):
        applied(question(), f"draw_distractors:choices={colours},count=6")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nonsense", "neither JSON nor JSON Lines"),
        ("[]", "expected a list"),
        ('["a", null]', "got None"),
        ("3", "expected"),
    ],
)
def test_a_file_that_is_no_list_is_told_at_once(tmp_path, text, told):
    (tmp_path / "list.json").write_text(text)
    with pytest.raises(UsageError, match=told):
        load_steps([f"draw_distractors:choices={tmp_path}/list.json"])


def test_wrong_parameters_are_told_at_once(tmp_path, colours):
    for spec, told in ((f"choices={tmp_path}/none.json", "no such file"), (f"choices={colours},count=26", "1 to 25")):
        with pytest.raises(UsageError, match=told):
            load_steps([f"draw_distractors:{spec}"])
