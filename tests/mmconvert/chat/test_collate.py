"""What the collator learns, compared with a slow reference that looks at every token and every rendered prefix."""

import warnings
from typing import Any

import pytest
import torch

from mmconvert.chat.collate import IGNORED, ChatCollator, CollatorCounts
from mmconvert.core.errors import Error, UsageError
from support.tiny_processors import PROCESSORS, build_llava, build_qwen2_vl, build_qwen_tokenizer
from support.training_rows import decode_learnt, list_answers, make_random_row, make_row, reference, say, shorten

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=PROCESSORS)
def processor(request: pytest.FixtureRequest) -> Any:
    return PROCESSORS[request.param]()


@pytest.fixture(scope="module")
def qwen() -> Any:
    return build_qwen2_vl()


@pytest.fixture(autouse=True)
def _no_remarks() -> Any:
    # LLaVA's template ends no answer, which is said; the tests of remarks ask for them.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def collate(collator: ChatCollator, rows: list[dict[str, Any]]) -> list[tuple[list[int], list[int]]]:
    """Give ids and labels of each row without padding."""
    batch = collator(rows)
    names = [n for n, value in batch.items() if value.shape[:2] == batch["input_ids"].shape]
    assert {"input_ids", "attention_mask", "labels"} <= set(names)
    masks = batch["attention_mask"].bool()
    assert (batch["labels"][~masks] == IGNORED).all()
    return [
        (ids[mask].tolist(), labels[mask].tolist())
        for ids, labels, mask in zip(batch["input_ids"], batch["labels"], masks, strict=True)
    ]


def check(processor: Any, seeds: range, **options: Any) -> tuple[int, CollatorCounts]:
    """Compare the collator with the reference; give the learnt tokens, and what became of rows."""
    collator, learnt = ChatCollator(processor, **options), 0
    for first in range(seeds.start, seeds.stop, 5):
        rows = [make_random_row(seed) for seed in range(first, first + 5)]
        kept = rows
        if "max_length" in options:
            shorter = [shorten(processor, row, options["max_length"], options["too_long"]) for row in rows]
            assert [collator.fits(row) for row in rows] == [row is not None for row in shorter]
            kept = [row for row in shorter if row is not None]
        if not kept:
            with pytest.raises(Error, match="nothing is left of the batch"):
                collator(rows)
            continue
        for row, found in zip(kept, collate(collator, rows), strict=True):
            assert found == reference(processor, row, choose(row, options.get("loss", "assistant"))), row
            learnt += sum(label != IGNORED for label in found[1])
    return learnt, collator.counts


def choose(row: dict[str, Any], loss: str) -> list[int]:
    """Give the turns that are learnt."""
    answers = list_answers(row)
    asked = max(number for number in range(len(row["messages"])) if number not in answers)
    return {"assistant": answers, "completion": [n for n in answers if n > asked], "last": answers[-1:]}[loss]


LOSSES = ("assistant", "completion", "last")
SHORT = {"llava": 30, "idefics3": 90, "qwen2_vl": 50}
"""Processor -> tokens that about half of the random rows have."""


@pytest.mark.parametrize("loss", LOSSES)
def test_labels_are_those_of_the_reference(processor: Any, loss: str) -> None:
    assert check(processor, range(30), loss=loss)[0] > 60


@pytest.mark.release
@pytest.mark.parametrize("loss", LOSSES)
def test_labels_of_500_random_conversations_are_those_of_the_reference(processor: Any, loss: str) -> None:
    assert check(processor, range(1000, 1500), loss=loss)[0] > 1000


@pytest.mark.parametrize("too_long", ["skip", "cut_turns"])
@pytest.mark.parametrize("seeds", [range(30), pytest.param(range(1000, 1500), marks=pytest.mark.release)])
@pytest.mark.parametrize("name", SHORT)
def test_rows_that_are_too_long_lose_what_the_reference_says(name: str, seeds: range, too_long: str) -> None:
    learnt, counts = check(PROCESSORS[name](), seeds, max_length=SHORT[name], too_long=too_long)
    assert learnt > len(seeds)
    assert counts.skipped > 0
    assert (counts.cut > 0) == (too_long == "cut_turns")


