import pytest

from mmconvert.core.errors import RowError
from mmconvert.kits.evalscope.messages import add_system_message, check_reference, read_messages, sample_of
from support.releases import RELEASES

ASK = {"role": "user", "content": "What?"}


def _one(message, release="1.14.1"):
    return read_messages([message], release)[0]


def _user(*parts):
    return {"role": "user", "content": list(parts)}


@pytest.mark.parametrize("value", [None, {}, 5, [], "null", "{}", "[]"])
def test_what_is_no_list_of_messages_gives_none(value):
    assert sample_of({"messages": value, "answer": "x"}) == ([], "x")


@pytest.mark.parametrize("text", ["", "no json", "[{'role': 'user', 'content': 'hi'}]"])
def test_a_text_must_be_json(text):
    with pytest.raises(RowError, match="bad JSON"):
        sample_of({"messages": text})


@pytest.mark.parametrize(
    "message",
    [
        "x",
        {"content": "no role"},
        {"role": "user"},
        {"role": "robot", "content": "x"},
        {"role": "user", "content": None},
        {"role": "user", "content": {"type": "text", "text": "x"}},
        {"role": "tool", "content": "x"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "1"}]},
        _user("x"),
        _user({"type": "text", "text": None}),
        _user({"type": "text"}),
        _user({"type": "input_image", "image_url": "x"}),
        _user({"image_url": {"url": "a"}, "detail": "low"}),
        _user({"type": "image_url", "image_url": "a.jpg"}),
        _user({"type": "image_url", "image_url": {"url": None}}),
        _user({"type": "image_url", "image_url": {"url": "a", "detail": "original"}}),
        _user({"type": "image_url", "image_url": {"url": "a", "detail": None}}),
        _user({"type": "input_audio", "input_audio": {"data": "a.wav"}}),
        _user({"type": "input_audio", "input_audio": {"data": "a.ogg", "format": "ogg"}}),
    ],
)
def test_what_the_kit_cannot_read_is_refused(message):
    with pytest.raises(RowError):
        _one(message)


def test_a_part_of_one_field_needs_no_type():
    assert _one(_user({"text": "x"}))["content"] == [{"type": "text", "text": "x"}]
    assert _one(_user({"refusal": "no"}))["content"] == [{"type": "text", "text": "no", "refusal": True}]


def test_videos_are_known_since_1_7():
    message = _user({"type": "video_url", "video_url": {"url": "a.mov", "start": 1}})
    assert _one(message, "1.10.0")["content"] == [{"type": "video", "video": "a.mov", "format": "mov", "start": 1.0}]
    with pytest.raises(RowError):
        _one(message, "1.3.0")


def test_reasoning_is_cut_out_of_the_assistants_texts_only():
    reasoning = {"type": "reasoning", "reasoning": "why", "redacted": False}
    cut = [reasoning, {"type": "text", "text": "Yes. No."}]
    text = "Yes. <think> why </think>No. "
    assert _one({"role": "assistant", "content": text})["content"] == cut
    assert _one({"role": "assistant", "content": [{"type": "text", "text": text}]})["content"] == cut
    assert _one({"role": "user", "content": text})["content"] == text
    assert _one({"role": "assistant", "content": "<think>open"})["content"] == "<think>open"
    marked = _one({"role": "assistant", "content": '<think signature="s" redacted="true">why</think>'})["content"][0]
    assert marked == {"type": "reasoning", "reasoning": "why", "signature": "s", "redacted": True}


def test_reasoning_beside_the_content_goes_first():
    content = _one({"role": "assistant", "content": None, "refusal": "no", "reasoning": "r"})["content"]
    assert content[0]["reasoning"] == "r"
    assert content[1] == {"type": "text", "text": "no", "refusal": True}


def test_a_tools_message_names_the_function_that_was_called():
    call = {"id": "7", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}
    read = read_messages(
        [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "content": "seen", "tool_call_id": "7"},
            {"role": "tool", "content": None, "tool_call_id": "8"},
        ]
    )
    assert read[0]["tool_calls"] == [{"id": "7", "name": "look", "arguments": {"a": 1}}]
    assert [message["function"] for message in read[1:]] == ["look", ""]


@pytest.mark.parametrize("answer", [None, 0, False, [], ""])
def test_a_false_answer_is_no_answer(answer):
    assert sample_of({"answer": answer})[1] == ""


@pytest.mark.parametrize("answer", [5, 0.5, True, {"a": 1}, [1], float("nan")])
def test_other_answers_are_refused(answer):
    with pytest.raises(RowError):
        check_reference(answer)


def test_placeholders_are_resolved_since_1_14_in_plain_user_texts():
    row = {"messages": [{"role": "system", "content": "<image 1>"}, {"role": "user", "content": "<image 1>!"}]}
    row["image_1"] = "a.png"
    shown = {release: sample_of(row, release)[0] for release in RELEASES}
    assert shown["1.3.0"] == shown["1.10.0"] == row["messages"]
    assert shown["1.14.1"][0] == row["messages"][0]
    assert [part["type"] for part in shown["1.14.1"][1]["content"]] == ["image", "text"]
    alone = {"messages": [{"role": "user", "content": "<image 1>"}]}
    assert sample_of(alone)[0] == alone["messages"]


def test_a_system_prompt_goes_first_unless_there_is_one():
    assert add_system_message([ASK], "Be brief.") == [{"role": "system", "content": "Be brief."}, ASK]
    assert add_system_message([ASK], None) == [ASK]
    developer = read_messages([{"role": "developer", "content": "own"}, ASK])
    assert add_system_message(developer, "other") == developer
