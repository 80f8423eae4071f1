from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import Error, RowError, UsageError
from mmconvert.kits.reform_eval.conversation_text import (
    ALPHABETS,
    STYLES,
    Processor,
    build_question_with_options,
    build_round,
    choose_labels,
    format_conversation,
    format_mmgpt,
    format_plain,
    format_question_answer,
)

HISTORY = [{"from": "human", "value": "See it?"}, {"from": "assistant", "value": "(A) yes"}]
SAMPLE = {"question": "Red?", "instruct": "Choose.", "answer_options": ["yes", "no"], "history": HISTORY}


def processor(style: str = "one", **more: object) -> Processor:
    return Processor("\n", "</s>", style=style, mark="upper", **{"response_prefix": "The answer is", **more})


@pytest.mark.parametrize(
    ("style", "text"),
    [
        ("one", "S\nUser: Choose. See it?\nBot: (A) yes\nUser: Red? Options: (A) yes; (B) no.\nBot: The answer is"),
        ("two", "S\nUser: Choose. See it?\nBot: (A) yes</s>User: Red? Options: (A) yes; (B) no.\nBot: The answer is"),
        (
            "llama_2",
            (
                "[INST] <<SYS>>\nS\n<</SYS>>\n\nChoose. See it? [/INST] (A) yes </s>\n"
                "[INST] Red? Options: (A) yes; (B) no. [/INST]The answer is"
            ),
        ),
        (
            "otter",
            (
                "SUser: Choose. See it?\nBot:<answer> (A) yes</s>User: Red? Options: (A) yes; (B) no.\n"
                "Bot:<answer> The answer is"
            ),
        ),
        (
            "llama_adapter2",
            (
                "S\nInstruction:\nChoose.\nUser:\nSee it?\nBot:\n(A) yes\nUser:\nRed? Options: (A) yes; (B) no.\n"
                "Bot:\nThe answer is"
            ),
        ),
        (
            "visualglm",
            (
                "S\n[Round 1]\nUser：Choose. See it?\nBot：(A) yes\n[Round 2]\nUser：Red? Options: (A) yes; (B) no.\n"
                "Bot：The answer is"
            ),
        ),
    ],
)
def test_each_style_sets_the_turns_apart_in_its_way(style: str, text: str) -> None:
    assert format_conversation(SAMPLE, processor(style, system="S"), Random(0)) == text


def test_likelihood_leaves_out_options_and_the_beginning_of_the_response() -> None:
    likely = processor(method="likelihood")
    assert format_conversation({**SAMPLE, "history": []}, likely, Random(0)) == "User: Choose. Red?\nBot:"
    assert format_question_answer(SAMPLE, likely, Random(0)).endswith("User: Red?\nBot:")
    assert build_round("Red?", ["yes", "no"], 1, likely, Random(0)) == (
        "Red? Options: (A) yes; (B) no.",
        "(B) no",
    )


def test_the_first_question_behind_the_opening_is_changed() -> None:
    opened = processor(opening=(("User", "Hi"), ("Bot", "Yo")), first_query=lambda text: f"<image> {text}")
    assert format_conversation(SAMPLE, opened, Random(0)).startswith(
        "User: Hi\nBot: Yo\nUser: <image> Choose. See it?\n"
    )


def test_an_empty_prefix_is_not_none() -> None:
    assert format_conversation({"question": "Q"}, processor(response_prefix=""), Random(0)).endswith("Bot: ")
    assert format_conversation({"question": "Q"}, processor(response_prefix=None), Random(0)).endswith("Bot:")


@pytest.mark.parametrize(
    ("sample", "settings", "error"),
    [
        (SAMPLE, {"style": "vicuna"}, UsageError),
        (SAMPLE, {"mark": "roman"}, UsageError),
        (SAMPLE, {"style": "two", "sep2": None}, UsageError),
        ({"question": "Q", "answer_options": list(range(27))}, {}, RowError),
        ({"question": "Q", "answer_options": list(range(10))}, {"mark": "number"}, RowError),
        ({**SAMPLE, "history": [*HISTORY, {"from": "gpt", "value": "x"}]}, {}, RowError),
    ],
)
def test_what_cannot_be_worded_is_refused(sample: dict, settings: dict, error: type[Error]) -> None:
    made = Processor(**{"sep": "\n", "sep2": "</s>", "style": "one", "mark": "upper", **settings})
    with pytest.raises(error):
        format_conversation(sample, made, Random(0))


def test_mmgpt_knows_two_styles_and_a_sample_without_question_has_no_plain_text() -> None:
    with pytest.raises(UsageError, match="mmGPT"):
        format_mmgpt(SAMPLE, processor("otter"), Random(0))
    with pytest.raises(RowError, match="question"):
        format_plain({"answer_options": ["a"]}, processor())


@given(
    options=st.lists(st.text(max_size=5), min_size=1, max_size=9),
    mark=st.sampled_from([*ALPHABETS, "random", None]),
    seed=st.integers(0, 99),
)
def test_a_question_draws_its_marks_once(options: list[str], mark: str | None, seed: int) -> None:
    drawn = choose_labels(mark, Random(seed))
    rng = Random(seed)
    asked, said = build_round("Q", options, len(options) - 1, Processor("", mark=mark), rng)
    assert asked == build_question_with_options("Q", options, drawn)
    assert said == f"({drawn[len(options) - 1]}) {options[-1]}"
    used = Random(seed)
    if mark not in ALPHABETS:
        used.choice("abc")
    assert rng.random() == used.random()


@given(style=st.sampled_from([*STYLES]), rounds=st.integers(0, 4))
def test_every_text_ends_where_the_model_answers(style: str, rounds: int) -> None:
    text = format_conversation({**SAMPLE, "history": HISTORY * rounds}, processor(style), Random(0))
    assert text.endswith("The answer is")
    assert text.count("See it?") == rounds
