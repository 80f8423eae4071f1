"""Random vision-language models of a few thousand weights, built in a moment.

The Idefics3 is here because it cuts pictures into tiles and cannot tell a literal `<image>` from a
picture. A Llava that has learnt something is `mmconvert.demo.tiny_vlm.train`'s.
"""

from pathlib import Path

import torch
from transformers import (
    GenerationConfig,
    Idefics3Config,
    Idefics3ForConditionalGeneration,
    Idefics3ImageProcessorPil,
    Idefics3Processor,
    LlamaConfig,
)
from transformers.models.idefics3.configuration_idefics3 import Idefics3VisionConfig

from mmconvert.demo.tiny_vlm import CHAT_TEMPLATE, build, byte_tokenizer, save


def save_llava(folder: Path) -> Path:
    """An untrained Llava."""
    processor, model = build()
    save(folder, processor, model)
    return folder


def save_idefics3(folder: Path) -> Path:
    tokenizer = byte_tokenizer(
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
    special = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad")}
    size = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = Idefics3ForConditionalGeneration(
            Idefics3Config(
                text_config=LlamaConfig(
                    vocab_size=len(tokenizer), num_key_value_heads=2, max_position_embeddings=4096, **size, **special
                ),
                vision_config=Idefics3VisionConfig(image_size=32, patch_size=8, **size),
                image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
                scale_factor=2,
                pad_token_id=tokenizer.pad_token_id,
                tie_word_embeddings=False,
            )
        )
    model.generation_config = GenerationConfig(**special)
    save(folder, processor, model)
    return folder
