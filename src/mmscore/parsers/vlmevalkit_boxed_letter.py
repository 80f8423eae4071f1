r"""Read a choice letter as VLMEvalKit does for VisuLogic: the last `\boxed{}`, else a phrase with a letter."""

import re

from mmscore.core.parsed import UNPARSED, Parsed

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/visulogic.py
LETTERS = ("A", "B", "C", "D")
BRACES = re.compile(r"\\boxed\{|[^\\]\}")
COMMANDS = (r"\text{", r"\rm{", r"\mathbf{", "$", "}")
TEMPLATE, OR = "letter", "or"
END = "<|endoftext|>"
PHRASES = (
    "answer:", "the final answer is:", "the answer is option:", "the answer is:", "the correct answer is option:",
    "the correct answer is:", "the answer should be:", "the final answer is", "the answer is option", "the answer is",
    "the correct answer is option", "the correct answer is", "the answer should be",
)  # fmt: skip


def vlmevalkit_boxed_letter(text: str) -> Parsed:
    r"""Find the letter A to D in the last box, else at an end of the response, else behind a phrase.

    A box that holds the template's word, `or` or more than two characters does not count. Behind the last place of a
    phrase the first line up to a full stop must be the letter; each phrase is looked for in what the one before it
    left.

    Args:
        text: The model's response.

    Returns:
        The letter; `UNPARSED` where there is none.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/visulogic.py:extract_answer.

    Example:
        >>> vlmevalkit_boxed_letter(r"Answer: \boxed{\text{B}}").value, vlmevalkit_boxed_letter("It must be (C).").value
        ('B', 'C')
        >>> vlmevalkit_boxed_letter(r"\boxed{A or B}").value
    """
    boxed = (text if len(text) < 3 else _read_last_box(text)).strip()
    if boxed in LETTERS:
        return Parsed(boxed, "box")
    text = text.replace(END, "")
    for letter in LETTERS:
        if text.endswith((f" {letter}.", f" ({letter}).")) or text.startswith(
            (f"{letter}\n", f"({letter})\n", f"({letter}) {letter}\n")
        ):
            return Parsed(letter, "letter at an end")
    rest = text.lower()
    for phrase in PHRASES:
        if phrase in rest:
            rest = rest.rpartition(phrase)[2].strip().split("\n")[0].split(".")[0]
            if rest.upper() in LETTERS:
                return Parsed(rest.upper(), "answer phrase")
    return Parsed(text, "letter alone") if text in LETTERS else UNPARSED


def _read_last_box(text: str) -> str:
    """Give what the last outermost box holds, its LaTeX cut off; the whole response where no box counts."""
    starts: list[int] = []
    content = None
    for found in BRACES.finditer(text):
        if found[0].endswith("{"):
            starts.append(found.end())
        elif starts:
            start = starts.pop()
            content = content if starts else text[start : found.start() + 1]
    if content is None:
        return text
    for command in COMMANDS:
        content = content.replace(command, "")
    return text if TEMPLATE in content.lower() or OR in content or len(content) > 2 else content


PARSER = vlmevalkit_boxed_letter
