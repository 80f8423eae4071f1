"""OpenAI's fine-tuning data and its limits."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from msgspec.structs import replace
from PIL import Image as PILImage

from mmconvert.core.errors import UsageError
from mmconvert.core.record import Image, Part, Record, Source, Turn
from mmconvert.formats import openai_finetune
from mmconvert.images.loader import ImageLoader
from mmconvert.io.detect import guess
from mmconvert.pipeline.convert import read, write
from mmconvert.plugins.format import Loss, Target
from support.dialogs import content, dialogs, there_and_back
from support.records import checked

QUESTION, REPLY = Turn("user", (Part("text", "Q"),)), Turn("assistant", (Part("text", "A"),))
FEW = "examples"


def asked(*images: Image) -> Record:
    turn = Turn("user", (*(Part("image") for _ in images), Part("text", "Q")))
    return Record("x", "x", (turn, REPLY), "chat", Source("f", "f", 0), images=images)


def exported(records: list[Record], folder: Path) -> tuple[list[dict[str, Any]], list[Loss]]:
    losses = write(records, Target(folder / "t.jsonl"), "openai_finetune")
    lines = (folder / "t.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines], [loss for loss in losses if loss.field not in (FEW, "id")]


@given(
    dialogs(
        shown_by=("user",),
        alternate=False,
        kinds=("PNG", "JPEG", "WEBP"),
        fields=False,
        message_fields=False,
        named=False,
        most=10,
    )
)
def test_dialogs_come_back(record: Record) -> None:
    back, losses = there_and_back(record, "openai_finetune", "t.jsonl")
    assert [loss.field for loss in losses] == [FEW]
    assert content(back) == content(record)


def make_image(mode: str, kind: str = "PNG") -> Image:
    out = io.BytesIO()
    PILImage.new(mode, (4, 3)).save(out, kind)
    return ImageLoader(()).of_bytes(out.getvalue(), 1)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (asked(*[checked("PNG", 0, 1)] * 11), "11 images, 10 at most"),
        (asked(checked("GIF", 0, 1)), "is GIF, not JPEG, PNG, WEBP"),
        (asked(make_image("P")), "mode P, not RGB"),
        (asked(make_image("CMYK", "JPEG")), "mode CMYK"),
        (asked(replace(checked("PNG", 0, 1), bytes=checked("PNG", 0, 1).bytes + bytes(10_000_000))), "10 MB at most"),
        (
            Record("x", "x", (QUESTION, Turn("assistant", (Part("image"),))), "chat", Source("f", "f", 0),
                   images=(checked("PNG", 0, 1),)),
            "is in the assistant's turn",
        ),
    ],
)  # fmt: skip
def test_what_the_service_refuses_is_left_out_and_named(record: Record, words: str, tmp_path: Path) -> None:
    rows, losses = exported([record, asked(make_image("RGBA"))], tmp_path)
    assert len(rows) == 1
    (loss,) = losses
    assert "left out" in loss.message
    assert words in loss.message


def test_examples_with_images_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_finetune, "MAX_IMAGE_EXAMPLES", 2)
    rows, losses = exported([asked(checked("PNG", 0, 1)), asked(), asked(checked("PNG", 0, 1))] * 2, tmp_path)
    assert len(rows) == 4
    assert len(losses) == 1, "the two rows left out are one record"


@pytest.mark.parametrize(("count", "told"), [(9, True), (10, False)])
def test_a_file_too_small_for_the_service_says_so(count: int, told: bool, tmp_path: Path) -> None:
    records = [replace(asked(), id=f"{n:09d}", sample=f"{n:09d}", source=Source("f", "f", n)) for n in range(count)]
    losses = write(records, Target(tmp_path / "t.jsonl"), "openai_finetune")
    assert [loss.field for loss in losses] == ([FEW] if told else [])


def test_addresses_and_details_pass_and_further_fields_do_not(tmp_path: Path) -> None:
    image = Image(None, 1, url="https://example.org/a.png", detail="low")
    record = replace(asked(image), extra={"note": 1, "messages_extra": [{"name": "Ann", "loss": True}, {"weight": 0}]})
    (row,), losses = exported([record], tmp_path)
    user, assistant = row["messages"]
    assert user["content"][0] == {"type": "image_url", "image_url": {"url": image.url, "detail": "low"}}
    assert (user["name"], assistant["weight"], "loss" in user) == ("Ann", 0, False)
    assert {loss.field for loss in losses} == {"note", "messages_extra"}


def test_images_beside_the_file_are_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="inline"):
        write([asked()], Target(tmp_path / "t.jsonl", "files"), "openai_finetune")


def lines(folder: Path, *rows: dict[str, Any]) -> Iterator[Record]:
    (folder / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read(folder / "in.jsonl", "openai_finetune")


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ({"messages": [{"role": "user", "content": "Q"}], "images": ["a.png"]}, "image.type"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "media.unsupported"),
        ({"messages": [{"role": "assistant", "tool_calls": [{"id": "1"}]}]}, "media.unsupported"),
        ({"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "media.unsupported"),
        ({"messages": [{"role": "human", "content": "Q"}]}, "messages.role"),
        ({"messages": [{"role": ["user"], "content": "Q"}]}, "messages.role"),
    ],
)
def test_a_bad_row_is_refused(row: dict, code: str, tmp_path: Path) -> None:
    records = lines(tmp_path, row)
    assert list(records) == []
    assert records.rejects[0].code == code


def test_an_answer_makes_it_an_evaluation(tmp_path: Path) -> None:
    row = {"messages": [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}]}
    lines(tmp_path, row)
    assert guess(tmp_path / "in.jsonl")[0] == "openai_finetune"
    lines(tmp_path, {**row, "answer": "A"})
    assert guess(tmp_path / "in.jsonl")[0] == "openai_messages"
