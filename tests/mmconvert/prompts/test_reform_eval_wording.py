import pytest
from msgspec.structs import replace

from mmconvert.core.errors import RowError, UsageError
from mmconvert.core.record import OPTION_MARK, Image, Part, Record, Source, Turn
from mmconvert.core.text.turns import join_texts, replace_prompt
from mmconvert.kits.reform_eval.conversation_text import MMGPT_SYSTEM
from mmconvert.pipeline.prompting import load_prompt
from mmconvert.prompts.reform_eval import PROMPT

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
MMGPT_TURNS = (
    "Image:\n<image>",
    "Instruction:\nChoose. See it?",
    "Response:\n(A) yes",
    "Instruction:\nRed? Options: (A) yes; (B) no.",
)
EARLIER = (Turn("user", (Part("image"), Part("text", "See it?"))), Turn("assistant", (Part("text", "(A) yes"),)))
DIALOG = replace(RECORD, messages=(*EARLIER, Turn("user", (Part("text", "?"),))))


def text(record: Record, **options: object) -> str:
    return "".join(part.text for part in PROMPT(record, **options).parts)


def test_instruction_question_and_marked_options_follow_the_image() -> None:
    assert PROMPT(RECORD).slots == (1,)
    assert text(RECORD) == "Choose. Red? Options: (A) yes; (B) no."
    assert text(RECORD, alphabet_choice="number") == "Choose. Red? Options: (1) yes; (2) no."
    assert text(RECORD, infer_method="likelihood") == "Choose. Red?"
    assert text(replace(RECORD, instruction=None, options=(), task="ocr")) == "Red?"


def test_marks_come_from_the_transform_or_from_a_draw_of_the_record() -> None:
    assert text(replace(RECORD, extra={OPTION_MARK: "lower"})) == "Choose. Red? Options: (a) yes; (b) no."
    drawn = {text(replace(RECORD, id=str(n)), alphabet_choice="random") for n in range(30)}
    assert len(drawn) == 3
    assert text(RECORD, alphabet_choice="random", seed=4) == text(RECORD, alphabet_choice="random", seed=4)


def test_a_chat_keeps_its_earlier_turns() -> None:
    changed = replace_prompt(DIALOG, PROMPT(DIALOG))
    assert [join_texts(turn) for turn in changed.messages] == [
        "See it?",
        "(A) yes",
        "Choose. Red? Options: (A) yes; (B) no.",
    ]
    assert changed.images == DIALOG.images


def test_other_styles_write_the_whole_dialogue() -> None:
    written = text(
        DIALOG, sep_style="two", sep2="</s>", roles="Human|AI", system_msg="Hello.", response_prefix="The answer is"
    )
    assert written == (
        "Hello.\nHuman: Choose. See it?\nAI: (A) yes</s>Human: Red? Options: (A) yes; (B) no.\nAI: The answer is"
    )
    assert PROMPT(DIALOG, sep_style="one").slots == (1,)


def test_a_response_that_is_begun_is_a_turn_to_go_on_with() -> None:
    begun = replace_prompt(DIALOG, PROMPT(DIALOG, response_prefix="The answer is"))
    assert [turn.role for turn in begun.messages] == ["user", "assistant", "user", "assistant"]
    assert join_texts(begun.messages[-1]) == "The answer is"
    assert PROMPT(RECORD, response_prefix="So:", infer_method="likelihood").reply is None
    answered = replace(RECORD, messages=EARLIER)
    assert replace_prompt(answered, PROMPT(answered, response_prefix="So:")).messages[-1] == EARLIER[-1]


def test_what_has_no_place_is_refused() -> None:
    with pytest.raises(UsageError, match="init_conv"):
        PROMPT(RECORD, init_conv="Human:Hello.")
    with pytest.raises(UsageError, match="response_prefix"):
        PROMPT(RECORD, processor="base", response_prefix="So:")
    with pytest.raises(UsageError, match="Did you mean llava"):
        PROMPT(RECORD, first_query_fn="lava", sep_style="one")
    with pytest.raises(RowError, match="gap"):
        PROMPT(replace(RECORD, options=("a", None, "c")))


@pytest.mark.parametrize(
    ("options", "written"),
    [
        (
            {"processor": "single_choice", "sep": " ", "sep2": "\\n", "roles": "Question|Answer"},
            "Choose.\nQuestion: See it? Answer: (A) yes\nQuestion: Red? Options: (A) yes; (B) no. Answer:",
        ),
        (
            {"processor": "base", "sep": " ", "sep2": "\\n", "roles": "Question|Answer"},
            "Choose. Question: See it? Answer: (A) yes\nQuestion: Red? Answer:",
        ),
        (
            {"sep_style": "one", "roles": "Human|AI", "init_conv": "Human:<image>", "response_prefix": "So"},
            "Human: <image>\nHuman: Choose. See it?\nAI: (A) yes\nHuman: Red? Options: (A) yes; (B) no.\nAI: So",
        ),
        (
            {"processor": "mmgpt", "sep_style": "one", "sep": "\\n\\n### ", "roles": "Instruction|Response"},
            "### ".join([f"{MMGPT_SYSTEM}\n\n", *(f"{turn}\n\n" for turn in MMGPT_TURNS), "Response:\n"]),
        ),
    ],
)
def test_every_processor_of_the_kit_has_its_text(options: dict[str, str], written: str) -> None:
    assert text(DIALOG, **options) == written


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("sep2=x", r"sep2 has no place in the style chat. It goes with processor=conv or mmgpt"),
        (
            "processor=mmgpt,sep_style=two,system_msg=x",
            "system_msg has no place in processor=mmgpt. It goes with processor=conv",
        ),
        ("processor=base,alphabet_choice=lower", "alphabet_choice has no place in processor=base"),
        ("processor=single_choice,sep_style=one", "sep_style has no place in processor=single_choice"),
        ("processor=mmgpt", "mmGPT has no style 'chat'. Known: one, two"),
        ("processor=blip", "processor cannot be 'blip'"),
        ("sep_style=one,init_conv=Human", r"init_conv is written ROLE:TEXT\|ROLE:TEXT"),
    ],
)
def test_an_option_without_effect_is_refused(spec: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_prompt(f"reform_eval:{spec}")(DIALOG)
