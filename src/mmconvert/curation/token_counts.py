"""How many tokens samples have under a processor, without a model and without an image.

Text is worded by the processor's chat template and tokenized. Images are counted by their sizes alone: processors say
how many tokens an image of a size becomes (`_get_num_multimodal_tokens`, which vLLM relies on); of one that does not,
a blank image of each size is processed once. An image's tokens stand in the place of one in the text.
"""

import warnings
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np

from mmconvert.chat.processors import load_processor
from mmconvert.core.errors import Error, take_first_line
from mmconvert.curation.tallies import Integers

_SIZE_BITS = (1 << 32) - 1
_LARGEST_SIDE = 8_192
"""Pixels of a blank image that is made for a processor; a larger one is counted as it."""
_NO_LIMIT = 1_000_000_000
"""From here on a tokenizer's greatest length says that it has none."""


class TokensOfRows(msgspec.Struct, frozen=True):
    """Tokens of some rows: of the text and of both together for each row, and of each image."""

    text: Integers
    sample: Integers
    image: Integers


class TokenCounter:
    """Counts tokens as a processor makes them."""

    def __init__(self, name: str, processor: Any) -> None:
        """Take a processor with a chat template; `name` is what messages call it."""
        self.name = name
        self._processor = processor
        self._tokenizer = getattr(processor, "tokenizer", processor)
        self._image_tokens: dict[int, int] = {}

    @property
    def context(self) -> int | None:
        """Most tokens of a sample, as the tokenizer says; None where it says nothing."""
        length = self._tokenizer.model_max_length
        return int(length) if length < _NO_LIMIT else None

    def count_tokens(
        self, rows: Sequence[Mapping[str, Any]], sizes: Sequence[int], ends: Sequence[int], where: str
    ) -> TokensOfRows:
        """Count tokens of rows.

        Args:
            rows: Rows with the columns of turns; of a preference pair the longer side is counted.
            sizes: Size of each image, its width in the upper 32 bits; 0 for one that is not there.
            ends: Where the images of each row begin in `sizes`, with the end of the last row.
            where: File and row of the first one, for messages.

        Raises:
            Error: The template refuses a row, or there are images and the processor takes none.
        """
        image = np.array([self._count_image_tokens(size) for size in sizes], np.int64)
        reached = np.concatenate([[0], np.cumsum(image)])
        texts: list[str] = []
        owners: list[int] = []
        for number, row in enumerate(rows):
            for turns in _list_conversations(row):
                texts.append(self._word_turns(turns, f"{where} + {number:,}, id {row['id']!r}"))
                owners.append(number)
        lengths = np.zeros(len(rows), np.int64)
        np.maximum.at(lengths, np.array(owners, np.int64), self._count_text_tokens(texts))
        text = np.maximum(lengths - np.diff(ends), 0)
        return TokensOfRows(text, text + np.diff(reached[np.array(ends)]), image)

    def _word_turns(self, turns: Sequence[Mapping[str, Any]], where: str) -> str:
        talk = [{"role": turn["role"], "content": [_word_part(part) for part in turn["content"]]} for turn in turns]
        try:
            return str(
                self._processor.apply_chat_template(
                    talk, tokenize=False, add_generation_prompt=bool(talk) and talk[-1]["role"] == "user"
                )
            )
        except Exception as error:  # a template raises whatever its author chose
            message = f"{where}: the chat template of {self.name} refuses the turns ({take_first_line(error)})."
            raise Error(f"{message} Leave the row out, or leave out --processor.") from None

    def _count_text_tokens(self, texts: Sequence[str]) -> Integers:
        if not texts:
            return np.empty(0, np.int64)
        # A template may write the token that begins a text, which the tokenizer then must not add.
        begin = self._tokenizer.bos_token
        adds = begin is None or not texts[0].startswith(begin)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # long texts are what is looked for
            found = self._tokenizer(list(texts), add_special_tokens=adds, return_attention_mask=False)
        return np.fromiter(map(len, found["input_ids"]), np.int64, len(texts))

    def _count_image_tokens(self, size: int) -> int:
        if size not in self._image_tokens:
            self._image_tokens[size] = self._ask_processor(size >> 32, size & _SIZE_BITS) if size else 0
        return self._image_tokens[size]

    def _ask_processor(self, width: int, height: int) -> int:
        if not hasattr(self._processor, "image_processor"):
            raise Error(f"{self.name}: takes no images. Name the processor of a vision-language model.")
        ask = getattr(self._processor, "_get_num_multimodal_tokens", None)
        try:
            if ask is not None:
                return int(ask(image_sizes=[(height, width)])["num_image_tokens"][0])
            return self._process_blank(width, height)
        except Exception as error:  # each processor refuses in its own way
            message = f"{self.name}: cannot count an image of {width}x{height} ({take_first_line(error)})."
            raise Error(f"{message} Name the processor of a vision-language model.") from None

    def _process_blank(self, width: int, height: int) -> int:
        """Count the tokens of a blank image less those of the text around it."""
        from PIL.Image import new

        largest = max(width, height, _LARGEST_SIDE) / _LARGEST_SIDE
        blank = new("RGB", (max(1, round(width / largest)), max(1, round(height / largest))))
        text = self._processor.image_token
        found = self._processor(text=[text], images=[blank], add_special_tokens=False)["input_ids"][0]
        return len(found)


def _word_part(part: Mapping[str, Any]) -> dict[str, str]:
    return {"type": "image"} if part["type"] == "image" else {"type": "text", "text": part["text"] or ""}


def _list_conversations(row: Mapping[str, Any]) -> list[list[Mapping[str, Any]]]:
    turns = [*(row.get("messages") or ()), *(row.get("prompt") or ()), *(row.get("completion") or ())]
    sides = row if "chosen" in row else row.get("preference")
    if sides:
        return [[*turns, *sides["chosen"]], [*turns, *sides["rejected"]]]
    return [turns] if turns else []


@lru_cache(maxsize=1)
def open_token_counter(name: str) -> TokenCounter:
    """Load a processor from a folder or the Hub; no code of its repository is run.

    Raises:
        UsageError: transformers is missing, there is no such processor, or it has no chat template.
    """
    return TokenCounter(name, load_processor(name))
