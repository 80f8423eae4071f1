"""The classes that users of MMTrustEval inherit from: datasets, methods, chat models.

Parity: thu-ml/MMTrustEval@a067801 mmte/datasets/base.py, mmte/methods/base.py, mmte/models/base.py. What the framework
asserts is a UsageError here.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from mmconvert.core.errors import UsageError, show, suggest_spelling


class _Fields:
    """Fields by name too, and from a mapping whose other keys are passed over, as the framework has it."""

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
    """A sample without an image.

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
    """A sample with an image; see `TxtSample`.

    Attributes:
        image_path: File of the image.
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
    """A model's response.

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


def check_id(name: str, known: Sequence[str], what: str) -> str:
    """Give an id back if it is one of those that a class serves.

    Raises:
        UsageError: It is none.

    Example:
        >>> check_id("dt-text", ["dt-text"], "dataset")
        'dt-text'
    """
    if name not in known:
        raise UsageError(
            f"no {what} {name!r}.{suggest_spelling(str(name), known)} Known: {', '.join(known) or 'none'}."
        )
    return name


def made_of(kind: Any, name: str, where: str, settings: Mapping[str, Any]) -> Any:
    """Make an object of a class by its id.

    Args:
        kind: The class.
        name: The id.
        where: Where the settings stand, for messages.
        settings: What else the class is given.

    Raises:
        UsageError: The class takes no such settings; what goes wrong inside it is raised as it is.
    """
    try:
        inspect.signature(kind).bind(name, **settings)
    except TypeError as error:
        raise UsageError(f"{where}: {kind.__name__} cannot be made: {error}.") from None
    return kind(name, **settings)


class BaseMethod(ABC):
    """Changes samples, whatever dataset they are of.

    Attributes:
        method_ids: Ids that the class serves.
        method_id: The one of this object.
        img_dir: Folder of the images that it makes.
        lazy_mode: Use an image that stands there.
    """

    method_id: str = ""
    method_ids: Sequence[str] = ()

    def __init__(self, method_id: str, img_dir: str = "", lazy_mode: bool = True) -> None:
        self.method_id = check_id(method_id, self.method_ids, "method")
        self.img_dir = img_dir
        self.lazy_mode = lazy_mode

    @abstractmethod
    def run(self, data: Any, **kwargs: Any) -> Any:
        """Give the sample that a sample becomes."""

    def hash(self, to_hash_str: str, **kwargs: Any) -> str:
        """Name the file of what is made for a text.

        Raises:
            NotImplementedError: The class does not say how.
        """
        raise NotImplementedError(f"{type(self).__name__} has no hash(to_hash_str).")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call `run`."""
        return self.run(*args, **kwargs)


class BaseDataset(ABC):  # noqa: B024 - as in the kit; what a class must bring is its constructor
    """Samples by their number. A DataLoader takes one as it takes a torch Dataset.

    Attributes:
        dataset_ids: Ids that the class serves.
        dataset_id: The one of this object.
        dataset_config: YAML file of the dataset, or one an id.
        method_hook: Changes each sample that is given out; None for none.
        dataset: The samples; a class fills it.
    """

    dataset_id: str = ""
    dataset_ids: Sequence[str] = ()
    dataset_config: str | Mapping[str, str] | None = ""

    def __init__(self, dataset_id: str, method_hook: Any = None, **kwargs: Any) -> None:
        self.dataset_id = check_id(dataset_id, self.dataset_ids, "dataset")
        self.method_hook = method_hook or None
        self.dataset: list[Any] = []

    def __getitem__(self, index: int) -> Any:
        """Give a sample, changed by the hook if there is one."""
        sample = self.dataset[index]
        return self.method_hook.run(sample) if self.method_hook else sample

    def __len__(self) -> int:
        """Count the samples."""
        return len(self.dataset)

    def __iter__(self) -> Iterator[Sample]:
        """Give all samples in order."""
        return (self[index] for index in range(len(self)))


class BaseChat(ABC):
    """A model that answers a conversation.

    Attributes:
        model_family: Ids that the class serves.
        model_id: The one of this object.
        model_arch: Its architecture, for people.
    """

    model_id: str = ""
    model_arch: str = ""
    model_family: Sequence[str] = ()

    def __init__(self, model_id: str) -> None:
        self.model_id = check_id(model_id, self.model_family, "chatmodel")

    @abstractmethod
    def chat(self, messages: list[dict[str, Any]], **generation_kwargs: Any) -> Response:
        """Answer a conversation.

        Args:
            messages: Turns, `role` (system, user, assistant) and `content`: a text, or `text` and `image_path`.
            generation_kwargs: max_new_tokens, do_sample, temperature, num_beams, stop_sequences, output_scores.
        """
