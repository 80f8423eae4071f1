"""Processors of vision-language models without a model: real classes and templates, tokenizers of a few hundred words.

The tokenizers are trained on a few lines, with merges as real ones have them: over line breaks, over spaces.
"""

from pathlib import Path
from typing import Any

import trl
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    CLIPImageProcessorPil,
    Idefics3ImageProcessorPil,
    Idefics3Processor,
    LlavaProcessor,
    PreTrainedTokenizerFast,
    ProcessorMixin,
    Qwen2VLImageProcessorPil,
    Qwen2VLProcessor,
)

WORDS = (
    "It is a dog.", "The cat sits.", "USER: what is this? ASSISTANT:", "assistant or user", "蓝色的天空", "One 😀 two",
    "def f():\n    return 1\n\n\nprint(f())", "Yes\nno\n\nperhaps", "  two spaces", "\n\nIt is.", "\n\n\nIt is.", "",
    "A  ", "system prompt\nhelp", "<b>bold</b>", "12 + 30 = 42", "end.\n", " \n x",
)  # fmt: skip
"""Texts of turns, some of which a mask gets wrong that looks for words or counts prefixes."""

_LLAVA_TEMPLATE = (
    "{% for message in messages %}{% if message['role'] != 'system' %}{{ message['role'].upper() + ': ' }}{% endif %}"
    "{% for part in message['content'] %}{% if part['type'] == 'image' %}{{ '<image>\n' }}{% endif %}{% endfor %}"
    "{% for part in message['content'] %}{% if part['type'] == 'text' %}{{ part['text'] + ' ' }}{% endif %}{% endfor %}"
    "{% endfor %}{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}"
)
"""Renders as LLaVA-1.5's does: all images first, no token behind an answer."""

_QWEN_WORDS = r"\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def read_template(name: str) -> str:
    """Give a chat template as TRL ships it."""
    return (Path(trl.__file__).parent / "chat_templates" / f"{name}.jinja").read_text(encoding="utf-8")


def _train(tokenizer: Tokenizer, alphabet: list[str], special: list[str], **named: str) -> PreTrainedTokenizerFast:
    trainer = trainers.BpeTrainer(vocab_size=600, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator([text for text in WORDS for _ in range(3)], trainer)
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, padding_side="left", **named)


def _build_byte_tokenizer(words: Any, special: list[str], *, trim_offsets: bool, **named: Any) -> Any:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [words, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=trim_offsets)
    return _train(tokenizer, sorted(pre_tokenizers.ByteLevel.alphabet()), special, **named)


def build_llava(*, legacy: bool = False) -> LlavaProcessor:
    """LLaVA with a tokenizer of SentencePiece's kind; a legacy one puts a space before every piece of text."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>"))
    if legacy:
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
        tokenizer.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    letters = sorted({letter for text in WORDS for letter in text} | set(map(chr, range(33, 127))) | {"▁", "\n"})
    special = ["<unk>", "<s>", "</s>", "<pad>", "<image>"]
    named = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    return LlavaProcessor(
        CLIPImageProcessorPil(size={"shortest_edge": 24}, crop_size={"height": 24, "width": 24}),
        _train(tokenizer, letters, special, extra_special_tokens={"image_token": "<image>"}, **named),
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=_LLAVA_TEMPLATE,
    )


def build_idefics3() -> Idefics3Processor:
    """Idefics3, which cuts images into tiles, with a tokenizer whose offsets leave out spaces, as Llama 3's."""
    tiles = [f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)]
    images = ["<image>", "<fake_token_around_image>", "<global-img>"]
    special = ["<|begin_of_text|>", "<|end_of_text|>", "<pad>", *images, "<end_of_utterance>", *tiles]
    tokenizer = _build_byte_tokenizer(
        pre_tokenizers.Split(Regex(_QWEN_WORDS.replace(r"\p{L}+", r" ?\p{L}+", 1)), "isolated"),
        special,
        trim_offsets=True,
        bos_token="<|begin_of_text|>",
        eos_token="<|end_of_text|>",
        pad_token="<pad>",
        extra_special_tokens=dict(zip(("image_token", "fake_image_token", "global_image_token"), images, strict=True)),
    )
    return Idefics3Processor(
        Idefics3ImageProcessorPil(size={"longest_edge": 64}, max_image_size={"longest_edge": 32}),
        tokenizer,
        image_seq_len=4,
        chat_template=read_template("idefics3"),
    )


class _ImagesAlone(Qwen2VLProcessor):
    """Qwen2-VL without its video processor, which needs torchvision."""

    def __init__(self, image_processor: Any = None, tokenizer: Any = None, chat_template: str | None = None) -> None:
        self.image_token = "<|image_pad|>"
        self.image_token_id = tokenizer.convert_tokens_to_ids(self.image_token)
        ProcessorMixin.__init__(self, image_processor, tokenizer, chat_template=chat_template)


def build_qwen2_vl() -> Qwen2VLProcessor:
    """Qwen2-VL; its tokenizer joins line breaks, so that those of an answer and of the prompt before it are one."""
    return _ImagesAlone(
        Qwen2VLImageProcessorPil(size={"shortest_edge": 784, "longest_edge": 3136}),
        build_qwen_tokenizer(),
        chat_template=read_template("qwen2_5_vl"),
    )


def build_qwen_tokenizer(template: str | None = None) -> PreTrainedTokenizerFast:
    """The tokenizer of `build_qwen2_vl`, with one of TRL's templates where it is used alone."""
    named = {"image_token": "<|image_pad|>", "start": "<|vision_start|>", "end": "<|vision_end|>"}
    tokenizer = _build_byte_tokenizer(
        pre_tokenizers.Split(Regex(_QWEN_WORDS), "isolated"),
        ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *named.values()],
        trim_offsets=False,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        extra_special_tokens=named,
    )
    tokenizer.chat_template = template and read_template(template)
    return tokenizer


PROCESSORS = {"llava": build_llava, "idefics3": build_idefics3, "qwen2_vl": build_qwen2_vl}
