"""Which tokens of rendered conversations a model is to learn: the processor's tensors, and a mask."""

import copy
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

import msgspec

_MARKS = ("\ue000mmconvert-begin\ue001", "\ue000mmconvert-end\ue001")
"""Tokens put round learnt text in a copy of the tokenizer: private characters, which no text holds by chance."""


class Rendered(msgspec.Struct, frozen=True):
    """A conversation as text.

    Attributes:
        text: As the chat template renders it, a placeholder an image.
        images: Its images, in order.
        spans: Characters of the text that are learnt.
    """

    text: str
    images: Sequence[Any]
    spans: Sequence[tuple[int, int]]


class Encoded(msgspec.Struct, frozen=True):
    """A batch of conversations.

    Attributes:
        batch: The processor's tensors.
        learnt: bool [rows, length]: tokens of the spans.
        images: int [rows, length]: number of the row's image that a token is of, with the tokens that frame it and
            its pieces; -1 elsewhere. Where the processor does not say what it put for an image, only tokens of the
            image itself have a number, which counts their runs.
    """

    batch: dict[str, Any]
    learnt: Any
    images: Any


class _Places:
    """Where the tokens of one row stand in its text, images expanded."""

    def __init__(self, offsets: Sequence[Sequence[int]], replaced: Sequence[Mapping[str, Any]]) -> None:
        import torch

        starts, ends = torch.as_tensor(offsets).unbind(dim=1)
        # Some tokenizers leave spaces out of their offsets, and a token of spaces would have no width.
        before = torch.cat((ends.new_zeros(1), ends[:-1]))
        self._starts, self._ends = torch.minimum(starts, before), ends
        self._replaced = replaced

    def find_images(self) -> Any:
        """Give the number of its image for each token, -1 for others."""
        import torch

        numbers = torch.full_like(self._starts, -1)
        for number, one in enumerate(self._replaced):
            numbers[self._overlap(*one["new_span"])] = number
        return numbers

    def find_tokens(self, spans: Sequence[tuple[int, int]]) -> tuple[Any, bool]:
        """Give the tokens that hold a character of a span, and whether one of them holds others too."""
        import torch

        learnt, straddles = torch.zeros_like(self._starts, dtype=torch.bool), False
        for start, end in (map(self._shift, span) for span in spans):
            found = self._overlap(start, end)
            straddles |= bool((found & ((self._starts < start) | (self._ends > end))).any())
            learnt |= found
        return learnt, straddles

    def _overlap(self, start: int, end: int) -> Any:
        return (self._starts < end) & (self._ends > start)

    def _shift(self, place: int) -> int:
        """Move a place of the text behind the placeholders that end before it, as they were expanded."""
        grown = [one["new_span"][1] - one["span"][1] for one in self._replaced if one["span"][1] <= place]
        return place + (grown[-1] if grown else 0)


