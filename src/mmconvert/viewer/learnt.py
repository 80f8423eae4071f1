"""What a model learns of each sample: its tokens under a processor, those that the loss sees marked."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from mmconvert.chat.collate import ChatCollator, Sequenced, read_talk
from mmconvert.chat.learnt_text import Loss
from mmconvert.core.errors import Error, RowError
from mmconvert.core.record import Image, Record, count_images
from mmconvert.dataset.views import VIEWS
from mmconvert.images.verify import open_image
from mmconvert.viewer.items import Column, Filter, Mark, PageItem, Text, TextSpan

TOKENS, LEARNT = "tokens", "learnt"
COLUMNS = (Column(TOKENS, kind="number"), Column(LEARNT, "learnt tokens", kind="number"))

_NOTHING, _LEFT_OUT = "nothing learnt", "turns not learnt"
FILTERS: tuple[Filter, ...] = (
    Mark(_NOTHING, hint="Samples of which no token is learnt", tone="warn"),
    Mark(_LEFT_OUT, hint="Samples with a turn of the assistant that is not learnt", tone="warn"),
)

_HALF = "\ufffd"
"""What a decoder writes for a part of a character."""
_MOST_PARTS = 8
"""Tokens that one character may have."""


class LossView:
    """Adds the tokens of a sample to its item.

    Attributes:
        loss: What is learnt, as `ChatCollator` takes it.
        tokens: Tokens of all samples so far.
        learnt: Learnt ones among them.
        unended: Samples with an answer that no special token ends.
    """

    def __init__(self, processor: Any, loss: Loss) -> None:
        """Take a processor of transformers, or a tokenizer for samples without images, and what is learnt."""
        self._collator = ChatCollator(processor, loss=loss)
        self.loss = loss
        self._tokenizer = getattr(processor, "tokenizer", processor)
        # Some decoders drop a space at the start of a text, so each piece is decoded behind a letter.
        self._letter = self._tokenizer("a", add_special_tokens=False)["input_ids"][-1:]
        self.tokens = self.learnt = self.unended = 0

    def describe(self, item: PageItem, record: Record) -> PageItem:
        """Give an item with the tokens of its record, or with why it has none."""
        try:
            [sequence] = self._collator.render(read_talk(_build_row(record)))
            encoded = self._collator.encode([sequence])
        except Exception as error:  # processors of many makers refuse texts and images in their own ways
            said = str(error) if isinstance(error, Error) else f"the processor refuses the sample: {error}"
            fields = {**item.fields, "Learnt tokens": Text(said, tone="warn")}
            return replace(item, fields=fields, marks=[*item.marks, _NOTHING])
        ids, learnt = encoded.batch["input_ids"][0].tolist(), self._collator.find_learnt(encoded)[0].tolist()
        text = self._mark(ids, learnt, encoded.images[0].tolist())
        count = sum(learnt)
        self.tokens += len(ids)
        self.learnt += count
        self.unended += not self._collator.is_ended(sequence.found)
        left_out = list(_list_left_out(sequence))
        fields = {**item.fields, f"Tokens: {len(ids):,}, of which {count:,} are learnt": text}
        fields |= {"Not learnt": left_out} if left_out else {}
        marks = [*item.marks, *[_NOTHING] * (not count), *[_LEFT_OUT] * bool(left_out)]
        return replace(item, fields=fields, marks=marks, cells={**item.cells, TOKENS: len(ids), LEARNT: count})

    def _mark(self, ids: Sequence[int], learnt: Sequence[bool], images: Sequence[int]) -> Text:
        """Write tokens as text, a mark round each learnt one, an image's as how many they are."""
        text, spans = "", []
        for (image, own), run in groupby(zip(images, learnt, ids, strict=True), lambda token: token[:2]):
            tokens = [token[2] for token in run]
            if image >= 0:
                piece = f"image {image + 1}: {len(tokens):,} token{'s' * (len(tokens) != 1)}"
                spans.append(TextSpan(len(text), len(text) + len(piece), image=image))
                text += piece
            elif own:
                for some, piece in self._decode_each(tokens):
                    label = f"token {', '.join(map(str, some))}"
                    spans.append(TextSpan(len(text), len(text) + len(piece), label))
                    text += piece
            else:
                text += self._decode(tokens)
        return Text(text, tuple(spans), tone="tokens")

    def _decode(self, ids: Sequence[int]) -> str:
        options = {"skip_special_tokens": False, "clean_up_tokenization_spaces": False}
        behind = self._tokenizer.decode([*self._letter, *ids], **options)
        return str(behind)[len(self._tokenizer.decode(self._letter, **options)) :]

    def _decode_each(self, ids: Sequence[int]) -> Iterator[tuple[list[int], str]]:
        """Give each token with its text; several where only together they make a character."""
        some: list[int] = []
        for number, token in enumerate(ids, 1):
            some.append(token)
            piece = self._decode(some)
            if not piece.endswith(_HALF) or len(some) == _MOST_PARTS or number == len(ids):
                yield some, piece
                some = []


def _build_row(record: Record) -> dict[str, Any]:
    """Lay a record out as `--view sft` does, images decoded as `datasets` decodes them.

    Raises:
        RowError: There is nothing to learn, or an image cannot be decoded.
    """
    convert = VIEWS["sft"].of
    record = record if convert is None else convert(record)
    if record.messages[-1].role != "assistant":
        raise RowError("view.no_answer", "messages", "the sample ends with no turn of the assistant.")
    turns = [
        {"role": turn.role, "content": [{"type": part.type, "text": part.text} for part in turn.content]}
        for turn in record.messages
    ]
    images = record.images[: count_images(record.messages)]
    return {"id": record.id, "messages": turns, "images": [_decode_image(image) for image in images]}


def _decode_image(image: Image) -> Any:
    import PIL.ImageOps

    if image.bytes is None:
        raise RowError("image.remote", "images", "an image is only a URL, whose tokens are not known.")
    with open_image(image.bytes, copies=2) as opened:
        return PIL.ImageOps.exif_transpose(opened).convert("RGB")


def _list_left_out(sequence: Sequenced) -> Iterator[Text]:
    for turn in sequence.found.rewritten:
        yield Text(f"turn {turn + 1}: the chat template writes it otherwise once others follow", tone="warn")
    for turn in sequence.found.unclear:
        yield Text(f"turn {turn + 1}: the chat template writes no prompt before it", tone="warn")
