"""Fine-tune a vision-language model with TRL on a dataset of mmconvert; no mapping code in between.

usage: python examples/train_sft.py DATASET MODEL OUTPUT [MAX_STEPS]

DATASET is what `mmconvert convert FILES -o DATASET --view sft` wrote (or `--view prompt-completion`, whose
prompts are not learnt), a folder or an id on the Hub.
"""

import sys

import torch
from datasets import load_dataset
from transformers import AutoModelForImageTextToText, AutoProcessor
from trl import SFTConfig, SFTTrainer

dataset, model, output, *steps = sys.argv[1:]
SFTTrainer(
    model=AutoModelForImageTextToText.from_pretrained(model),
    processing_class=AutoProcessor.from_pretrained(model),
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
