"""What passes between MMTrustEval's parts: samples, batches of them, replies."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from mmconvert.core.errors import UsageError, show


class _Fields:
    """Fields by name too, and from a mapping whose other keys are passed over, as the kit has it."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make one of a mapping; keys that are no field are passed over."""
        names = {field.name for field in fields(cls)}  # type: ignore[arg-type]
        return cls(**{name: value for name, value in data.items() if name in names})

    def to_dict(self) -> dict[str, Any]:
        """Give the fields as a mapping."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]

    def __getitem__(self, item: str) -> Any:
        return getattr(self, item)


@dataclass
class TxtSample(_Fields):
    """A sample without a picture.

    Attributes:
        text: What is asked.
        target: The reference: a text, a number, a list of texts, or None.
        extra: More about the sample; `subset` tells groups apart.
    """

    text: str
    target: Any = None
    extra: dict[str, Any] | None = None


@dataclass
class ImageTxtSample(_Fields):
    """A sample with a picture; see `TxtSample`.

    Attributes:
        image_path: File of the picture.
        text: What is asked.
        target: The reference.
        extra: More about the sample.
    """

    image_path: str
    text: str
    target: Any = None
    extra: dict[str, Any] | None = None


Sample = TxtSample | ImageTxtSample


@dataclass
class Response(_Fields):
    """A model's reply.

    Attributes:
        model_id: Who gives it.
        content: Its text.
        logprobs: Log-probabilities of its tokens, or None.
        finish_reason: Why it ends, or None.
    """

    model_id: str
    content: str
    logprobs: Any = None
    finish_reason: str | None = None


def collate_fn(batch_data: Iterable[Any]) -> list[dict[str, Any]]:
    """Turn samples into what a model and an evaluator are given.

    Args:
        batch_data: Objects with the fields of a sample.

    Returns:
        `message` (one user turn; its content a text, or `image_path` and `text`), `target` and `extra` of each.

    Raises:
        UsageError: One of them is no sample.

    Parity: thu-ml/MMTrustEval@a067801 mmte/datasets/base.py:collate_fn.

    Example:
        >>> collate_fn([TxtSample("Is it?", target=1)])
        [{'message': [{'role': 'user', 'content': 'Is it?'}], 'target': 1, 'extra': None}]
    """
    return [
        {
            "message": [{"role": "user", "content": _content(sample)}],
            "target": getattr(sample, "target", None),
            "extra": getattr(sample, "extra", None),
        }
        for sample in batch_data
    ]


def _content(sample: Any) -> Any:
    text = getattr(sample, "text", None)
    if not isinstance(text, str):
        raise UsageError(f"a dataset gives TxtSample or ImageTxtSample {show(sample)}.")
    path = getattr(sample, "image_path", None)
    return text if path is None else {"image_path": str(path), "text": text}
