"""Images and questions as they stand in a benchmark, and altered as they leak into a training set."""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
import PIL.Image
import PIL.ImageDraw
import PIL.ImageEnhance
import PIL.ImageFont

Picture = PIL.Image.Image
_SIDES = (200, 640)
_BICUBIC, _LANCZOS = PIL.Image.Resampling.BICUBIC, PIL.Image.Resampling.LANCZOS


def invent_words(draws: random.Random, count: int) -> list[str]:
    """Words of one to four syllables."""
    return [
        "".join(draws.choice("bcdfghjklmnprstvwz") + draws.choice("aeiou") for _ in range(draws.randint(1, 4)))
        for _ in range(count)
    ]


def draw_smooth(draws: random.Random, size: tuple[int, int]) -> Picture:
    """A few colours that run into each other."""
    numbers = np.random.default_rng(draws.getrandbits(32))
    few = numbers.uniform(20, 235, (numbers.integers(3, 7), numbers.integers(3, 7), 3)).astype("uint8")
    return PIL.Image.fromarray(few).resize(size, _BICUBIC)


def draw_textured(draws: random.Random, size: tuple[int, int]) -> Picture:
    """A wave and noise over it."""
    numbers = np.random.default_rng(draws.getrandbits(32))
    y, x = np.mgrid[: size[1], : size[0]]
    angle = numbers.uniform(0, np.pi)
    wave = 40 * np.sin(numbers.uniform(0.05, 0.5) * (x * np.cos(angle) + y * np.sin(angle)))
    noise = numbers.normal(32, 12, (size[1], size[0], 3))
    below = np.asarray(draw_smooth(draws, size)).astype(float)
    return PIL.Image.fromarray(np.clip(noise + 0.5 * below + wave[..., None] + 30, 0, 255).astype("uint8"))


def draw_page(draws: random.Random, size: tuple[int, int]) -> Picture:
    """Lines of black text on a white page, all pages laid out alike."""
    page = PIL.Image.new("RGB", size, "white")
    pen, font = PIL.ImageDraw.Draw(page), PIL.ImageFont.load_default(14)
    for top in range(12, size[1] - 20, 18):
        line = ""
        for word in invent_words(draws, 30):
            if pen.textlength(line + word, font) > size[0] - 24:
                break
            line += f"{word} "
        pen.text((12, top), line, fill="black", font=font)
    return page


KINDS: Mapping[str, Callable[[random.Random, tuple[int, int]], Picture]] = {
    "smooth": draw_smooth,
    "textured": draw_textured,
    "text on a page": draw_page,
}


def encode(picture: Picture, kind: str = "JPEG", quality: int = 90) -> bytes:
    """The picture as a file."""
    out = BytesIO()
    picture.save(out, kind, **({"quality": quality} if kind == "JPEG" else {}))
    return out.getvalue()


def _scale(picture: Picture, by: float) -> Picture:
    return picture.resize((round(picture.width * by), round(picture.height * by)), _LANCZOS)


def _recolour(picture: Picture) -> Picture:
    warm = np.asarray(picture) * np.array([1.06, 1.0, 0.95]) + 4
    return PIL.ImageEnhance.Color(PIL.Image.fromarray(np.clip(warm, 0, 255).astype("uint8"))).enhance(1.2)


def cut(picture: Picture, left: float, others: float) -> Picture:
    """Without a share of the width at the left, and of each of the other sides."""
    width, height = picture.size
    box = (width * left, height * others, width * (1 - others), height * (1 - others))
    return picture.crop(tuple(map(round, box)))  # type: ignore[arg-type]  # four of them


CHANGES: Mapping[str, Callable[[Picture], bytes]] = {
    "JPEG, quality 75": lambda picture: encode(picture, quality=75),
    "JPEG, quality 30": lambda picture: encode(picture, quality=30),
    "half size": lambda picture: encode(_scale(picture, 0.5)),
    "recoloured a little": lambda picture: encode(_recolour(picture)),
    "2.5 % cut off each side": lambda picture: encode(cut(picture, 0.025, 0.025)),
    "5 % cut off each side": lambda picture: encode(cut(picture, 0.05, 0.05)),
    "10 % cut off one side": lambda picture: encode(cut(picture, 0.1, 0)),
    "mirrored": lambda picture: encode(picture.transpose(PIL.Image.Transpose.FLIP_LEFT_RIGHT)),
}
"""What is done to an image before it is found again."""


def _replace_word(draws: random.Random, words: Sequence[str]) -> str:
    place = draws.randrange(len(words))
    return " ".join([*words[:place], *invent_words(draws, 1), *words[place + 1 :]])


REWORDINGS: Mapping[str, Callable[[random.Random, list[str]], str]] = {
    "other case": lambda draws, words: " ".join(words).upper(),
    "other spaces": lambda draws, words: "  " + "   ".join(words) + "\n",
    "other punctuation": lambda draws, words: ", ".join(words) + "!?",
    "one word of twelve replaced": _replace_word,
    "one word of twelve left out": lambda draws, words: " ".join(words[1:]),
    "words in another order, three replaced": lambda draws, words: " ".join(
        [*words[8:], *invent_words(draws, 3), *words[3:8]]
    ),
}
"""What is done to a question of twelve words."""


def write_rows(folder: Path, name: str, rows: Sequence[tuple[str, bytes | None, str]]) -> Path:
    """Write samples (id, image, question) as JSON Lines with their images beside."""
    (folder / "images").mkdir(parents=True, exist_ok=True)
    lines = []
    for key, image, question in rows:
        row = {"id": key, "question": question, "answer": "yes"}
        if image is not None:
            (folder / "images" / f"{name}-{key}").write_bytes(image)
            row["image"] = f"{name}-{key}"
        lines.append(json.dumps(row))
    file = folder / f"{name}.jsonl"
    file.write_text("\n".join(lines) + "\n", "utf-8")
    return file


def draw_size(draws: random.Random) -> tuple[int, int]:
    """Width and height of a picture."""
    return draws.randint(*_SIDES), draws.randint(*_SIDES)
