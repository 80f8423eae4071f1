"""The order that EvalScope's `shuffle_choices` gives to options, seed for seed.

In General-VMCQ the framework shuffles after it has worded the prompt, so that a model is shown the old order while the
reference follows the new one; records are shuffled before (`--transform shuffle_options:order=evalscope`).
"""

import hashlib
import random
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from mmconvert.core.errors import RowError, show
from mmconvert.kits.evalscope.release import LATEST, Release


class Choices(msgspec.Struct, frozen=True):
    """The options of one question.

    Attributes:
        text: The question as the framework words it; for messages their blocks `**Role**: text`.
        options: Options in order.
        target: Label of the right one, or a list of labels.
        order: Where each option stood before it was shuffled; empty until then.
    """

    text: str
    options: tuple[str, ...]
    target: str | list[str]
    order: tuple[int, ...] = ()


def shuffle_choices(samples: Iterable[Choices], seed: int, release: Release = LATEST) -> Iterator[Choices]:
    """Shuffle the options of a data set.

    Args:
        samples: All questions, in order: up to 1.10 one generator serves them all.
        seed: The run's seed.
        release: Whose behaviour is wanted.

    Yields:
        The questions with options in their new order and labels that follow them; questions without
        options as they are.

    Raises:
        RowError: `answer.not_an_option`: a label belongs to no option.

    Parity: modelscope/evalscope 1.3.0, 1.10.0, 1.14.1 evalscope/api/dataset:MemoryDataset.shuffle_choices.

    Example:
        >>> one = Choices("q", ("a", "b", "c"), "A")
        >>> [s.options for s in shuffle_choices([one, one], 7)]
        [('c', 'a', 'b'), ('c', 'a', 'b')]
    """
    generator = random.Random(seed)
    for sample in samples:
        if not sample.options:
            yield sample
            continue
        order = list(range(len(sample.options)))
        (random.Random(_derive_seed(sample, seed)) if release == LATEST else generator).shuffle(order)
        labels = {build_label(old): build_label(new) for new, old in enumerate(order)}
        options = tuple(sample.options[old] for old in order)
        yield Choices(sample.text, options, _move_target(sample.target, labels), tuple(order))


def build_label(position: int) -> str:
    """Give the label of an option: A to Z, then 1, 2, ...

    Example:
        >>> build_label(0), build_label(25), build_label(26)
        ('A', 'Z', '1')
    """
    return chr(ord("A") + position) if position < 26 else str(position - 25)


def _derive_seed(sample: Choices, seed: int) -> int:
    material = "\0".join([str(seed), sample.text, *sorted(sample.options)])
    return int.from_bytes(hashlib.sha256(material.encode()).digest()[:8], "big")


def _move_target(target: str | list[str], labels: Mapping[str, str]) -> str | list[str]:
    for label in [target] if isinstance(target, str) else target:
        if label not in labels:
            raise RowError(
                "answer.not_an_option", "answer", f"expected one of {', '.join(sorted(labels))} {show(label)}."
            )
    return labels[target] if isinstance(target, str) else [labels[label] for label in target]
