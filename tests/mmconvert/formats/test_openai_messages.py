"""OpenAI messages in the packagings that people have them in."""

import base64
import json

import pytest

from mmconvert.core.errors import Error
from mmconvert.core.record import Part
from mmconvert.io.detect import guess
from mmconvert.pipeline.convert import read, write
from mmconvert.pipeline.inputs import Input
from mmconvert.pipeline.read import ReadOptions, Records
from mmconvert.plugins.format import Target
from support.questions import make_image

IMAGE = {"type": "image_url", "image_url": {"url": "red.png"}}
RECORDS = [
    {"messages": [{"role": "user", "content": [{"type": "text", "text": f"Colour {n}?"}, IMAGE]}], "answer": "red"}
    for n in range(2)
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "red.png").write_bytes(make_image("red"))
    return tmp_path


@pytest.mark.parametrize(("held", "count"), [(RECORDS, 2), (RECORDS[0], 1)])
def test_a_pretty_printed_array_and_object_are_read(folder, held, count):
    file = folder / "messages.json"
    file.write_text(json.dumps(held, indent=2))
    records = read(file)
    found = list(records)
    assert records.format == "openai_messages"
    assert [(one.question, one.answer, one.images[0].bytes) for one in found] == [
        (f"Colour {n}?<image 1>", "red", make_image("red")) for n in range(count)
    ]
    assert found[0].messages[0].content == (Part("text", "Colour 0?"), Part("image"))
    write(found, Target(folder / "again.json"), "openai_messages")
    assert [one.question for one in read(folder / "again.json", "openai_messages")] == [one.question for one in found]


def test_what_follows_an_object_is_not_passed_over(folder):
    file = folder / "messages.json"
    file.write_text("".join(json.dumps(one, indent=1) for one in RECORDS))
    with pytest.raises(Error, match=r"something follows the object .* Put several into one \[\.\.\.\]"):
        list(read(file, "openai_messages"))


DATA = base64.b64encode(make_image("red")).decode()
SOURCE = {"type": "base64", "media_type": "image/jpeg", "data": DATA}


def ask(*parts, **more):
    return {"messages": [{"role": "user", "content": [*parts, {"type": "text", "text": "Colour?"}]}], **more}


def put(folder, *rows):
    file = folder / "a.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image", "source": SOURCE},
        {"type": "image", "source": {"type": "url", "url": "red.png"}},
        {"type": "image", "image": "red.png"},
        {"type": "image", "url": "red.png"},
        {"type": "image", "path": "red.png"},
        {"type": "image", "base64": DATA},
    ],
)
@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_an_image_part_may_bring_its_image_as_anthropic_and_transformers_have_it(folder, part, name):
    rows = [ask(part, answer="red")]
    file = folder / name
    file.write_text(json.dumps(rows if name == "a.json" else rows[0]))
    assert guess(file)[0] == "openai_messages"
    (record,) = read(file)
    assert (record.images[0].bytes, record.answer, record.question) == (make_image("red"), "red", "<image 1>Colour?")


def test_anthropics_system_is_the_first_turn(folder):
    image = {"type": "image", "source": SOURCE}
    file = put(folder, ask(image, answer="red", system="Be short."), ask(image, answer="red", system={"os": "x"}))
    first, second = read(file)
    assert [turn.role for turn in first.messages] == ["system", "user"]
    assert first.messages[0].content == (Part("text", "Be short."),)
    assert ([turn.role for turn in second.messages], second.extra) == (["user"], {"system": {"os": "x"}})
    losses = list(write([first, second], Target(folder / "again.jsonl"), "openai_messages"))
    assert [loss.field for loss in losses] == ["system"]
    assert [one.messages for one in read(folder / "again.jsonl")] == [first.messages, second.messages]


def test_training_data_of_anthropic_are_read_as_openais(folder):
    row = ask({"type": "image", "source": SOURCE}, system="Be short.")
    row["messages"].append({"role": "assistant", "content": [{"type": "text", "text": "Red."}]})
    file = put(folder, row)
    assert guess(file)[0] == "openai_finetune"
    (record,) = read(file)
    assert [turn.role for turn in record.messages] == ["system", "user", "assistant"]
    assert record.images[0].bytes == make_image("red")


@pytest.mark.parametrize(
    ("part", "code", "field"),
    [
        ({"source": {"type": "file", "file_id": "f"}}, "messages.part", "source"),
        ({"source": {"type": "base64", "url": "x"}}, "messages.part", "source"),
        ({"source": "red.png"}, "messages.part", "source"),
        ({"source": {**SOURCE, "data": "%"}}, "image.base64", "source.data"),
        ({"source": {"type": "url", "url": "http://127.0.0.1/a"}}, "image.remote", "source.url"),
        ({"source": {"type": "url", "url": "../x.png"}}, "image.path", "source.url"),
        ({"image": 3}, "image.type", "image"),
    ],
)
def test_an_image_part_that_cannot_be_read_is_named(folder, part, code, field):
    records = Records(Input(put(folder, ask({"type": "image", **part}, answer="red"))), ReadOptions())
    assert list(records) == []
    (reject,) = records.rejects
    assert (reject.code, reject.field) == (code, f"messages[0].content[0].{field}")


def test_parts_that_stand_for_the_images_of_the_row_are_trls(folder):
    file = put(folder, {**ask({"type": "image"}), "images": ["red.png"]})
    assert guess(file)[0] == "trl"
    with pytest.raises(Error, match="a part of type 'image' or 'video' stands for one elsewhere"):
        guess(put(folder, ask({"type": "image"}, answer="x", image_1="red.png", prediction="x")))
