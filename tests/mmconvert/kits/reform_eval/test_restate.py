from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mmconvert.core.errors import RowError
from mmconvert.core.record import LETTERS, Record, Source, Turn
from mmconvert.core.text.turns import join_texts
from mmconvert.kits.reform_eval.restate import reorder_options, restate_question
from mmconvert.pipeline.convert import read

FILES = Path(__file__).resolve().parents[4] / "src/mmconvert/testing/demo/files"


def question(options: tuple[str | None, ...], answer: str | None, label: str | None, **fields: object) -> Record:
    values = {"question": "Which?", "options": options, "answer": answer, "answers": (answer,) if answer else ()}
    return Record(
        "1", "1", (Turn("user", ()),), "multiple_choice", Source("f", "f", 0), label=label, **{**values, **fields}
    )


@pytest.mark.parametrize(
    "name", ["vmcq/colours.tsv", "lmudata/Colours.tsv", "mmbench/Circular.tsv", "reform_eval/colours.json"]
)
def test_a_formats_own_prompt_is_what_its_fields_say(name: str) -> None:
    records = list(read(FILES / name))
    assert records
    for record in records:
        assert restate_question(record) == record


@pytest.mark.parametrize(
    ("label", "moved"),
    [
        ('"A"', '"C"'), ('" a "', '"C"'), ("0", "2"), ('"0"', '"2"'),
        ('"x"', '"x"'), ("1", "1"), ("true", "true"), ('["A"]', '["A"]'), (None, None),
    ],
)  # fmt: skip
def test_a_reference_keeps_its_kind(label: str | None, moved: str | None) -> None:
    changed = reorder_options(question(("x", "y", "z"), "A", label), [1, 2, 0])
    assert (changed.options, changed.answer, changed.answers, changed.label) == (("y", "z", "x"), "C", ("C",), moved)


def test_several_answers_move_together() -> None:
    changed = reorder_options(question(("x", "y", "z"), "AB", '"AB"'), [2, 1, 0])
    assert (changed.answer, changed.label) == ("BC", '"BC"')


def test_what_cannot_be_followed_is_refused() -> None:
    with pytest.raises(RowError, match="letters"):
        reorder_options(question(("x", "y"), "C", None), [1, 0])
    with pytest.raises(RowError, match="question"):
        restate_question(question(("x", "y"), "A", None, question=None))


def test_raw_options_of_the_source_go_and_the_prompt_follows() -> None:
    changed = reorder_options(question(("x", "y"), "A", None, extra={"options": "['x', 'y']", "note": 1}), [1, 0])
    assert changed.extra == {"note": 1}
    assert join_texts(changed.messages[0]).startswith("Which?\nA. y\nB. x\n")
    asked = restate_question(replace(changed, instruction="Choose."))
    assert join_texts(asked.messages[0]) == "Choose. Which? Options: (A) y; (B) x."


@given(st.permutations(range(5)), st.integers(0, 4))
def test_the_answer_names_the_same_option_before_and_after(order: list[int], right: int) -> None:
    before = restate_question(question(tuple("vwxyz"), LETTERS[right], str(right)))
    after = reorder_options(before, order)
    assert after.options[LETTERS.index(after.answer or "")] == before.options[right]
    assert reorder_options(after, [order.index(place) for place in range(5)]) == before
