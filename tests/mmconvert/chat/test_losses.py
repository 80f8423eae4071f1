"""What a loss is, and what is only remarked upon."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from mmconvert.chat.losses import list_losses, list_prompt_losses, summarize_remarks
from mmconvert.core.record import Part, Record, Turn
from mmconvert.plugins.format import Loss, Target
from support.datasets_on_disk import record

TARGET = Target(Path("x.jsonl"))


def word(text: str) -> Record:
    return replace(record(1), messages=(Turn("user", (Part("image"), Part("text", text))),))


@pytest.mark.parametrize(
    ("column", "value", "remark"),
    [
        ("category", "c", True),
        ("split", "s", True),
        ("group", "g", True),
        ("variant", 1, True),
        ("dataset", "d", True),
        ("sample", "other", True),
        ("hint", "h", False),
        ("options", ("a", "b"), False),
        ("prediction", "p", False),
        ("attachments", record(2).images, False),
    ],
)
def test_metadata_without_a_field_is_a_remark_and_content_is_a_loss(column: str, value: object, remark: bool) -> None:
    (loss,) = list_losses(replace(record(1), **{column: value}), (), TARGET)
    assert (loss.field, loss.remark) == (column, remark)


@pytest.mark.parametrize(
    ("prompt", "remark"),
    [("Hint: it floats. Which? A. A boat B. a stone", True), ("Which? A. a boat B. a stone", False)],
)
def test_a_hint_is_a_loss_only_where_the_prompt_does_not_say_it(prompt: str, remark: bool) -> None:
    asked = replace(word(prompt), hint="It floats.", options=("a boat", None, "a stone", "<image 1>"))
    assert {loss.field: loss.remark for loss in list_prompt_losses(asked)} == {"options": True, "hint": remark}
    assert list(list_prompt_losses(word(prompt))) == []


def test_each_remark_is_said_once_with_its_fields_and_rows() -> None:
    losses = [
        Loss("1", "split", "no field", remark=True),
        Loss("1", "images", "gone"),
        Loss("2", "split", "no field", remark=True),
        Loss("2", "category", "no field", remark=True),
        Loss("2", "answer", "a turn", remark=True),
    ]
    assert summarize_remarks(losses) == ["split (2 rows), category (1 row): no field", "answer (1 row): a turn"]
