"""MMMU's own prompt template: the question, options as `(A) text`, one closing line; the first image only."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from mmconvert.core.record import LETTERS, Record
from mmconvert.core.text.prompt_parts import Wording, put_images_first
from mmconvert.core.text.turns import list_last_turn_images

# Source: MMMU-Benchmark/MMMU@bb0b95a mmmu/configs/llava1.5.yaml, as YAML folds it
CHOICE_LINE = "Answer with the option's letter from the given choices directly."
OPEN_LINE = "Answer the question using a single word or phrase."


def mmmu(record: Record) -> Wording:
    """Word a question as MMMU's script does.

    Args:
        record: A multiple-choice or open question.

    Returns:
        Image 1, if the record has it, and the text; `<image k>` stays in the text.

    Parity: MMMU-Benchmark/MMMU@bb0b95a mmmu/utils/data_utils.py:construct_prompt,
    process_single_sample (which passes image_1 only).
    """
    options = None if record.task != "multiple_choice" else [x for x in record.options if x is not None]
    shown = list_last_turn_images(record)
    # Beside images of earlier turns, those that no turn shows are none of this question's.
    known = shown if len(shown) < len(record.images) else (*shown, *record.attachments)
    first = tuple(image.slot for image in known if image.slot == 1)[:1]
    prompt = put_images_first(build_mmmu_text(record.question or "", options), first)
    return replace(prompt, names=LETTERS[: len(options or ())] or None)


def build_mmmu_text(question: str, options: Sequence[Any] | None) -> str:
    """Write the prompt text.

    Args:
        question: The question.
        options: Options from A on; None for an open question.

    Returns:
        The text; a blank line stands between the options and the closing line.

    Example:
        >>> print(build_mmmu_text("Which?", ["cat", "dog"]))
        Which?
        (A) cat
        (B) dog
        <BLANKLINE>
        Answer with the option's letter from the given choices directly.
    """
    if options is None:
        return f"{question}\n{OPEN_LINE}"
    listed = "".join(f"({chr(ord('A') + number)}) {option}\n" for number, option in enumerate(options))
    return f"{question}\n{listed}\n{CHOICE_LINE}"


PROMPT = mmmu
