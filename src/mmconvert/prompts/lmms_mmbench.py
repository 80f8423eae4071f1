"""lmms-eval's prompt template of MMBench: hint, question, the options, and a closing line in the data's tongue."""

from collections.abc import Mapping
from typing import Any, Literal

from mmconvert.core.errors import UsageError, suggest_spelling
from mmconvert.core.record import LETTERS, Record
from mmconvert.core.text.prompt_parts import Wording, put_images_first
from mmconvert.core.text.turns import list_last_turn_images

Language = Literal["en", "cn"]

# Source: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/mmbench/mmbench.yaml, mmbench_en.yaml, mmbench_cn.yaml
OPENING = "There are several options:\n"
CLOSING = {
    "en": "\nAnswer with the option's letter from the given choices directly.",
    "cn": "\n请直接使用所提供的选项字母作为答案回答。",
}
OPTION_LETTERS = "ABCDE"
ABSENT = "nan"
"""What the framework's tables hold in an empty cell."""


def lmms_mmbench(record: Record, language: Language = "en") -> Wording:
    """Word a question as lmms-eval does.

    Args:
        record: A multiple-choice question.
        language: `en` or `cn`; the options' opening line is English in both.

    Returns:
        The images and the text.

    Raises:
        UsageError: The language is unknown.

    Parity: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/mmbench/en_utils.py, cn_utils.py:
    mmbench_doc_to_text.
    """
    if language not in CLOSING:
        hint = suggest_spelling(language, CLOSING)
        raise UsageError(f"lmms_mmbench has no language {language!r}.{hint} Known: {', '.join(CLOSING)}.")
    row = {"question": record.question, "hint": record.hint, **dict(zip(LETTERS, record.options, strict=False))}
    text = build_lmms_mmbench_text(row, language, CLOSING[language])
    return put_images_first(text, tuple(image.slot for image in list_last_turn_images(record)))


def build_lmms_mmbench_text(row: Mapping[str, Any], language: Language = "en", closing: str | None = None) -> str:
    r"""Write the prompt text.

    Args:
        row: `question`, `hint` and the options A to E; empty or `nan` options are left out, a missing
            hint is None (or `nan` in English; the Chinese task prints that word).
        language: `en` or `cn`.
        closing: Line behind the options; None leaves the text open, without a line break.

    Returns:
        The text.

    Example:
        >>> build_lmms_mmbench_text({"question": "Which?", "hint": None, "A": "cat", "B": "nan"}, closing="Answer.")
        'Which? There are several options:\nA. cat\nAnswer.'
    """
    listed = "".join(f"{x}. {row[x]}\n" for x in OPTION_LETTERS if row.get(x) and row[x] != ABSENT)
    hint = row.get("hint")
    shown = hint is not None and not (language == "en" and hint == ABSENT)
    text = f"{hint} {row['question']} " if shown else f"{row['question']} "
    text += (OPENING + listed).rstrip("\n")
    return text if closing is None else f"{text}\n{closing}"


PROMPT = lmms_mmbench
