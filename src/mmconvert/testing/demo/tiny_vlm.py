"""A vision-language model of 70,000 weights, trained in seconds, for demonstrations and tests.

It is a LLaVA with random beginnings: a tokenizer of the 256 bytes, a CLIP tower for images of
32 x 32, a two-layer Llama. It learns the records it is shown by heart, images slightly changed
each time, and answers nothing else; what it proves is the way from a file to a score, not a skill.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    CLIPImageProcessorPil,
    CLIPVisionConfig,
    GenerationConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    ProcessorMixin,
)
from transformers.utils import logging

from mmconvert.core.errors import Error
from mmconvert.core.record import Record
from mmconvert.dataset.dataset import open_dataset
from mmconvert.images.canvas import decode_rgb

IMAGE_SIDE = 32
PATCH_SIDE = 8
MAX_POSITIONS = 4096

CHAT_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }}: "
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{{ '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)

_BATCH = 8
_CHECK_EVERY = 25
_LEARNING_RATE = 3e-3
_IMAGE_NOISE = 0.1  # in normalised pixel values, whose whole range is about 4
_IGNORED = -100  # label that the loss passes over


class _Lesson(msgspec.Struct, frozen=True):
    """One record as the model sees it: prompt tokens, answer tokens, images."""

    prompt: list[int]
    answer: list[int]
    pixels: torch.Tensor


def build_byte_tokenizer(**special_tokens: str) -> PreTrainedTokenizerFast:
    """Make a tokenizer in which every byte is a token, so that it reads any language.

    Args:
        special_tokens: Further tokens by the attribute that names them, such as
            `image_token="<image>"`.
    """
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={byte: i for i, byte in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    named = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    special = [AddedToken(text, special=True, normalized=False) for text in [*named.values(), *special_tokens.values()]]
    tokenizer.add_special_tokens(special)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, padding_side="left", extra_special_tokens=special_tokens, **named
    )


def build(seed: int = 0, hidden: int = 32) -> tuple[LlavaProcessor, LlavaForConditionalGeneration]:
    """Make the untrained model and its processor.

    Args:
        seed: Seed of the weights; the caller's random state is left as it was.
        hidden: Width of both halves, a multiple of 8.
    """
    tokenizer = build_byte_tokenizer(image_token="<image>")
    processor = LlavaProcessor(
        image_processor=CLIPImageProcessorPil(
            size={"shortest_edge": IMAGE_SIDE}, crop_size={"height": IMAGE_SIDE, "width": IMAGE_SIDE}
        ),
        tokenizer=tokenizer,
        patch_size=PATCH_SIDE,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=CHAT_TEMPLATE,
    )
    special = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad")}
    size = {"hidden_size": hidden, "intermediate_size": 2 * hidden, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = LlavaConfig(
        text_config=LlamaConfig(
            vocab_size=len(tokenizer),
            num_key_value_heads=2,
            max_position_embeddings=MAX_POSITIONS,
            tie_word_embeddings=False,
            **size,
            **special,
        ),
        vision_config=CLIPVisionConfig(image_size=IMAGE_SIDE, patch_size=PATCH_SIDE, projection_dim=hidden, **size),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
        vision_feature_select_strategy="default",
        image_seq_length=(IMAGE_SIDE // PATCH_SIDE) ** 2,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlavaForConditionalGeneration(config)
    model.generation_config = GenerationConfig(**special)
    return processor, model


def train(folder: str | Path, records: Sequence[Record], *, seed: int = 0, max_steps: int = 1000) -> float:
    """Train a model on records until it answers all of them, and save it with its processor.

    A record's lesson is its `answer`, else the first of its `answers`; records without either are
    left out. One thread is used, so that the result does not depend on the machine's cores.

    Args:
        folder: Where the model goes; made when missing.
        records: Examples with their images, best under a hundred.
        seed: Seed of weights, order and image noise.
        max_steps: Most batches of eight.

    Returns:
        Share of the lessons answered exactly at the end, 0-1; 1.0 unless records contradict each
        other or the steps ran out.

    Raises:
        Error: No record has an answer.
    """
    processor, model = build(seed)
    answered = [(record, text) for record in records if (text := _read_answer(record)) is not None]
    lessons = [_build_lesson(processor, record, text) for record, text in answered]
    if not lessons:
        raise Error("none of the records has an answer to learn.")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            accuracy = _fit_model(model, lessons, max_steps, torch.Generator().manual_seed(seed))
    finally:
        torch.set_num_threads(threads)
    save(folder, processor, model)
    return accuracy


def save(folder: str | Path, processor: ProcessorMixin, model: PreTrainedModel) -> None:
    """Write a model and its processor into one folder, without a progress bar."""
    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        model.save_pretrained(folder)
        processor.save_pretrained(folder)
    finally:
        if bars:
            logging.enable_progress_bar()


def _read_answer(record: Record) -> str | None:
    if record.answer is not None:
        return record.answer
    return record.answers[0] if record.answers else None


def _build_lesson(processor: LlavaProcessor, record: Record, answer: str) -> _Lesson:
    images = [decode_rgb(image) for image in record.images]
    shown = iter(images)
    conversation = [
        {
            "role": turn.role,
            "content": [
                {"type": "image", "image": next(shown)} if part.type == "image" else {"type": "text", "text": part.text}
                for part in turn.content
            ],
        }
        for turn in record.messages
    ]
    prompt = processor.apply_chat_template(
        conversation, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
    )
    tokenizer = processor.tokenizer
    return _Lesson(
        prompt=prompt["input_ids"][0].tolist(),
        answer=[*tokenizer.encode(answer, add_special_tokens=False), tokenizer.eos_token_id],
        pixels=prompt["pixel_values"] if images else torch.zeros(0, 3, IMAGE_SIDE, IMAGE_SIDE),
    )


def _fit_model(
    model: LlavaForConditionalGeneration, lessons: Sequence[_Lesson], max_steps: int, random: torch.Generator
) -> float:
    optimizer = torch.optim.AdamW(model.parameters(), lr=_LEARNING_RATE)
    order: list[int] = []
    accuracy, in_a_row = 0.0, 0
    for step in range(1, max_steps + 1):
        if len(order) < _BATCH:
            order += torch.randperm(len(lessons), generator=random).tolist()
        picked, order = [lessons[i] for i in order[:_BATCH]], order[_BATCH:]
        batch = _build_batch(picked, model.config.text_config.pad_token_id)
        if "pixel_values" in batch:
            pixels = batch["pixel_values"]
            batch["pixel_values"] = pixels + _IMAGE_NOISE * torch.randn(pixels.shape, generator=random)
        model(**batch).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if step % _CHECK_EVERY == 0 or step == max_steps:
            accuracy = _measure_accuracy(model, lessons)
            in_a_row = in_a_row + 1 if accuracy == 1.0 else 0
            if in_a_row == 3:
                break
    return accuracy


def _build_batch(lessons: Sequence[_Lesson], pad: int) -> dict[str, Any]:
    length = max(len(lesson.prompt) + len(lesson.answer) for lesson in lessons)
    shape = (len(lessons), length)
    tokens, labels = torch.full(shape, pad), torch.full(shape, _IGNORED)
    mask = torch.zeros(shape, dtype=torch.long)
    for row, lesson in enumerate(lessons):
        start, end = len(lesson.prompt), len(lesson.prompt) + len(lesson.answer)
        tokens[row, :end] = torch.tensor(lesson.prompt + lesson.answer)
        labels[row, start:end] = torch.tensor(lesson.answer)
        mask[row, :end] = 1
    pixels = torch.cat([lesson.pixels for lesson in lessons])
    batch = {"input_ids": tokens, "attention_mask": mask, "labels": labels}
    return {**batch, "pixel_values": pixels} if len(pixels) else batch


def _measure_accuracy(model: LlavaForConditionalGeneration, lessons: Sequence[_Lesson]) -> float:
    """Share of lessons whose every answer token is the likeliest one, which is what greedy decoding says."""
    right = 0
    for start in range(0, len(lessons), _BATCH):
        batch = _build_batch(lessons[start : start + _BATCH], model.config.text_config.pad_token_id)
        labels = batch.pop("labels")[:, 1:]
        with torch.inference_mode():
            likeliest = model(**batch).logits[:, :-1].argmax(-1)
        right += int(((likeliest == labels) | (labels == _IGNORED)).all(dim=1).sum())
    return right / len(lessons)


def main(folder: str, *datasets: str) -> None:
    """Train on the records of datasets, save the model in a folder and say how many it answers."""
    accuracy = train(folder, [record for dataset in datasets for record in open_dataset(dataset).records()])
    sys.stdout.write(f"It answers {accuracy:.0%} of them: {folder}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
