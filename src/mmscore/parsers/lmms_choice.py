"""Read a choice letter as lmms-eval's shared extractor does: every form has its priority."""

from collections.abc import Iterator, Sequence

from mmscore.core.parsed import UNPARSED, Parsed
from mmscore.nlp.choice_letters import EDGE_MARKS, pad

DEFAULT_LETTERS = "ABCDEFGH"

# Source: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/_task_utils/mcq_extract.py
PRIORITY = {"start": 10, "end": 9, "phrase": 7, "({})": 6, "{}.": 5, "{}:": 4, "{})": 3, "{} ": 2, "anywhere": 0}
HOW = {
    "start": "letter at the start", "end": "letter at the end", "phrase": "answer phrase", "({})": "bracketed letter",
    "{}.": "letter and dot", "{}:": "letter and colon", "{})": "letter and bracket", "{} ": "letter and blank",
    "anywhere": "any occurrence",
}  # fmt: skip
PHRASES = (
    "the answer is", "answer is", "the correct answer is", "correct answer is", "the best answer is", "best answer is",
    "the correct option is", "correct option is", "the best option is", "best option is", "the choice is", "choice is",
    "the correct choice is", "correct choice is", "i choose", "i select", "i pick", "my answer is", "my choice is",
    "옵션", "정답은", "답은", "답:", "答案是", "答案为", "选", "答えは",
)  # fmt: skip


def lmms_choice(response: str, letters: Sequence[str] = DEFAULT_LETTERS) -> Parsed:
    """Collect every letter in every known form; the best form wins, then the later position.

    Args:
        response: The model's response.
        letters: Choice letters.

    Returns:
        The letter, or `UNPARSED` when no letter occurs anywhere.

    Parity: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/_task_utils/mcq_extract.py:
    extract_mcq_answer; forms match inside words, and case matters.

    Example:
        >>> lmms_choice("Not (A). The answer is B", "AB").how
        'letter at the end'
        >>> lmms_choice("nothing here", "AB").value
    """
    text = response.strip()
    if not text:
        return UNPARSED
    padded, by = pad(text, (*EDGE_MARKS, '"'))
    candidates = list(_find_candidates(padded, letters)) or [
        ("anywhere", padded.rfind(letter), letter) for letter in letters if letter in padded
    ]
    if not candidates:
        return UNPARSED
    form, position, letter = max(candidates, key=lambda found: (PRIORITY[found[0]], found[1]))
    by += len(response) - len(response.lstrip())
    if form == "end":
        start = len(padded) - 1 - len(letter)
    elif form == "start":
        start = 1
    else:
        start = position + max(form.find("{}"), 0)
    return Parsed(letter, HOW[form], (start + by, start + by + len(letter)))


def _find_candidates(padded: str, letters: Sequence[str]) -> Iterator[tuple[str, int, str]]:
    for letter in letters:
        for form in ("({})", "{}.", "{}:", "{})", "{} "):
            position = padded.rfind(form.format(letter))
            if position >= 0:
                yield form, position, letter
    lowered = padded.lower()
    for phrase in PHRASES:
        start = lowered.find(phrase)
        if start >= 0:
            for letter in letters:
                position = padded.find(letter, start + len(phrase))
                if position >= 0:
                    yield "phrase", position, letter
    inner = padded[1:-1]
    for letter in letters:
        if inner.startswith(letter) and not inner[len(letter) : len(letter) + 1].isalpha():
            yield "start", 0, letter
        if inner.endswith(letter) and not inner[: -len(letter)][-1:].isalpha():
            yield "end", len(padded) - 1, letter


PARSER = lmms_choice
