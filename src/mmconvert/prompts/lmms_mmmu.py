"""lmms-eval's prompt template of MMMU and MMMU-Pro (standard): the question, options as `A. text`, a closing line."""

import re
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from mmconvert.core.errors import RowError
from mmconvert.core.record import LETTERS, Part, Record
from mmconvert.core.text.prompt_parts import Wording, put_images_first

# Source: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/mmmu/_default_template_yaml
CHOICE_LINE = "Answer with the option's letter from the given choices directly."
OPEN_LINE = "Answer the question using a single word or phrase."

NAMED_IMAGE = re.compile(r"<image (\d+)>")
NUMBERED = re.compile(r"<image [1-7]>")
ANONYMOUS = "<image>"


def lmms_mmmu(record: Record, interleaved: bool = False) -> Wording:
    """Word a question as lmms-eval does.

    Args:
        record: A multiple-choice or open question.
        interleaved: False: images first, `<image k>` stays in the text. True, as for chat models:
            images stand between the pieces of the text.

    Returns:
        The turn; images come in the order of their numbers, each once, so that between the pieces
        an image may stand where another one was named.

    Parity: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/mmmu/utils.py:mmmu_doc_to_text,
    mmmu_doc_to_visual, mmmu_doc_to_messages.
    """
    options = None if record.task != "multiple_choice" else [x for x in record.options if x is not None]
    text = build_lmms_mmmu_text(record.question or "", options)
    slots = list_named_images(text)
    prompt = interleave_images(text, slots) if interleaved else put_images_first(text, slots)
    return replace(prompt, names=LETTERS[: len(options or ())] or None)


def build_lmms_mmmu_text(question: str, options: Sequence[Any] | None) -> str:
    """Write the prompt text.

    Args:
        question: The question.
        options: Options from A on; None for an open question.

    Returns:
        The text, its placeholders kept.

    Example:
        >>> build_lmms_mmmu_text("Which?", ["cat", "dog"]).splitlines()[:4]
        ['Which?', 'A. cat', 'B. dog', '']
    """
    if options is None:
        return f"{question}\n\n{OPEN_LINE}"
    listed = "\n".join(f"{chr(ord('A') + number)}. {option}" for number, option in enumerate(options))
    return f"{question}\n{listed}\n\n{CHOICE_LINE}"


def list_named_images(text: str) -> tuple[int, ...]:
    """List the images that a text names, each once, sorted as the texts of their names.

    Raises:
        RowError: A number is not written plainly (`<image 01>`), so that no column has its name.

    Example:
        >>> list_named_images("<image 3>, <image 1>, <image 3> and <image 10>")
        (1, 10, 3)
    """
    names = sorted(set(NAMED_IMAGE.findall(text)))
    for name in names:
        if name != str(int(name)):
            message = "the text names an image that the row does not have. Give it, or take its name out."
            raise RowError("image.missing", f"image_{name}", message)
    return tuple(int(name) for name in names)


def interleave_images(text: str, slots: tuple[int, ...]) -> Wording:
    """Cut a text at its placeholders and put images between the pieces.

    Before image i stands piece i, stripped, unless it is blank; behind the last image stands
    the last piece, and pieces between the two are lost.

    Args:
        text: Text from `build_lmms_mmmu_text`; `<image 1>` to `<image 7>` and a literal `<image>` cut it.
        slots: Numbers of the images.

    Returns:
        The turn.

    Example:
        >>> [part.text for part in interleave_images("a <image 1> b <image 1> c", (1,)).parts]
        ['a', '', 'c']
    """
    pieces = [piece.strip() for piece in NUMBERED.sub(ANONYMOUS, text).split(ANONYMOUS)]
    parts: list[Part] = []
    for number in range(len(slots)):
        if number < len(pieces) and pieces[number]:
            parts.append(Part("text", pieces[number]))
        parts.append(Part("image"))
    if pieces[-1]:
        parts.append(Part("text", pieces[-1]))
    return Wording(tuple(parts), slots)


PROMPT = lmms_mmmu
