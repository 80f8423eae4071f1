"""Steps that copy, drop, rotate and shuffle."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mmconvert.core.errors import RowError, UsageError
from mmconvert.core.record import LETTERS, Record, join_prompt_text
from mmconvert.core.text.turns import join_texts
from mmconvert.kits.evalscope.shuffle import Choices, shuffle_choices
from mmconvert.kits.vlmevalkit.circular import build_circular_rows
from mmconvert.pipeline.convert import read
from mmconvert.plugins.transform import apply_steps, load_steps
from support.drawing import applied, asked, photo


def choice(
    id_: str = "7", options: tuple[str | None, ...] = ("w", "x", "y", "z"), answer: str | None = "B", **more: Any
) -> Record:
    fields = {
        "task": "multiple_choice",
        "options": options,
        "answer": answer,
        "answers": (answer,) if answer else (),
        "label": json.dumps(answer),
    }
    return asked(photo(2, 2), "Which?", id_=id_, **{**fields, **more})


def made(record: Record, *specs: str, seed: int = 0) -> tuple[Record, ...]:
    return apply_steps(record, load_steps(specs, seed))


def test_copies_are_numbered() -> None:
    assert [copy.id for copy in made(choice(), "duplicate:times=3")] == ["7#0", "7#1", "7#2"]
    assert len(made(choice(), "duplicate")) == 5
    with pytest.raises(UsageError, match="times"):
        load_steps(["duplicate:times=0"])


def test_every_copy_has_its_own_order_and_the_answer_follows() -> None:
    copies = made(choice(), "duplicate:times=20", "shuffle_options")
    assert len({copy.options for copy in copies}) > 5
    for copy in copies:
        assert sorted(copy.options) == ["w", "x", "y", "z"]
        assert copy.options[LETTERS.index(copy.answer or "")] == "x"
        assert f"{copy.answer}. x" in join_prompt_text(copy)
    assert copies == made(choice(), "duplicate:times=20", "shuffle_options")
    assert copies != made(choice(), "duplicate:times=20", "shuffle_options", seed=1)


def test_a_letter_without_option_stays_without() -> None:
    for number in range(10):
        assert applied(choice(str(number), ("w", None, "y"), "C"), "shuffle_options").options[1] is None
    assert applied(choice(options=("w",), answer="A"), "shuffle_options").options == ("w",)


@given(count=st.integers(2, 6), right=st.integers(0, 5))
def test_rotations_put_every_option_under_every_letter_once(count: int, right: int) -> None:
    texts = tuple(f"option {n}" for n in range(count))
    copies = made(choice(options=texts, answer=LETTERS[right % count]), "circular")
    assert [copy.id for copy in copies] == [f"7#{n}" for n in range(count)]
    assert {copy.group for copy in copies} == {"7"}
    for place in range(count):
        assert {copy.options[place] for copy in copies} == set(texts)
    assert {copy.options[LETTERS.index(copy.answer or "")] for copy in copies} == {texts[right % count]}


@pytest.mark.parametrize(
    ("options", "answer"), [(("w", "A and B"), "A"), (("w", "x"), None), ((), None), (("A", "w"), "A")]
)
def test_a_question_that_cannot_rotate_stays_single(options: tuple, answer: str | None) -> None:
    (only,) = made(choice(options=options, answer=answer), "circular")
    assert (only.id, only.variant, only.group, only.options) == ("7", None, "7", options)


def test_a_gap_cannot_rotate() -> None:
    with pytest.raises(RowError, match="missing before"):
        made(choice(options=("w", None, "y"), answer="A"), "circular")


def test_rotating_agrees_with_the_table_that_the_kit_makes() -> None:
    rows = build_circular_rows([{"index": "7", "question": "Which?", "A": "w", "B": "x", "C": "y", "answer": "B"}])
    copies = made(choice(options=("w", "x", "y")), "circular")
    assert [(c.options, c.answer) for c in copies] == [((r["A"], r["B"], r["C"]), r["answer"]) for r in rows]


def test_a_part_of_the_rows_is_kept(tmp_path: Path) -> None:
    rows = [{"id": str(n), "question": "Q", "options": ["a", "b"], "answer": "A"} for n in range(200)]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def kept(spec: str, **more: Any) -> list[int]:
        return [int(record.id) for record in read(file, "vmcq", transforms=(spec,), **more)]

    assert kept("subsample:first=3") == [0, 1, 2]
    assert kept("subsample:every=50") == [0, 50, 100, 150]
    assert kept("subsample") == list(range(200))
    share = kept("subsample:share=0.3", seed=4)
    assert 30 < len(share) < 90
    assert share == kept("subsample:share=0.3", seed=4) != kept("subsample:share=0.3", seed=5)
    with pytest.raises(UsageError, match="share"):
        kept("subsample:share=2")


def test_a_draw_keeps_copies_and_dialogs_whole() -> None:
    records = [replace(choice(f"{n}_{r}"), group=str(n), round=r) for n in range(60) for r in range(3)]
    kept = [one for record in records for one in made(record, "duplicate:times=2", "subsample:share=0.5")]
    counts = Counter(record.group for record in kept)
    assert set(counts.values()) == {6}
    assert 15 < len(counts) < 45


def test_marks_are_written_and_kept_for_the_prompt() -> None:
    one = applied(choice(options=("w", "x"), answer="A"), "option_mark:mark=number")
    assert (join_texts(one.messages[0]), one.extra["option_mark"]) == ("Which? Options: (1) w; (2) x.", "number")
    drawn = {made(choice(str(n)), "option_mark:mark=random")[0].extra["option_mark"] for n in range(30)}
    assert drawn == {"lower", "upper", "number"}
    assert applied(asked("Q"), "option_mark").extra == {}
    with pytest.raises(UsageError, match="Did you mean upper"):
        load_steps(["option_mark:mark=uper"])


def test_options_stand_in_the_order_that_evalscope_gives_them() -> None:
    (theirs,) = shuffle_choices([Choices("Which?", ("w", "x", "y"), "C")], 7)
    (ours,) = made(choice(options=("w", None, "x", "y"), answer="D"), "shuffle_options:order=evalscope", seed=7)
    assert [option for option in ours.options if option is not None] == list(theirs.options)
    assert ours.options[LETTERS.index(ours.answer or "")] == "y"
    assert ours.options[1] is None
    with pytest.raises(UsageError, match="evalscope"):
        load_steps(["shuffle_options:order=evalscop"])
