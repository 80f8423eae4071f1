"""Random rows of training data, and a slow reference of what a model learns of them."""

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import PIL.Image

from mmconvert.chat.collate import IGNORED
from support.tiny_processors import WORDS

_SIZES = ((20, 20), (40, 30), (90, 30), (64, 64), (28, 84))


def say(role: str, text: str, images: int = 0, at: int = 0) -> dict[str, Any]:
    parts = [{"type": "image", "text": ""}] * images
    return {"role": role, "content": [*parts[:at], {"type": "text", "text": text}, *parts[at:]]}


def make_row(*turns: dict[str, Any], seed: int = 0) -> dict[str, Any]:
    rng = random.Random(seed)
    count = sum(part["type"] == "image" for turn in turns for part in turn["content"])
    images = [PIL.Image.new("RGB", rng.choice(_SIZES), rng.choice(("red", "blue"))) for _ in range(count)]
    return {"id": str(seed), "messages": list(turns), "images": images}


def make_random_row(seed: int) -> dict[str, Any]:
    rng = random.Random(f"row {seed}")
    turns = [say("system", rng.choice(WORDS))] if rng.random() < 0.3 else []
    for _ in range(rng.randint(1, 4)):
        images = rng.choice((0, 0, 1, 2))
        turns.append(say("user", rng.choice(WORDS), images, rng.randint(0, images)))
        turns += [say("assistant", rng.choice(WORDS)) for _ in range(rng.choice((1, 1, 1, 2)))]
    return make_row(*turns, seed=seed)


# The reference


def _fill(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Give the turns of a row with the images in their parts."""
    images = iter(row["images"])
    return [
        {
            "role": turn["role"],
            "content": [
                {"type": "image", "image": next(images)} if part["type"] == "image" else part
                for part in turn["content"]
            ],
        }
        for turn in row["messages"]
    ]


def _tokenize(processor: Any, text: str, images: Sequence[Any]) -> list[int]:
    """Give the ids of one text, its images expanded."""
    begun = processor.tokenizer.bos_token and text.startswith(processor.tokenizer.bos_token)
    options = {"images": [list(images)]} if images else {}
    return processor(text=[text], add_special_tokens=not begun, **options)["input_ids"][0]


def _tokenize_apart(processor: Any, text: str, images: Sequence[Any]) -> list[int]:
    """Give the ids of a text that stands behind others: some tokenizers begin the first one with a space."""
    token = processor.tokenizer.pad_token
    return _tokenize(processor, f"{token}{text}", images)[1:]


def _measure(processor: Any, ids: Sequence[int]) -> list[int]:
    """Give how many characters (bytes for tokenizers of bytes) the first n tokens hold, for every n from 0."""
    sizes = [0]
    for token in processor.tokenizer.convert_ids_to_tokens(ids):
        sizes.append(sizes[-1] + len(token))
    return sizes


def reference(processor: Any, row: dict[str, Any], wanted: Sequence[int] | None = None) -> tuple[list[int], list[int]]:
    """Give ids and labels of a row, token by token from the texts that the template renders of its beginnings."""
    turns = _fill(row)
    wanted = list_answers(row) if wanted is None else wanted

    def images_of(some: Sequence[dict[str, Any]]) -> list[Any]:
        return [part["image"] for turn in some for part in turn["content"] if part["type"] == "image"]

    def render(some: Sequence[dict[str, Any]], **options: Any) -> str:
        return processor.apply_chat_template(some, tokenize=False, **options)

    whole, images = render(turns), images_of(turns)
    ids = _tokenize(processor, whole, images)
    sizes = _measure(processor, ids)
    bounds, cuts = [], []
    for number in wanted:
        shown = images_of(turns[:number])
        prompt, answered = render(turns[:number], add_generation_prompt=True), render(turns[: number + 1]).rstrip()
        end = answered if len(answered) >= len(prompt) else prompt
        assert whole.startswith(end)
        assert end.startswith(prompt)
        cuts.append((len(prompt), len(end)))
        bounds.append(tuple(_measure(processor, _tokenize(processor, text, shown))[-1] for text in (prompt, end)))
    if all(bound in sizes for pair in bounds for bound in pair):
        learnt = [any(s < end and e > start for start, end in bounds) for s, e in pairwise(sizes)]
        return ids, [token if own else IGNORED for token, own in zip(ids, learnt, strict=True)]
    # An answer begins in the middle of a token: what is learnt is tokenized apart from what is not.
    ids, labels, at, left = [], [], 0, list(images)
    for start, end in [*cuts, (len(whole), len(whole))]:
        text = whole[at:start]
        count = text.count(processor.image_token)
        shown, left = left[:count], left[count:]
        given = _tokenize_apart(processor, text, shown) if at else _tokenize(processor, text, shown)
        said = _tokenize_apart(processor, whole[start:end], [])
        ids, labels, at = [*ids, *given, *said], [*labels, *[IGNORED] * len(given), *said], end
    return ids, labels


def list_answers(row: dict[str, Any]) -> list[int]:
    """Give the numbers of the assistant's turns."""
    return [number for number, turn in enumerate(row["messages"]) if turn["role"] == "assistant"]


def shorten(processor: Any, row: dict[str, Any], max_length: int, too_long: str) -> dict[str, Any] | None:
    """Give what is left of a row that may be too long, None for nothing: each possible end is tried, the last first."""
    ends = [number + 1 for number in reversed(list_answers(row))]
    for end in ends if too_long == "cut_turns" else ends[:1]:
        turns = row["messages"][:end]
        images = sum(part["type"] == "image" for turn in turns for part in turn["content"])
        left = {**row, "messages": turns, "images": row["images"][:images]}
        if len(reference(processor, left)[0]) <= max_length:
            return left
    return None


def decode_learnt(processor: Any, batch: dict[str, Any]) -> list[str]:
    tokenizer = getattr(processor, "tokenizer", processor)
    return [tokenizer.decode(labels[labels != IGNORED]) for labels in batch["labels"]]
