"""Records whose texts name their images by number."""

from typing import Any

from msgspec.structs import replace

from mmconvert.core.record import Record, Source, Turn, encode_json
from mmconvert.core.text.placeholders import interleave
from mmconvert.images.loader import ImageLoader
from support.datasets_on_disk import make_image


def asked(question: str, *slots: int, shown: str | None = None, **fields: Any) -> Record:
    """A record with images of these slots, shown where another text or the question itself names them."""
    images = {slot: ImageLoader(()).of_bytes(make_image(slot), slot) for slot in slots}
    parts, seen = interleave(question if shown is None else shown, images, "question")
    hidden = tuple(image for image in images.values() if image not in seen)
    record = Record("q", "q", (Turn("user", parts),), "vqa", Source("x", "x.jsonl", 0), images=seen, attachments=hidden)
    return replace(record, question=question, **fields)


def answered(text: str, *options: str | None) -> dict[str, Any]:
    return {"options": options, "answer": text, "answers": (text,), "label": encode_json(text)}
