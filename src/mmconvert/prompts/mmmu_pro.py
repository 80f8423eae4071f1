"""MMMU-Pro's prompt template: the question, options as `A. text`, an instruction; then the images in reading order."""

import re
from collections.abc import Sequence
from typing import Any, Literal

from mmconvert.core.errors import UsageError, suggest_spelling
from mmconvert.core.record import LETTERS, Part, Record
from mmconvert.core.text.prompt_parts import Wording

Mode = Literal["direct", "cot"]

# Source: MMMU-Benchmark/MMMU@bb0b95a mmmu-pro/infer/prompts.yaml, standard setting
INSTRUCTIONS = {
    "direct": "Answer with the option letter from the given choices directly.",
    "cot": (
        "Answer the preceding multiple choice question. The last line of your response should be of the following "
        "format: 'Answer: $LETTER' (without quotes) where LETTER is one of options. "
        "Think step by step before answering."
    ),
}
PLACEHOLDERS = {"gpt": "<image>", "transformers": "[image]"}
"""What the scripts write where an image was named."""

NAMED_IMAGE = re.compile(r"<image\s+(\d+)>")


def mmmu_pro(record: Record, mode: Mode = "direct", script: str = "gpt") -> Wording:
    """Word a multiple-choice question as MMMU-Pro's scripts do (standard setting).

    Args:
        record: The question.
        mode: `direct` asks for the letter, `cot` for steps and a last line `Answer: $LETTER`.
        script: Whose placeholder stands in the text: `gpt` (`<image>`) or `transformers` (`[image]`).

    Returns:
        The text, then the images in the order in which the text names them, repeats kept;
        images that it does not name are left out.

    Raises:
        UsageError: Mode or script is unknown.

    Parity: MMMU-Benchmark/MMMU@bb0b95a mmmu-pro/infer/infer_gpt.py, infer_transformers.py.
    """
    options = [option for option in record.options if option is not None]
    text, order = build_mmmu_pro_text(record.question or "", options, mode, script)
    return Wording((Part("text", text), *(Part("image"),) * len(order)), order, names=LETTERS[: len(options)] or None)


def build_mmmu_pro_text(
    question: str, options: Sequence[Any], mode: str = "direct", script: str = "gpt"
) -> tuple[str, tuple[int, ...]]:
    """Write the prompt text and list the images that it names.

    Args:
        question: The question.
        options: Options from A on.
        mode: `direct` or `cot`.
        script: `gpt` or `transformers`.

    Returns:
        The text with anonymous placeholders, and the k of each `<image k>` in reading order.

    Raises:
        UsageError: Mode or script is unknown.

    Example:
        >>> build_mmmu_pro_text("Is <image 2> like <image 1>?", ["yes", "no"])[1]
        (2, 1)
    """
    instruction = _check_option("mode", mode, INSTRUCTIONS)
    placeholder = _check_option("script", script, PLACEHOLDERS)
    listed = "\n".join(f"{chr(ord('A') + number)}. {option}" for number, option in enumerate(options))
    text = f"{question}\n{listed}\n{instruction}"
    order = tuple(int(found) for found in NAMED_IMAGE.findall(text))
    return NAMED_IMAGE.sub(lambda _: placeholder, text), order


def _check_option(option: str, name: str, table: dict[str, str]) -> str:
    if name not in table:
        message = f"mmmu_pro has no {option} {name!r}.{suggest_spelling(name, table)} Known: {', '.join(table)}."
        raise UsageError(message)
    return table[name]


PROMPT = mmmu_pro
