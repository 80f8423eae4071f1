"""Rows of a dataset to tensors, for a training loop of one's own.

loader = torch.utils.data.DataLoader(load_dataset(...), batch_size=8, collate_fn=ChatCollator(processor))
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mmconvert.core.errors import Error

IGNORED = -100
"""The label of a token that is not learnt."""


class ChatCollator:
    """Words rows with a processor's chat template and pads them.

    Rows of `--view sft` are learnt as they stand, but for images and padding; of `--view prompt-completion` the
    completion alone. A row may be text alone, or show several images.
    """

    def __init__(self, processor: Any) -> None:
        """Take the processor of a vision-language model of transformers, with a chat template."""
        self._processor = processor
        tokenizer = processor.tokenizer
        names = (getattr(processor, "image_token", None), getattr(tokenizer, "image_token", None))
        self._image_tokens = sorted({tokenizer.convert_tokens_to_ids(str(name)) for name in names if name})

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Give the model's arguments.

        Args:
            rows: Rows as `datasets` reads them, images decoded.

        Returns:
            The processor's tensors, one row a row, and `labels`: `input_ids`, `IGNORED` for what is not learnt.

        Raises:
            Error: A row shows other images than it has, or is laid out for evaluation.
        """
        talks = [_read_turns(row) for row in rows]
        batch = self._build_tensors(talks)
        learnt = batch["attention_mask"].bool()
        for token in self._image_tokens:
            learnt &= batch["input_ids"] != token
        # Some processors pad on the left: a row begins where its mask does.
        starts = batch["attention_mask"].argmax(dim=1).tolist()
        for own, row, start in zip(learnt, rows, starts, strict=True):
            if "completion" in row:
                own[start : start + self._count_prompt_tokens(row)] = False
        batch["labels"] = batch["input_ids"].masked_fill(~learnt, IGNORED)
        return dict(batch)

    def _count_prompt_tokens(self, row: Mapping[str, Any]) -> int:
        prompt = _insert_images(row["prompt"], iter(row["images"]))
        return int(self._build_tensors([prompt], add_generation_prompt=True)["input_ids"].shape[1])

    def _build_tensors(self, talks: Sequence[Any], **options: Any) -> Any:
        return self._processor.apply_chat_template(
            talks, tokenize=True, return_dict=True, return_tensors="pt", processor_kwargs={"padding": True}, **options
        )


def _read_turns(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Give the turns of a row, each image in its part."""
    turns = [*row["prompt"], *row["completion"]] if "completion" in row else row["messages"]
    if turns[-1]["role"] != "assistant":
        raise Error(
            f"row {row.get('id')!r}: has no response to train on. Convert with --view sft or prompt-completion."
        )
    images = iter(row["images"])
    talk = _insert_images(turns, images)
    if any(True for _ in images):
        raise Error(f"row {row.get('id')!r}: has more images than its turns show. Convert it again.")
    return talk


def _insert_images(turns: Sequence[Mapping[str, Any]], images: Iterator[Any]) -> list[dict[str, Any]]:
    return [{"role": turn["role"], "content": [_build_part(p, images) for p in turn["content"]]} for turn in turns]


def _build_part(part: Mapping[str, Any], images: Iterator[Any]) -> dict[str, Any]:
    if part["type"] != "image":
        return {"type": "text", "text": part["text"]}
    try:
        image = next(images)
    except StopIteration:
        raise Error("messages: the turns show more images than the row has. Convert it again.") from None
    if image is None:
        raise Error("images: an image is only a URL. Convert with --allow-remote, without --keep-urls.")
    return {"type": "image", "image": image}
