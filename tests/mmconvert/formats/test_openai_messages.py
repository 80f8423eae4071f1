"""OpenAI messages in the packagings that people have them in."""

import json

import pytest

from mmconvert.core.errors import Error
from mmconvert.core.record import Part
from mmconvert.pipeline.convert import read, write
from mmconvert.plugins.format import Target
from support.questions import picture

IMAGE = {"type": "image_url", "image_url": {"url": "red.png"}}
RECORDS = [
    {"messages": [{"role": "user", "content": [{"type": "text", "text": f"Colour {n}?"}, IMAGE]}], "answer": "red"}
    for n in range(2)
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "red.png").write_bytes(picture("red"))
    return tmp_path


@pytest.mark.parametrize(("held", "count"), [(RECORDS, 2), (RECORDS[0], 1)])
def test_a_pretty_printed_array_and_object_are_read(folder, held, count):
    file = folder / "messages.json"
    file.write_text(json.dumps(held, indent=2))
    records = read(file)
    found = list(records)
    assert records.format == "openai_messages"
    assert [(one.question, one.answer, one.images[0].bytes) for one in found] == [
        (f"Colour {n}?<image 1>", "red", picture("red")) for n in range(count)
    ]
    assert found[0].messages[0].content == (Part("text", "Colour 0?"), Part("image"))
    write(found, Target(folder / "again.json"), "openai_messages")
    assert [one.question for one in read(folder / "again.json", "openai_messages")] == [one.question for one in found]


def test_what_follows_an_object_is_not_passed_over(folder):
    file = folder / "messages.json"
    file.write_text("".join(json.dumps(one, indent=1) for one in RECORDS))
    with pytest.raises(Error, match=r"something follows the object .* Put several into one \[\.\.\.\]"):
        list(read(file, "openai_messages"))
