"""Records to ask a model about, with small images."""

import io

import PIL.Image

from mmconvert.core.record import Image, Part, Record, Source, Turn

COLOURS = ("red", "green", "blue", "yellow")
LETTER_PROMPT = (
    "Question: Which colour fills the image?\nOptions:\nA. red\nB. green\nC. blue\nD. yellow\n"
    "Answer with the option's letter from the given choices directly."
)


def make_image(colour: str | tuple[int, ...], size: tuple[int, int] = (24, 16), mode: str = "RGB") -> bytes:
    buffer = io.BytesIO()
    PIL.Image.new("RGB", size, colour).convert(mode).save(buffer, "PNG")
    return buffer.getvalue()


def record(number: int, *content: str | bytes, answer: str | None = None, **fields: object) -> Record:
    """Make a record whose user turn holds texts and images in this order."""
    images = [piece for piece in content if isinstance(piece, bytes)]
    parts = tuple(Part("image") if isinstance(piece, bytes) else Part("text", piece) for piece in content)
    values = {
        "id": str(number),
        "sample": str(number),
        "messages": (Turn("user", parts),),
        "task": "vqa",
        "source": Source("test", "test.jsonl", number),
        "images": tuple(Image(data, slot, format="PNG") for slot, data in enumerate(images, start=1)),
        "answer": answer,
        "answers": () if answer is None else (answer,),
    }
    return Record(**{**values, **fields})


def colour_records() -> list[Record]:
    """Twelve questions on four images: the letter, the colour's name, yes or no."""
    rows = []
    for index, colour in enumerate(COLOURS):
        data, other = make_image(colour), COLOURS[(index + index % 2) % 4]
        rows += [
            (data, LETTER_PROMPT, "ABCD"[index]),
            (data, "What colour is the image? Answer with a single word.", colour),
            (data, f"Is the image {other}? Please answer yes or no.", "yes" if other == colour else "no"),
        ]
    return [record(i, data, text, answer=answer) for i, (data, text, answer) in enumerate(rows)]
