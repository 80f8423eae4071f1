"""A record that Arrow cannot take is refused by the name of its field; every other one passes."""

from dataclasses import replace
from enum import StrEnum

import pytest
from hypothesis import given, settings

from mmconvert.core.errors import RowError
from mmconvert.core.record import Image, Part, Record, Source, Turn, to_arrow
from mmconvert.core.validation import checked
from support.records import records

GOOD = Record("1", "1", (Turn("user", (Part("text", "q"),)),), "vqa", Source("f", "f.jsonl", 0))


@settings(max_examples=50, deadline=None)
@given(records())
def test_what_the_schema_allows_passes(record: Record) -> None:
    assert checked(record) is record


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("id", None, "id.type"),
        ("sample", 7, "sample.type"),
        ("task", None, "task.type"),
        ("question", 7, "question.type"),
        ("question", ["a"], "question.type"),
        ("hint", b"bytes", "hint.type"),
        ("category", "\ud800", "text.surrogate"),
        ("label", {"a": 1}, "label.type"),
        ("prediction", 0.5, "prediction.type"),
        ("variant", 2**31, "variant.type"),
        ("round", True, "round.type"),
        ("options", ("a", 2), "options.type"),
        ("answers", (None,), "answers.type"),
        ("messages", (Turn("user", (Part("text", None),)),), "messages.type"),
        ("messages", (Turn(None, ()),), "messages.type"),
        ("messages", (Turn("user", (Part("image"),)),), "messages.images"),
        ("messages", (Turn("user", (Part("picture"),)),), "messages.part"),
        ("source", Source("f", "f", None), "source.type"),
        ("source", Source("f", None, 0), "source.type"),
        ("attachments", (Image(b"", 2**40),), "image.type"),
        ("attachments", (Image(b"", None),), "image.type"),
        ("attachments", (Image(b"", 1, name=5),), "image.type"),
        ("extra", {"a": 1, "blob": b"x"}, "extra.type"),
        ("extra", {"a": "\ud800"}, "extra.type"),
    ],
)
def test_what_arrow_cannot_take_is_named(field: str, value: object, code: str) -> None:
    with pytest.raises(RowError) as caught:
        checked(replace(GOOD, **{field: value}))
    assert caught.value.code == code


def test_a_value_of_extra_is_named_by_its_field() -> None:
    with pytest.raises(RowError) as caught:
        checked(replace(GOOD, extra={"fine": 1, "blob": b"x"}))
    assert caught.value.field == "blob"


def test_a_kind_of_text_is_a_text() -> None:
    task = StrEnum("Task", {"VQA": "vqa"}).VQA
    assert to_arrow([checked(replace(GOOD, task=task, question=task))])["question"].to_pylist() == ["vqa"]
    with pytest.raises(RowError, match="half a character"):
        checked(replace(GOOD, task=task, question="\ud800"))
