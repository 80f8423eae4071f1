"""How many tokens a prompt will have, before its images are decoded: rows of like length go together."""

import contextlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from mmconvert.core.record import Record

_PIXELS_A_TOKEN, _TOKENS_A_IMAGE = 28 * 28, 600
"""A guess for processors that do not say how many tokens an image has, and for images without a size."""

_KNOWN_SIZES = 4096
_CHARACTERS_A_TOKEN, _MOST_CHARACTERS = 3, 100_000
"""A guess for longer texts, which take a tokenizer time."""


class PromptLength:
    """Counts the tokens of a record's texts and images, without those that the template writes."""

    def __init__(self, processor: Any, tokenizer: Any, max_image_side: int | None) -> None:
        """Prepare to count.

        Args:
            processor: A processor of transformers.
            tokenizer: A copy of its tokenizer that is used for nothing else, for counting happens in several threads.
            max_image_side: Images with a longer side are shrunk to it, in pixels; None leaves them.
        """
        self._tokenizer = tokenizer
        self._max_side = max_image_side
        self._count_of_size = _build_image_counter(processor)

    def count(self, record: Record) -> int:
        """Count the tokens of a record, at least one."""
        texts = [part.text for turn in record.messages for part in turn.content if part.text]
        images = sum(self._count_image(image.width, image.height) for image in record.images)
        return max(1, self._count_texts(texts) + images)

    def _count_texts(self, texts: Sequence[str]) -> int:
        characters = sum(map(len, texts))
        if 0 < characters <= _MOST_CHARACTERS:
            # What breaks a tokenizer is told of the row when it is asked.
            with contextlib.suppress(Exception):
                found = self._tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
                return sum(map(len, found))
        return characters // _CHARACTERS_A_TOKEN

    def _count_image(self, width: int | None, height: int | None) -> int:
        if not width or not height:
            return _TOKENS_A_IMAGE
        scale = min(1.0, self._max_side / max(width, height)) if self._max_side else 1.0
        return self._count_of_size(max(1, round(width * scale)), max(1, round(height * scale)))


def _build_image_counter(processor: Any) -> Callable[[int, int], int]:
    """Ask the processor for the tokens of an image of some width and height, where it can say."""

    @lru_cache(maxsize=_KNOWN_SIZES)
    def count(width: int, height: int) -> int:
        try:
            # What servers ask too (vLLM): not every processor has it, and some refuse a size.
            said = processor._get_num_multimodal_tokens(image_sizes=[(height, width)])
            return int(said["num_image_tokens"][0])
        except Exception:  # processors of many makers: the guess serves as well
            return width * height // _PIXELS_A_TOKEN

    return count
