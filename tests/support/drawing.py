"""Records for transforms that make images, and images as text."""

import io
from typing import Any

import PIL.Image

from mmconvert.core.record import Image, Part, Record, Source, Turn
from mmconvert.images.loader import ImageLoader
from mmconvert.plugins.transform import apply_steps, load_steps


def photo(
    width: int, height: int, slot: int = 1, colour: Any = (0, 0, 0), mode: str = "RGB", kind: str = "PNG"
) -> Image:
    """An image of one colour, checked as a reader checks it."""
    out = io.BytesIO()
    PIL.Image.new(mode, (width, height), colour).save(out, kind)
    return ImageLoader(()).of_bytes(out.getvalue(), slot, name=f"{slot}.{kind.lower()}")


def asked(*content: str | Image, id_: str = "7", **fields: Any) -> Record:
    """A record whose one turn of the user shows texts and images in this order."""
    parts = tuple(Part("text", piece) if isinstance(piece, str) else Part("image") for piece in content)
    values = {
        "messages": (Turn("user", parts),),
        "task": "vqa",
        "images": tuple(piece for piece in content if isinstance(piece, Image)),
        "question": "".join(piece for piece in content if isinstance(piece, str)),
    }
    return Record(id_, id_, source=Source("test", "test.jsonl", 0), **{**values, **fields})


def applied(record: Record, *specs: str, seed: int = 0) -> Record:
    """The one record that the transforms give."""
    (made,) = apply_steps(record, load_steps(specs, seed))
    return made


def pixels(image: Image) -> PIL.Image.Image:
    """The decoded image."""
    return PIL.Image.open(io.BytesIO(image.bytes or b"")).convert("RGB")


def as_text(one_image: PIL.Image.Image, colour: tuple[int, int, int] = (255, 0, 0)) -> list[str]:
    """Rows of an image, `#` where it has the colour, `.` where it is black, `?` elsewhere."""
    signs = {colour: "#", (0, 0, 0): "."}
    return [
        "".join(signs.get(one_image.getpixel((x, y)), "?") for x in range(one_image.width))
        for y in range(one_image.height)
    ]