class Encoder:
    """Gives conversations to a processor, and finds the tokens of given characters."""

    def __init__(self, processor: Any) -> None:
        """Take a processor of transformers, or a tokenizer for texts alone."""
        self._processor = processor
        self._tokenizer = getattr(processor, "tokenizer", processor)
        self._marked: tuple[Any, int, int] | None = None
        names = (getattr(processor, "image_token", None), getattr(self._tokenizer, "image_token", None))
        self._image_tokens = [str(name) for name in dict.fromkeys(names) if name]

    def encode(self, rows: Sequence[Rendered]) -> Encoded:
        """Give the tensors of a batch, and which tokens are learnt.

        A token that holds the end of the prompt and the beginning of an answer is none that the model could write:
        there the learnt text is tokenized apart from what stands round it.
        """
        import torch

        batch, places = self._call(self._processor, rows)
        learnt = torch.zeros_like(batch["input_ids"], dtype=torch.bool)
        apart: list[int] = []
        images = self._find_images(batch["input_ids"], places)
        for number, row in enumerate(rows):
            straddles = True
            if places is not None:
                learnt[number], straddles = places[number].find_tokens(row.spans)
            if straddles and _list_spans(row):
                apart.append(number)
        encoded = Encoded(batch, learnt, images)
        return self._encode_apart(rows, apart, encoded, known=places is not None) if apart else encoded

    def _call(self, processor: Any, rows: Sequence[Rendered]) -> tuple[dict[str, Any], list[_Places] | None]:
        """Give the tensors of a batch, and where its tokens stand; None where the processor does not say."""
        shown = any(row.images for row in rows)
        texts = [row.text for row in rows]
        options: dict[str, Any] = {"images": [list(row.images) for row in rows]} if shown else {}
        # As apply_chat_template does: the template has written the token that begins a text already.
        if self._tokenizer.bos_token and texts[0].startswith(self._tokenizer.bos_token):
            options["add_special_tokens"] = False
        if self._tokenizer.is_fast:
            options["return_offsets_mapping"] = True
        if shown and hasattr(processor, "get_text_with_replacements"):
            options["return_text_replacement_offsets"] = True
        batch = processor(text=texts, padding=True, **options)
        # Some processors would make tensors of these, which are none.
        offsets, replaced = batch.pop("offset_mapping", None), batch.pop("text_replacement_offsets", None)
        batch = dict(batch.convert_to_tensors("pt"))
        if offsets is None or (shown and replaced is None):
            return batch, None
        return batch, [_Places(*pair) for pair in zip(offsets, replaced or [()] * len(rows), strict=True)]

    def _find_images(self, ids: Any, places: Sequence[_Places] | None) -> Any:
        import torch

        if places is not None:
            return torch.stack([place.find_images() for place in places])
        image_ids = self._tokenizer.convert_tokens_to_ids(self._image_tokens)
        shown = torch.isin(ids, torch.tensor(image_ids, dtype=ids.dtype))
        begins = shown & ~torch.nn.functional.pad(shown, (1, 0))[:, :-1]
        return torch.where(shown, begins.cumsum(1) - 1, -1)

    def _encode_apart(
        self, rows: Sequence[Rendered], apart: Sequence[int], encoded: Encoded, *, known: bool
    ) -> Encoded:
        """Tokenize learnt text of some rows apart.

        Args:
            rows: The batch.
            apart: Numbers of those rows.
            encoded: All rows tokenized whole.
            known: The tokens of learnt text are known of these, so far as they do not straddle.
        """
        import torch

        processor, opening, closing = self._get_marked()
        marked = [Rendered(_mark(rows[number]), rows[number].images, ()) for number in apart]
        batch, places = self._call(processor, marked)
        images = self._find_images(batch["input_ids"], places)
        side = {"learnt": encoded.learnt, "images": encoded.images}
        tensors = {name: encoded.batch[name] for name in self._list_token_tensors(encoded.batch)} | side
        kept = [{name: one[n][_get_mask(encoded.batch)[n]] for name, one in tensors.items()} for n in range(len(rows))]
        for place, number in enumerate(apart):
            ids = batch["input_ids"][place]
            begins, ends = ids == opening, ids == closing
            keep = _get_mask(batch)[place] & ~begins & ~ends
            if self._decode(ids[keep]) == self._decode(kept[number]["input_ids"]):
                inside = (begins.cumsum(0) > ends.cumsum(0))[keep]
                found = {name: batch[name][place][keep] for name in self._list_token_tensors(batch)}
                kept[number] = {**found, "learnt": inside, "images": images[place][keep]}
            elif not known:
                # The tokenizer writes another text behind a special token; prefixes have no such token.
                for start, end in _list_spans(rows[number]):
                    kept[number]["learnt"][self._count(rows[number], start) : self._count(rows[number], end)] = True
        padding = {"input_ids": self._tokenizer.pad_token_id, "images": -1}
        padded = {
            name: torch.nn.utils.rnn.pad_sequence(
                [row[name] for row in kept],
                batch_first=True,
                padding_value=padding.get(name, 0),
                padding_side=self._tokenizer.padding_side,
            )
            for name in tensors
        }
        learnt, images = padded.pop("learnt"), padded.pop("images")
        return Encoded(encoded.batch | padded, learnt, images)

    def _list_token_tensors(self, batch: Mapping[str, Any]) -> list[str]:
        """Name the tensors with a value a token."""
        names = {*self._tokenizer.model_input_names, "input_ids", "attention_mask", "mm_token_type_ids"}
        return [name for name in batch if name in names]

    def _decode(self, ids: Any) -> str:
        return str(self._tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False))

    def _count(self, row: Rendered, end: int) -> int:
        """Count the tokens of a row's first characters."""
        text = row.text[:end]
        images = sum(map(text.count, self._image_tokens[:1]))
        batch, _ = self._call(self._processor, [Rendered(text, row.images[:images], ())])
        return int(batch["input_ids"].shape[1])

    def _get_marked(self) -> tuple[Any, int, int]:
        """Give a copy of the processor that knows the two marks, and their ids."""
        if self._marked is None:
            from tokenizers import AddedToken

            tokenizer = copy.deepcopy(self._tokenizer)
            tokenizer.add_tokens([AddedToken(mark, special=True, normalized=False) for mark in _MARKS])
            processor = tokenizer
            if self._processor is not self._tokenizer:
                processor = copy.copy(self._processor)
                processor.tokenizer = tokenizer
            opening, closing = tokenizer.convert_tokens_to_ids(list(_MARKS))
            self._marked = (processor, int(opening), int(closing))
        return self._marked


def _get_mask(batch: Mapping[str, Any]) -> Any:
    return batch["attention_mask"].bool()


def _list_spans(row: Rendered) -> list[tuple[int, int]]:
    """Give the spans that hold a character."""
    return [span for span in row.spans if span[0] < span[1]]


def _mark(row: Rendered) -> str:
    """Put the marks round the spans of a text."""
    bounds = [0, *chain.from_iterable(_list_spans(row)), len(row.text)]
    pieces = [row.text[start:end] for start, end in pairwise(bounds)]
    # Every second piece is learnt.
    return "".join(f"{_MARKS[0]}{piece}{_MARKS[1]}" if number % 2 else piece for number, piece in enumerate(pieces))
