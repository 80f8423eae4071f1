"""Small datasets of ours, written by the real writer."""

from collections.abc import Iterable
from io import BytesIO
from pathlib import Path

import PIL.Image

from mmconvert.core.record import Image, Part, Record, Source, Turn
from mmconvert.dataset.dataset import DatasetWriter


def make_image(shade: int) -> bytes:
    buffer = BytesIO()
    PIL.Image.new("RGB", (3, 2), (shade % 256, 0, 0)).save(buffer, "PNG")
    return buffer.getvalue()


def record(number: int, image: Image | None = None) -> Record:
    image = image or Image(make_image(number), 1, format="PNG", width=3, height=2)
    turn = Turn("user", (Part("image"), Part("text", f"Question {number}?")))
    return Record(str(number), str(number), (turn,), "vqa", Source("vmcq", "a.jsonl", number), images=(image,))


def write_dataset(
    folder: Path, splits: dict[str, Iterable[Record]], *, config: str = "default", **about: object
) -> Path:
    with DatasetWriter(folder, overwrite=folder.exists(), about={"format": "vmcq", **about}) as writer:
        for split, records in splits.items():
            writer.write(records, split=split, config=config)
    return folder