# Known labels


TALK = (
    say("user", "What is this?", 1),
    say("assistant", "It is a dog."),
    say("user", "And this?", 1, 1),
    say("assistant", "The cat sits."),
)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("llava", " It is a dog. The cat sits."),
        ("idefics3", " It is a dog.<end_of_utterance> The cat sits.<end_of_utterance>"),
        ("qwen2_vl", "It is a dog.<|im_end|>The cat sits.<|im_end|>"),
    ],
)
def test_every_turn_of_the_assistant_is_learnt_with_its_end(name: str, said: str) -> None:
    processor = PROCESSORS[name]()
    assert decode_learnt(processor, ChatCollator(processor)([make_row(*TALK)])) == [said]


def test_which_turns_are_learnt_is_a_choice(qwen: Any) -> None:
    row = make_row(*TALK, say("assistant", "Yes"))
    said = {
        loss: decode_learnt(qwen, ChatCollator(qwen, loss=loss)([row]))[0] for loss in ("completion", "last", "all")
    }
    assert said["completion"] == "The cat sits.<|im_end|>Yes<|im_end|>"
    assert said["last"] == "Yes<|im_end|>"
    assert "What is this?" in said["all"]
    assert "<|image_pad|>" not in said["all"]
    split = {**row, "prompt": row["messages"][:3], "completion": row["messages"][3:]}
    del split["messages"]
    assert decode_learnt(qwen, ChatCollator(qwen)([split])) == [said["completion"]]


def test_tiles_and_what_frames_them_are_no_words() -> None:
    processor = PROCESSORS["idefics3"]()
    said = decode_learnt(processor, ChatCollator(processor, loss="all")([make_row(*TALK)]))[0]
    assert "<row_1_col_1>" not in said
    assert "<fake_token_around_image>" not in said


def test_a_line_break_that_begins_an_answer_is_a_token_of_the_answer(qwen: Any) -> None:
    row = make_row(say("user", "Who?", 1), say("assistant", "\n\nIt is."), say("user", "?"), say("assistant", "Yes"))
    batch = ChatCollator(qwen)([row, make_row(*TALK)])
    assert decode_learnt(qwen, batch)[0] == "\n\nIt is.<|im_end|>Yes<|im_end|>"
    assert batch["mm_token_type_ids"].shape == batch["input_ids"].shape
    assert torch.equal(batch["mm_token_type_ids"] == 1, batch["input_ids"] == qwen.image_token_id)


class _NoOffsets:
    """A processor as transformers had it before 5.18: it does not say what it put for an image."""

    def __init__(self, processor: Any) -> None:
        self.tokenizer, self.image_token = processor.tokenizer, processor.image_token
        self._processor = processor

    def apply_chat_template(self, *arguments: Any, **options: Any) -> Any:
        return self._processor.apply_chat_template(*arguments, **options)

    def __call__(self, **options: Any) -> Any:
        own = self._processor.tokenizer
        try:
            self._processor.tokenizer = self.tokenizer
            return self._processor(**options)
        finally:
            self._processor.tokenizer = own


@pytest.mark.parametrize("legacy", [False, True])
def test_older_processors_learn_the_same(legacy: bool) -> None:
    processor = build_llava(legacy=legacy)
    # Counting prefixes cannot cut a token in two, which a legacy tokenizer makes of the end of such an answer.
    rows = [row for row in map(make_random_row, range(40)) if "end." not in str(row["messages"])]
    for loss in ("assistant", "last", "all"):
        new = collate(ChatCollator(processor, loss=loss), rows)
        assert collate(ChatCollator(_NoOffsets(processor), loss=loss), rows) == new


def test_older_processors_tokenize_answers_apart(qwen: Any) -> None:
    rows = [make_random_row(seed) for seed in range(30)]
    assert collate(ChatCollator(_NoOffsets(qwen)), rows) == collate(ChatCollator(qwen), rows)


# Turns that are rewritten


THINKING = (
    say("user", "What?"),
    say("assistant", "<think>\nlight\n</think>\n\nBecause."),
    say("user", "Why?"),
    say("assistant", "<think>\ncat\n</think>\n\nYes."),
)


