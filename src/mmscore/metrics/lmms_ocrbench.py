"""Score text recognition as lmms-eval's OCRBench does: a reference must be contained in the response."""

from collections.abc import Sequence

from mmconvert.core.errors import RowError, show

FORMULAS = "HME100k"
"""Source of the handwritten formulas, in which case counts and blanks do not."""

HALF_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}
"""Full-width forms of ASCII, and the wide blank."""


def lmms_ocrbench(prediction: str, references: object, *, formula: bool = False) -> bool:
    r"""Tell whether any reference is contained in a response.

    Args:
        prediction: The model's response.
        references: A text or a list of texts, tried in order; an empty one is contained in every response.
        formula: Whether the image is one of `FORMULAS`; else case, full width and outer blanks do
            not count.

    Returns:
        Whether the question counts as right.

    Raises:
        RowError: A reference is not a text.

    Parity: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/ocrbench/utils.py:ocrbench_process_results.

    Example:
        >>> lmms_ocrbench("It reads Ｅxit　4.", "exit 4"), lmms_ocrbench(r"\sqrt { x }", [r"\sqrt{x}"], formula=True)
        (True, True)
    """
    spelled = _remove_blanks if formula else _lower_text
    response = spelled(prediction)
    for one in references if isinstance(references, Sequence) and not isinstance(references, str) else [references]:
        if not isinstance(one, str):
            raise RowError("answer.type", "answer", f"every reference must be a text {show(one)}. Quote it.")
        if spelled(one) in response:
            return True
    return False


def _lower_text(text: str) -> str:
    return text.translate(HALF_WIDTH).lower().strip().replace("\n", " ")


def _remove_blanks(text: str) -> str:
    return text.strip().replace("\n", " ").replace(" ", "")


METRIC = lmms_ocrbench
