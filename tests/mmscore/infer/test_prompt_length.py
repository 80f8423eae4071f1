"""Tokens of a prompt, counted before its images are decoded."""

import io
from types import SimpleNamespace

import PIL.Image
import pytest
from msgspec.structs import replace

from mmscore.infer.prompt_length import PromptLength
from support.questions import make_image, record


def ask(size, *texts):
    """A row with an image of known size before its texts."""
    row = record(0, make_image("red", size), *texts)
    return replace(row, images=(replace(row.images[0], width=size[0], height=size[1]),))


def count_words(texts, **_):
    return {"input_ids": [text.split() for text in texts]}


def count_patches(image_sizes):
    return {"num_image_tokens": [height * width // 100 for height, width in image_sizes]}


SAYS = SimpleNamespace(_get_num_multimodal_tokens=count_patches)


def test_texts_and_images_are_counted():
    length = PromptLength(SAYS, count_words, None)
    assert length.count(ask((40, 50), "two words", "three more words")) == 20 + 2 + 3
    assert length.count(record(0, "")) == 1


def test_an_image_counts_as_it_is_shown():
    assert PromptLength(SAYS, count_words, 20).count(ask((40, 20))) == 20 * 10 // 100


@pytest.mark.parametrize("processor", [SimpleNamespace(), SimpleNamespace(_get_num_multimodal_tokens=lambda: 1)])
def test_a_processor_that_cannot_say_is_guessed_for(processor):
    length = PromptLength(processor, count_words, None)
    assert length.count(ask((56, 56))) == 4
    assert length.count(record(0, make_image("red"))) == 600


def test_a_text_that_is_long_or_breaks_the_tokenizer_is_guessed_for():
    def break_off(texts, **_):
        raise ValueError

    assert PromptLength(SAYS, break_off, None).count(record(0, "x" * 300)) == 100
    assert PromptLength(SAYS, break_off, None).count(record(0, "x" * 300_000)) == 100_000
    assert PromptLength(SAYS, count_words, None).count(record(0, "x " * 150_000)) == 100_000


@pytest.mark.slow
def test_a_real_processor_is_counted_exactly_but_for_its_template(random_llava):
    from transformers import AutoProcessor

    processor = AutoProcessor.from_pretrained(random_llava)
    length = PromptLength(processor, processor.tokenizer, None)
    beside = set()
    for row in [ask(size, text) for size in ((20, 30), (90, 90)) for text in ("a", "a longer text")]:
        text = row.messages[0].content[1]
        shown = PIL.Image.open(io.BytesIO(row.images[0].bytes))
        turn = {"role": "user", "content": [{"type": "image", "image": shown}, {"type": "text", "text": text.text}]}
        inputs = processor.apply_chat_template([[turn]], tokenize=True, return_dict=True)
        beside.add(len(inputs["input_ids"][0]) - length.count(row))
    assert len(beside) == 1
