"""Golden rule of VLMEvalKit's dataset classes: rows kept, messages, and the images that the kit writes."""

from functools import partial
from pathlib import Path
from unittest.mock import patch

import pandas as pd
from PIL import Image

from goldens.product import read_typed, table_file
from goldens.rules import refusal_or
from mmconvert.kits.vlmevalkit.datasets import find_lmudata_root
from mmscore.compat.vlmevalkit import ImageBaseDataset

LARGEST = 1 << 20
"""Pixels: sides of images stay as they are."""


class Dataset(ImageBaseDataset):
    """A class of the user's that loses words as the kit's reader does, and whose images are encoded anew."""

    target_size = LARGEST

    def load_data(self, dataset):
        return pd.DataFrame(read_typed(find_lmudata_root() / f"{dataset}.tsv"), dtype=object)


def _open_dataset(given):
    name = given["dataset"]
    with (
        table_file(f"{name}.tsv", given["columns"], given["rows"]) as path,
        patch.dict("os.environ", LMUData=str(path.parent)),
    ):
        return Dataset(name)


def _prompt(given):
    dataset = _open_dataset(given)
    root = Path(dataset.img_root)
    word = partial(dataset.build_prompt_as, dataset_class=given["cls"])
    messages = [refusal_or(partial(word, line)) for _, line in dataset.data.iterrows()]
    shown = f"$IMGROOT/{given['dataset']}"
    files = [path for path in root.rglob("*") if path.is_file()]
    return {
        "index": dataset.data["index"].tolist(),
        "messages": _replace_root(messages, str(root), shown),
        "files": sorted(_describe_file(path, f"{shown}/{path.relative_to(root)}") for path in files),
    }


def _replace_root(value, root, shown):
    if isinstance(value, str):
        return f"{shown}{value.removeprefix(root)}" if value.startswith(root) else value
    if isinstance(value, list):
        return [_replace_root(one, root, shown) for one in value]
    return {name: _replace_root(one, root, shown) for name, one in value.items()} if isinstance(value, dict) else value


def _describe_file(path, name):
    with Image.open(path) as image:
        return [name, image.format, image.mode, *image.size]


RULES = {("vlmeval_prompt", "prompt"): ("mmscore.compat.vlmevalkit.build_dataset", _prompt)}
