"""Golden rule of VLMEvalKit's dataset classes: rows kept, messages, and the images that the kit writes."""

from pathlib import Path

import pandas as pd
from PIL import Image

from goldens.rules import refusal_or
from mmconvert.io.pandas_dtypes import read_cells
from mmconvert.kits.vlmevalkit.images import list_image_files
from mmscore.compat.vlmevalkit import ImageBaseDataset, decode_base64_to_image_file

LARGEST = 1 << 20
"""Sides of images stay as they are, but the file is encoded by its ending as in the kit."""


def _open_dataset(given):
    """Open the dataset by a class that reads tables as lossily as the kit, and encodes images anew as the kit does."""

    class Dataset(ImageBaseDataset):
        def load_data(self, dataset):
            cells = {name: [row[n] for row in given["rows"]] for n, name in enumerate(given["columns"])}
            return pd.DataFrame(read_cells(cells), dtype=object)

        def dump_image(self, line):
            if "image" not in line:
                return super().dump_image(line)
            files = [(Path(self.img_root, name), text) for name, text in list_image_files(line)]
            for path, text in files:
                if not path.exists():
                    decode_base64_to_image_file(text, path, LARGEST)
            return [str(path) for path, _ in files]

        def build_prompt(self, line):
            return self.build_prompt_as(line, given["cls"])

    return Dataset(given["dataset"])


def _prompt(given):
    dataset = _open_dataset(given)
    root = Path(dataset.img_root)
    messages = [refusal_or(lambda line=line: dataset.build_prompt(line)) for _, line in dataset.data.iterrows()]
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