@pytest.mark.parametrize(("template", "begun"), [("qwen3", "<think>\n"), ("qwen3_6", "")])
def test_turns_whose_thinking_is_stripped_later_are_left_out_or_learnt_apart(template: str, begun: str) -> None:
    tokenizer = build_qwen_tokenizer(template)
    collator = ChatCollator(tokenizer)
    with pytest.warns(UserWarning, match="rewrites an earlier turn"):
        batch = collator([make_row(*THINKING)])
    last = f"{begun}cat\n</think>\n\nYes.<|im_end|>"
    assert decode_learnt(tokenizer, batch) == [last]
    assert collator.counts.rewritten == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        collator([make_row(*THINKING)])  # said once
    assert collator.counts.rewritten == 2
    split = ChatCollator(tokenizer, rewritten="split")
    said = decode_learnt(tokenizer, split([make_row(*THINKING)]))
    assert said == [last, f"{begun}light\n</think>\n\nBecause.<|im_end|>"]
    assert (split.counts.split, split.counts.rewritten) == (1, 0)


def test_a_conversation_that_the_assistant_begins_is_said() -> None:
    tokenizer = build_qwen_tokenizer("qwen3")
    collator = ChatCollator(tokenizer)
    with pytest.warns(UserWarning, match="no prompt before a turn"):
        batch = collator([make_row(say("assistant", "Hello."), *THINKING[2:])])
    assert decode_learnt(tokenizer, batch) == ["<think>\ncat\n</think>\n\nYes.<|im_end|>"]
    assert collator.counts.unclear == 1


# Ends, lengths, mistakes


def test_an_end_token_is_added_when_asked_for() -> None:
    processor = build_llava()
    collator = ChatCollator(processor)
    with pytest.warns(UserWarning, match="does not learn to stop"):
        collator([make_row(*TALK)])
    assert collator.counts.unended == 1
    ended = ChatCollator(processor, add_end_token=True)
    assert decode_learnt(processor, ended([make_row(*TALK)])) == [" It is a dog.</s> The cat sits.</s>"]
    assert ended.counts.unended == 0


def test_long_rows_are_skipped_or_lose_their_last_turns_with_their_images(processor: Any) -> None:
    rows = [make_row(*TALK[:2], seed=1), make_row(*TALK, *TALK, seed=2)]
    short, long = (len(ids) for ids, _ in collate(ChatCollator(processor), rows))
    skip = ChatCollator(processor, max_length=long - 1)
    with pytest.warns(UserWarning, match="left out of its batch"):
        assert len(collate(skip, rows)) == 1
    assert [skip.fits(row) for row in rows] == [True, False]
    assert skip.counts.skipped == 1
    cut = ChatCollator(processor, max_length=long - 1, too_long="cut_turns")
    batch = cut(rows)
    whole = reference(processor, {**rows[1], "messages": rows[1]["messages"][:6], "images": rows[1]["images"][:3]})
    assert collate(cut, rows)[1] == whole
    assert cut.counts.cut == 2
    assert batch["input_ids"].shape[1] < long
    least = ChatCollator(processor, max_length=short - 1, too_long="cut_turns")
    assert not least.fits(rows[0])
    with pytest.raises(Error, match="row '1': longer than max_length"):
        least(rows[:1])


def test_what_cannot_be_honoured_is_refused(qwen: Any) -> None:
    with pytest.raises(UsageError, match="loss: 'prompt' is none of assistant, completion, last, all"):
        ChatCollator(qwen, loss="prompt")
    tokenizer = build_qwen_tokenizer("qwen3")
    with pytest.raises(Error, match="a tokenizer reads no images"):
        ChatCollator(tokenizer)([make_row(*TALK)])
    tokenizer.eos_token = None
    with pytest.raises(UsageError, match="has no eos_token"):
        ChatCollator(tokenizer, add_end_token=True)
    tokenizer.chat_template = "{{ raise_exception('no user') }}"
    with pytest.raises(Error, match="row '0': the chat template refuses the turns: no user"):
        ChatCollator(tokenizer)([make_row(*THINKING)])
