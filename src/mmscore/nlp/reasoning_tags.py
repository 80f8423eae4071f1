"""Tags of reasoning and answers as VLMEvalKit's spatial benchmarks look for them."""

import re

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/spatial_bench/matching_func.py
INVISIBLE = str.maketrans(dict.fromkeys("\u200b\u200c\u200d\ufeff"))
"""For `str.translate`: characters without width, which are left out."""

OPENING = re.compile(r"(?i)<\s*answer\b")
_ENDS, _STARTS = re.compile(r"(?i)</\s*think\s*>"), re.compile(r"(?i)<\s*think\s*>")


def cut_reasoning(text: str) -> str:
    """Give what is behind the last closing tag of reasoning, else behind the last opening one, else the whole text.

    Example:
        >>> cut_reasoning("<think>A or B?</think> It is B."), cut_reasoning("B")
        ('It is B.', 'B')
    """
    for tag in (_ENDS, _STARTS):
        if ends := [found.end() for found in tag.finditer(text)]:
            return text[ends[-1] :].strip()
    return text
