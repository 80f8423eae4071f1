import json

import pytest

from mmconvert.core.errors import Error, UsageError
from mmconvert.core.record import encode_json, join_prompt_text
from mmconvert.pipeline.convert import read
from support.records import image_bytes


@pytest.fixture
def folder(tmp_path):
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_bytes(image_bytes("PNG", ord(name[0])))
    return tmp_path


def _records(folder, *rows, name="mine.jsonl", format=None):
    text = rows[0] if isinstance(rows[0], str) else "".join(json.dumps(row) + "\n" for row in rows)
    (folder / name).write_text(text, "utf-8", newline="")
    return read(folder / name, format, read_as="evalscope")


def _choice(**fields):
    return {"question": "<image 1> Which?", "options": ["x", "y"], "answer": "A", **fields}


def _chat(content, **fields):
    return {"messages": [{"role": "user", "content": content}], "answer": "yes", **fields}


def test_placeholders_without_an_image_are_dropped(folder):
    first, second = _records(
        folder, _choice(image_1="a.png", options=["<image 2>", "<image_01>!"]), _choice(images=["", "a.png"])
    )
    assert (first.question, first.options) == ("<image 1> Which?", ("", "<image 1>!"))
    assert (second.question, [image.slot for image in second.attachments]) == (" Which?", [2])


def test_options_may_be_any_literal(folder):
    (record,) = _records(folder, _choice(options="{'x': 1, 'y': 2}", image_1="a.png"))
    assert record.options == ("x", "y")


def test_a_list_column_gives_the_images(folder):
    (record,) = _records(
        folder, _chat("<image 2> and <image 1>", images=[{"path": "a.png"}, "b.png"]), format="openai_messages"
    )
    assert [image.name for image in record.images] == ["b.png", "a.png"]
    assert record.extra == {}


def test_messages_are_read_loosely(folder):
    parts = [{"text": "See "}, {"image_url": {"url": "a.png"}}]
    thinking = {"role": "assistant", "content": "<think>hm</think> It is."}
    (record,) = _records(
        folder,
        {"messages": json.dumps([{"role": "user", "content": parts}, thinking, {"role": "user", "content": "Sure?"}])},
    )
    assert [turn.role for turn in record.messages] == ["user", "assistant", "user"]
    assert record.messages[1].content[0].text == "It is."
    assert record.extra["messages_extra"][1] == {"reasoning_content": "hm"}
    assert record.images[0].detail == "auto"


def test_a_false_answer_is_an_empty_one(folder):
    assert [record.label for record in _records(folder, _chat("Q?", answer=0), _chat("Q?", answer=["x"]))] == [
        '""',
        encode_json(["x"]),
    ]


def _codes(records):
    assert [join_prompt_text(record).partition("\n")[0] for record in records] == ["Fine?"]
    return [reject.code for reject in records.rejects]


def test_choices_at_which_the_kit_would_stop_are_refused(folder):
    rows = [_choice(answer=None), {"question": "Q?", "options": ["x", "y"]}, _choice(options="a,b"), _choice(image_1=5)]
    records = _records(folder, *rows, _choice(question="Fine?"))
    assert _codes(records) == ["answer.type", "field.missing", "options.type", "media.type"]


def test_messages_at_which_the_kit_would_stop_are_refused_and_so_are_sounds(folder):
    sound = {"type": "input_audio", "input_audio": {"data": "a.wav", "format": "wav"}}
    rows = [_chat("Q?", answer=5), _chat("<video 1>", video_1="a.mp4"), _chat([sound]), _chat(None)]
    records = _records(folder, *rows, _chat("Fine?"))
    assert _codes(records) == ["answer.type", "media.unsupported", "media.unsupported", "messages.content"]


def test_a_bad_line_stops_the_file(folder):
    with pytest.raises(Error, match=r"mine\.jsonl:2: bad JSON"):
        list(_records(folder, json.dumps(_chat("Q?")) + "\n{\n"))


def test_tables_follow_pythons_csv_module(folder):
    text = 'messages\tanswer\tid\n"[{""role"": ""user"", ""content"": ""Q?""}]"\tyes\t7\tover\n'
    (record,) = _records(folder, text, name="mine.tsv", format="openai_messages")
    assert (record.id, record.question, record.answer, record.extra) == ("7", "Q?", "yes", {})


def test_other_files_are_not_read(folder):
    (folder / "mine.json").write_text("[]")
    with pytest.raises(UsageError, match=r"reads \.jsonl, \.csv, \.tsv, \.parquet"):
        list(read(folder / "mine.json", format="openai_messages", read_as="evalscope"))
