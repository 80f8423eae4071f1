from dataclasses import replace

import pytest

from mmconvert.errors import RowError, UsageError
from mmconvert.prompts.reform_eval import OPTION_MARK, PROMPT
from mmconvert.record import Image, Part, Record, Source, Turn
from mmconvert.rewording import reworded, words

RECORD = Record(
    "1",
    "1",
    (Turn("user", (Part("image"), Part("text", "?"))),),
    "multiple_choice",
    Source("f", "f", 0),
    images=(Image(b"", 1),),
    question="Red?",
    instruction="Choose.",
    options=("yes", "no"),
)
EARLIER = (Turn("user", (Part("image"), Part("text", "See it?"))), Turn("assistant", (Part("text", "(A) yes"),)))
DIALOG = replace(RECORD, messages=(*EARLIER, Turn("user", (Part("text", "?"),))))


def text(record: Record, **options: object) -> str:
    return "".join(part.text for part in PROMPT(record, **options).parts)


def test_instruction_question_and_marked_options_follow_the_picture() -> None:
    assert PROMPT(RECORD).slots == (1,)
    assert text(RECORD) == "Choose. Red? Options: (A) yes; (B) no."
    assert text(RECORD, mark="number") == "Choose. Red? Options: (1) yes; (2) no."
    assert text(RECORD, method="likelihood") == "Choose. Red?"
    assert text(replace(RECORD, instruction=None, options=(), task="ocr")) == "Red?"


def test_marks_come_from_the_transform_or_from_a_draw_of_the_record() -> None:
    assert text(replace(RECORD, extra={OPTION_MARK: "lower"})) == "Choose. Red? Options: (a) yes; (b) no."
    drawn = {text(replace(RECORD, id=str(n)), mark="random") for n in range(30)}
    assert len(drawn) == 3
    assert text(RECORD, mark="random", seed=4) == text(RECORD, mark="random", seed=4)


def test_a_chat_keeps_its_earlier_turns() -> None:
    changed = reworded(DIALOG, PROMPT(DIALOG))
    assert [words(turn) for turn in changed.messages] == [
        "See it?",
        "(A) yes",
        "Choose. Red? Options: (A) yes; (B) no.",
    ]
    assert changed.images == DIALOG.images


def test_other_styles_write_the_whole_dialogue() -> None:
    written = text(DIALOG, style="two", sep2="</s>", roles="Human|AI", system="Hello.", response_prefix="The answer is")
    assert written == (
        "Hello.\nHuman: Choose. See it?\nAI: (A) yes</s>Human: Red? Options: (A) yes; (B) no.\nAI: The answer is"
    )
    assert PROMPT(DIALOG, style="one").slots == (1,)


def test_what_has_no_place_is_refused() -> None:
    with pytest.raises(UsageError, match="response_prefix"):
        PROMPT(RECORD, response_prefix="So:")
    with pytest.raises(UsageError, match="Did you mean llava"):
        PROMPT(RECORD, first_query="lava")
    with pytest.raises(RowError, match="gap"):
        PROMPT(replace(RECORD, options=("a", None, "c")))
