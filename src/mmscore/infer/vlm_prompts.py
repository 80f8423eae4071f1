"""Records as the processor of a vision-language model takes them."""

import inspect
import re
from collections.abc import Sequence
from typing import Any

import msgspec
from PIL import Image as PILImage

from mmconvert.core.errors import RowError
from mmconvert.core.record import Record
from mmscore.infer.backend import RAW
from mmscore.infer.images import decode_image, refuse_too_many_pixels
from mmscore.llm.response_cache import Answer, failed

_MARK = "\u2042"
"""Begins and ends a text that is compared with itself; no placeholder of an image begins with it."""

_RAW_TEMPLATE = (
    "{% for message in messages %}{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}PLACEHOLDER{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endfor %}"
)


class PreparedRow(msgspec.Struct, frozen=True):
    """One row as the processor takes it."""

    record: Record
    conversation: list[dict[str, Any]]
    guarded: bool  # the text holds a control token that is to be read as text

    @property
    def continues(self) -> bool:
        """Whether the last turn is the beginning of the response."""
        return self.record.messages[-1].role == "assistant"


class Prompts:
    """Turns records into the tensors that a model takes, worded by its template or by none."""

    def __init__(self, processor: Any, *, template: str, max_image_side: int | None, encoder: bool) -> None:
        """Find out how the processor writes images, and whether text can be detected by them.

        Args:
            processor: A processor of transformers with a tokenizer. It has a chat template, unless texts
                go out raw.
            template: One of `mmscore.infer.backend.TEMPLATES`.
            max_image_side: Images with a longer side are shrunk to it, in pixels; None leaves them.
            encoder: Prompts go into an encoder: they are padded where they end, where padding shifts no
                position. Others are padded on the left, for their responses follow them.
        """
        self._processor = processor
        self._max_side = max_image_side
        tokenizer = processor.tokenizer
        tokenizer.padding_side = "right" if encoder else "left"
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
        # Name the texts that stand for an image in this processor's prompts.
        tokens = [getattr(processor, "image_token", None), getattr(processor.tokenizer, "image_token", None)]
        texts = sorted({str(token) for token in tokens if token})
        self._image_tokens = set(tokenizer.convert_tokens_to_ids(texts))
        self._control = _compile_any([*tokenizer.all_special_tokens, *texts])
        self._placeholder = _compile_any(texts)
        self._raw = template == RAW
        self._template: str | None = None
        self._puts_images = False
        if self._raw:
            written = self._find_image_text(texts)
            self._puts_images = not written
            self._template = _RAW_TEMPLATE.replace("PLACEHOLDER", written)
        # Versions of transformers that cannot would warn at each call.
        sanitizes = "sanitize_control_tokens" in inspect.signature(processor.apply_chat_template).parameters
        self._can_guard = not self._raw and sanitizes and self._reads_placeholder_as_text(texts)

    def asked(self, record: Record) -> PreparedRow | Answer:
        """Decode the images and build the conversation, or say why that fails."""
        if self._raw and len(record.messages) != 1:
            return failed(
                f"messages: --template raw sends one finished text, the row has {len(record.messages)} turns. "
                "Convert with a --prompt that writes the whole dialogue."
            )
        if self._puts_images and len(record.images) != 1:
            # It would put one before every text of a batch, and give a row the image of another.
            more = " --no-interleave shows the first." if record.images else ""
            return failed(f"images: this model takes one image per row, the row has {len(record.images)}.{more}")
        try:
            refuse_too_many_pixels(record, self._max_side)
            shown = iter([decode_image(image, n, self._max_side) for n, image in enumerate(record.images, start=1)])
        except RowError as error:
            return failed(f"{error.field}: {error.message}")
        text = "\n".join(part.text for turn in record.messages for part in turn.content)
        found = self._placeholder.search(text)
        if found and not self._can_guard:
            return failed(f"messages: the text holds {found[0]!r}, which this model cannot tell from an image.")
        conversation = [
            {
                "role": turn.role,
                "content": [
                    {"type": "image", "image": next(shown)}
                    if part.type == "image"
                    else {"type": "text", "text": part.text}
                    for part in turn.content
                ],
            }
            for turn in record.messages
        ]
        # A finished text holds its control tokens on purpose.
        return PreparedRow(record, conversation, self._can_guard and self._control.search(text) is not None)

    def encoded(self, rows: Sequence[PreparedRow]) -> Any:
        """Render, tokenise and pad.

        Args:
            rows: Rows that all continue a response, or none of them does.

        Returns:
            The processor's tensors by name, `attention_mask` and `input_ids` among them, on the CPU.
        """
        conversations = [row.conversation for row in rows]
        guarded = any(row.guarded for row in rows)
        return self._tokenize(conversations, guarded=guarded, continues=rows[0].continues)

    def _tokenize(self, chats: Sequence[list[dict[str, Any]]], *, guarded: bool, continues: bool = False) -> Any:
        # Fresh turns: the processor writes into those it is given, and a batch may be tried twice.
        return self._processor.apply_chat_template(
            [[dict(turn) for turn in chat] for chat in chats],
            chat_template=self._template,
            add_generation_prompt=not continues,
            continue_final_message=continues,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
            processor_kwargs={"padding": True},
            **({"sanitize_control_tokens": True} if guarded else {}),
        )

    def _reads_placeholder_as_text(self, texts: Sequence[str]) -> bool:
        """Try whether the processor can be told that a placeholder in the text is no image."""
        try:
            alone = self._count_tokens([_build_image_part(), _build_text_part("x")], guarded=True)
            return alone == self._count_tokens([_build_image_part(), _build_text_part(" ".join(texts))], guarded=True)
        except Exception:  # each processor refuses in its own way; that it refuses is the answer
            return False

    def _count_tokens(self, content: list[dict[str, Any]], *, guarded: bool) -> int:
        inputs = self._tokenize([[{"role": "user", "content": content}]], guarded=guarded)
        return sum(token in self._image_tokens for token in inputs["input_ids"][0].tolist())

    def _find_image_text(self, texts: Sequence[str]) -> str:
        """Find what stands for an image in a finished text: as the model's own template writes it, if it has one."""
        if getattr(self._processor, "chat_template", None) is not None:
            with_image, without = (
                self._processor.apply_chat_template([{"role": "user", "content": content}])
                for content in ([_build_image_part(), _build_text_part(_MARK)], [_build_text_part(_MARK)])
            )
            start = next(i for i, (one, other) in enumerate(zip(with_image, without, strict=False)) if one != other)
            return str(with_image[start : start + len(with_image) - len(without)]).strip()
        # Processors of models without turns put images first on their own, or want the placeholder.
        self._template = _RAW_TEMPLATE.replace("PLACEHOLDER", "")
        return (
            ""
            if self._count_tokens([_build_image_part(), _build_text_part("x")], guarded=False)
            else "".join(texts[:1])
        )


def _build_image_part() -> dict[str, Any]:
    return {"type": "image", "image": PILImage.new("RGB", (64, 64))}


def _build_text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _compile_any(texts: Sequence[str]) -> re.Pattern[str]:
    """Match any of some texts, the longest first; never matches when there are none."""
    longest_first = sorted(filter(None, texts), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) or "(?!)")
