"""Random vision-language models of a few thousand weights, built in a moment.

The Idefics3 is here because it cuts images into tiles and cannot tell a literal `<image>` from a
image, BLIP-2 because it has no chat template and wraps a language model, with an encoder or
without, the Qwen2.5-VL because it counts positions in three dimensions. A Llava that has learnt
something is `mmconvert.testing.demo.tiny_vlm.train`'s.
"""

from pathlib import Path
from typing import Any

import torch
from transformers import (
    Blip2Config,
    Blip2ForConditionalGeneration,
    Blip2Processor,
    Blip2QFormerConfig,
    Blip2VisionConfig,
    BlipImageProcessorPil,
    GenerationConfig,
    Idefics3Config,
    Idefics3ForConditionalGeneration,
    Idefics3ImageProcessorPil,
    Idefics3Processor,
    LlamaConfig,
    OPTConfig,
    PreTrainedTokenizerFast,
    T5Config,
)
from transformers.models.idefics3.configuration_idefics3 import Idefics3VisionConfig

from mmconvert.testing.demo.tiny_vlm import CHAT_TEMPLATE, build, build_byte_tokenizer, save

_SIZE = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}


def _special(tokenizer: PreTrainedTokenizerFast) -> dict[str, int]:
    return {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad")}


def save_llava(folder: Path) -> Path:
    """An untrained Llava."""
    processor, model = build()
    save(folder, processor, model)
    return folder


def save_idefics3(folder: Path) -> Path:
    tokenizer = build_byte_tokenizer(
        image_token="<image>", fake_image_token="<fake_token_around_image>", global_image_token="<global-img>"
    )
    tiles = [f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)]
    tokenizer.add_special_tokens({"additional_special_tokens": [*tiles, "<end_of_utterance>"]})
    processor = Idefics3Processor(
        Idefics3ImageProcessorPil(size={"longest_edge": 64}, max_image_size={"longest_edge": 32}),
        tokenizer,
        image_seq_len=4,
        chat_template=CHAT_TEMPLATE,
    )
    special = _special(tokenizer)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = Idefics3ForConditionalGeneration(
            Idefics3Config(
                text_config=LlamaConfig(
                    vocab_size=len(tokenizer), num_key_value_heads=2, max_position_embeddings=4096, **_SIZE, **special
                ),
                vision_config=Idefics3VisionConfig(image_size=32, patch_size=8, **_SIZE),
                image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
                scale_factor=2,
                pad_token_id=tokenizer.pad_token_id,
                tie_word_embeddings=False,
            )
        )
    model.generation_config = GenerationConfig(**special)
    save(folder, processor, model)
    return folder


def save_blip2(folder: Path, *, encoder: bool) -> Path:
    """A BLIP-2 around a T5, or around an OPT without an encoder."""
    tokenizer = build_byte_tokenizer()
    processor = Blip2Processor(BlipImageProcessorPil(size={"height": 32, "width": 32}), tokenizer, num_query_tokens=4)
    special, vocabulary = _special(tokenizer), len(tokenizer)
    text: T5Config | OPTConfig
    if encoder:
        text = T5Config(
            vocab_size=vocabulary, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
            decoder_start_token_id=tokenizer.pad_token_id, **special,
        )  # fmt: skip
    else:
        text = OPTConfig(
            vocab_size=vocabulary, hidden_size=32, ffn_dim=64, num_hidden_layers=2, num_attention_heads=4,
            word_embed_proj_dim=32, max_position_embeddings=4096, **special,
        )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = Blip2ForConditionalGeneration(
            Blip2Config(
                vision_config=Blip2VisionConfig(image_size=32, patch_size=8, **_SIZE),
                qformer_config=Blip2QFormerConfig(vocab_size=32, encoder_hidden_size=32, **_SIZE),
                text_config=text,
                num_query_tokens=4,
                image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
            )
        )
        torch.nn.init.normal_(model.query_tokens)  # zeros, as it begins, see no image
    save(folder, processor, model)
    return folder


QWEN_TOKENS = {
    "image_token": "<|image_pad|>",
    "video_token": "<|video_pad|>",
    "vision_start_token": "<|vision_start|>",
    "vision_end_token": "<|vision_end|>",
}


def build_qwen2_5_vl(tokenizer: PreTrainedTokenizerFast) -> Any:
    """A Qwen2.5-VL without its processor, which needs torchvision."""
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

    special = _special(tokenizer)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = Qwen2_5_VLForConditionalGeneration(
            Qwen2_5_VLConfig(
                text_config={
                    "vocab_size": len(tokenizer),
                    "num_key_value_heads": 2,
                    "max_position_embeddings": 4096,
                    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]},
                    **_SIZE,
                    **special,
                },
                vision_config={
                    "depth": 2, "hidden_size": 32, "out_hidden_size": 32, "intermediate_size": 64, "num_heads": 4,
                    "patch_size": 14, "spatial_merge_size": 2, "window_size": 56, "fullatt_block_indexes": [1],
                },
                **{f"{name}_id": tokenizer.convert_tokens_to_ids(text) for name, text in QWEN_TOKENS.items()},
            )
        )  # fmt: skip
    model.generation_config = GenerationConfig(**special)
    return model


def save_qwen2_5_vl(folder: Path) -> Path:
    """A Qwen2.5-VL; its processor needs torchvision."""
    from transformers import Qwen2_5_VLProcessor, Qwen2VLImageProcessorPil, Qwen2VLVideoProcessor

    tokenizer = build_byte_tokenizer(**QWEN_TOKENS)
    size = {"shortest_edge": 784, "longest_edge": 3136}
    processor = Qwen2_5_VLProcessor(
        Qwen2VLImageProcessorPil(size=size),
        tokenizer,
        Qwen2VLVideoProcessor(size=size),
        chat_template=CHAT_TEMPLATE.replace("<image>", "<|vision_start|><|image_pad|><|vision_end|>"),
    )
    save(folder, processor, build_qwen2_5_vl(tokenizer))
    return folder


def save_packed(folder: Path) -> Path:
    """The model of `save_qwen2_5_vl` alone, for what asks its image encoder."""
    build_qwen2_5_vl(build_byte_tokenizer(**QWEN_TOKENS)).save_pretrained(folder)
    return folder
