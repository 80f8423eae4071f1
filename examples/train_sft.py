"""Fine-tune a vision-language model with TRL on a dataset of mmconvert; no mapping code in between.

usage: python examples/train_sft.py DATASET MODEL OUTPUT [MAX_STEPS]

DATASET is what `mmconvert convert FILES -o DATASET --view sft` wrote (or `--view prompt-completion`), a folder or an
id on the Hub. The collator learns the assistant's turns alone; without it TRL learns the prompts of `sft` too.
"""

import sys

import torch
from datasets import load_dataset
from transformers import AutoModelForImageTextToText, AutoProcessor
from trl import SFTConfig, SFTTrainer

from mmconvert.chat.collate import ChatCollator

dataset, model, output, *steps = sys.argv[1:]
processor = AutoProcessor.from_pretrained(model)
SFTTrainer(
    model=AutoModelForImageTextToText.from_pretrained(model),
    processing_class=processor,
    data_collator=ChatCollator(processor),
    train_dataset=load_dataset(dataset, split="train"),
    args=SFTConfig(
        output,
        max_length=None,
        max_steps=int(steps[0]) if steps else -1,
        logging_steps=1,
        report_to="none",
        bf16=torch.cuda.is_available(),
    ),
).train()
