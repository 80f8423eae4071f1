"""Train in a loop of one's own: a DataLoader over a dataset that is streamed, with mmconvert's collate function.

usage: python examples/train_loop.py DATASET MODEL STEPS
"""

import sys
from itertools import islice

import torch
from datasets import load_dataset
from transformers import AutoModelForImageTextToText, AutoProcessor

from mmconvert.chat.collate import ChatCollator

dataset, name, steps = sys.argv[1:]
model = AutoModelForImageTextToText.from_pretrained(name)
rows = load_dataset(dataset, split="train", streaming=True)
loader = torch.utils.data.DataLoader(rows, batch_size=2, collate_fn=ChatCollator(AutoProcessor.from_pretrained(name)))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for batch in islice(loader, int(steps)):
    loss = model(**batch).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"loss {loss.item():.4f}")
