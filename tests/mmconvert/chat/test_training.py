"""What every writer of training data leaves out, and how it says so."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from mmconvert.core.record import Image, Part, Record, Source, Turn
from mmconvert.dataset.views import list_sft_turns
from mmconvert.pipeline.convert import read, write
from mmconvert.plugins.format import Loss, Target
from support.records import checked

FILES = {
    "trl": "t.parquet", "llava": "t.json", "qwen_vl": "t.jsonl", "sharegpt": "t.json", "ms_swift": "t.jsonl",
    "openai_finetune": "t.jsonl", "cauldron": "t.parquet", "finevision": "t.parquet",
}  # fmt: skip
ADDRESSES = ("ms_swift", "openai_finetune")

TEXT = Part("text", "Q")
ASKED = Record(
    "x", "x", (Turn("user", (Part("image"), TEXT)),), "vqa", Source("f", "f", 0), images=(checked("PNG", 0, 1),),
    answer="A", answers=("A",),
)  # fmt: skip


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    ("record", "words"),
    [
        (replace(ASKED, images=()), "show 1 images, but the row has 0"),
        (replace(ASKED, images=ASKED.images * 2), "show 1 images, but the row has 2"),
        (replace(ASKED, messages=(*ASKED.messages, Turn("tool", (TEXT,)))), "tool turns"),
        (replace(ASKED, answer=None, answers=()), "nor an answer"),
        (replace(ASKED, messages=()), "0 images|no prompt"),
    ],
)
def test_a_row_that_fits_no_trainer_is_left_out_and_named(
    name: str, record: Record, words: str, tmp_path: Path
) -> None:
    target = Target(tmp_path / FILES[name])
    losses = [loss for loss in write([record, replace(ASKED, id="y")], target, name) if loss.id == "x"]
    assert [loss for loss in losses if "left out" in loss.message]
    assert any(part in losses[0].message for part in words.split("|"))
    (back,) = read(target.path, name)
    assert [turn.content[-1].text for turn in back.messages] == ["Q", "A"]
    assert back.images[0].bytes == ASKED.images[0].bytes


@pytest.mark.parametrize("name", FILES)
def test_images_kept_as_addresses_go_where_addresses_are_read(name: str, tmp_path: Path) -> None:
    record = replace(ASKED, images=(Image(None, 1, url="https://example.org/a.png"),))
    target = Target(tmp_path / FILES[name])
    losses = write([record, replace(ASKED, id="y")], target, name)
    assert any("only a URL" in loss.message for loss in losses) == (name not in ADDRESSES)
    assert len(list(read(target.path, name, keep_urls=True))) == (2 if name in ADDRESSES else 1)


@pytest.mark.parametrize("name", FILES)
def test_columns_without_a_place_are_named_row_by_row(name: str, tmp_path: Path) -> None:
    record = replace(ASKED, category="c", group="g", round=2, prediction="P", answers=("A", "B"), extra={"headers": {}})
    losses = write([record], Target(tmp_path / FILES[name]), name)
    named = {loss.field for loss in losses if loss.id == "x"} - {"id"}
    assert named == {"category", "group", "round", "prediction", "answer", "answers"}
    assert {loss.field for loss in losses if loss.id == "x" and not loss.remark} == {"prediction"}


@pytest.mark.parametrize("name", FILES)
def test_an_answer_that_becomes_a_turn_is_a_remark(name: str, tmp_path: Path) -> None:
    losses = [loss for loss in write([ASKED], Target(tmp_path / FILES[name]), name) if loss.field == "answer"]
    assert losses == [Loss("x", "answer", "the reference answer is written as the assistant's turn", remark=True)]
    laid_out = replace(ASKED, messages=list_sft_turns(ASKED))
    again = write([laid_out], Target(tmp_path / FILES[name]), name)
    assert [loss for loss in again if loss.field == "answer"] == losses, "the turn is the answer"


@pytest.mark.parametrize("name", FILES)
def test_a_dialog_with_an_answer_beside_keeps_its_own_words(name: str, tmp_path: Path) -> None:
    record = replace(ASKED, messages=(*ASKED.messages, Turn("assistant", (Part("text", "Said."),))))
    losses = write([record], Target(tmp_path / FILES[name]), name)
    assert {loss.field for loss in losses if loss.id == "x"} - {"id"} == {"answer"}
    (back,) = read(tmp_path / FILES[name], name)
    assert back.messages[-1].content == (Part("text", "Said."),)


def test_several_right_letters_are_one_reply(tmp_path: Path) -> None:
    choice = {"task": "multiple_choice", "options": ("red", "blue", "green"), "answer": "AC", "answers": ("A", "C")}
    losses = write([replace(ASKED, **choice)], Target(tmp_path / "t.json"), "llava")
    assert [(loss.field, loss.remark) for loss in losses] == [("options", False), ("answer", True)]
    (back,) = read(tmp_path / "t.json", "llava")
    assert back.messages[-1].content == (Part("text", "A. red\nC. green"),)
