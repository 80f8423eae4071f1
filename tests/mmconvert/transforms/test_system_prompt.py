"""A system turn for prompts that have none."""

import json
from pathlib import Path

from msgspec.structs import replace

from mmconvert.chat.training import read_messages_extra
from mmconvert.core.record import Part, Turn
from mmconvert.pipeline.convert import read
from support.drawing import applied, asked, photo

SPEC = "system_prompt:text=You are terse, and kind."


def test_prompts_without_a_system_turn_get_one() -> None:
    record = asked(photo(2, 2), "Which?")
    turn, *others = applied(record, SPEC).messages
    assert turn == Turn("system", (Part("text", "You are terse, and kind."),))
    assert tuple(others) == record.messages
    assert applied(applied(record, SPEC), "system_prompt:text=Other.") == applied(record, SPEC)
    assert applied(record, "system_prompt") == record


def test_a_system_turn_of_the_rows_own_stays() -> None:
    own = Turn("system", (Part("text", "own"),))
    record = asked(photo(2, 2), "Which?")
    record = replace(record, messages=(own, *record.messages))
    assert applied(record, SPEC) == record


def test_further_fields_stay_with_their_messages(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps({"messages": [{"role": "user", "content": "Which?", "name": "ann"}], "answer": "x"}))
    (record,) = read(file)
    made = applied(record, SPEC)
    assert [dict(fields) for fields in read_messages_extra(made)] == [{}, {"name": "ann"}]
