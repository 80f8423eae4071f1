"""Read a choice letter as VLMEvalKit's spatial benchmarks do: the tag, the last lines, a phrase, the only letter."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from mmscore.core.parsed import UNPARSED, Parsed
from mmscore.nlp.reasoning_tags import INVISIBLE, OPENING, cut_reasoning

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/spatial_bench/matching_func.py:can_match_option
TAIL, LINES = 800, 6
"""Characters at the end, and lines at the end, that are looked at before the whole response is."""

TAGGED = re.compile(r"(?i)\s*([A-J])")
CLOSING = re.compile(r"(?i)<\s*/\s*answer\s*>")
BEFORE_TAGS = tuple(
    re.compile(rf"(?i)(?<![A-Z])([A-F])\s*[)\]}}）】]?\s*</\s*{tag}\s*>") for tag in ("answer", "think")
)
LISTED = re.compile(r"(?i)[*_>\-\s]*(?:option|选项)\s+[A-J]\s*[:：]")
ALONE = re.compile(r"[*_`>（）\[\]【】()]*\s*([A-Fa-f])\s*[*_`（）\[\]【】()]*")
LABEL = re.compile(r"([A-Fa-f])\s*[.．:：)\]】、-]\s")
INLINE = re.compile(r"(?<![A-Za-z])([A-F])(?=[*_`）\]})]*(?:$|[\s.,:;!?)\]】》」』，。；、：）]))")
PHRASE = re.compile(
    r"(?i)(?:answer(?:\s*is)?|答案|结论|所以|因此|选择?)\s*[:：>＝=]?\s*[(\[{（【]?\s*([A-F])\s*[)\]}）】]?(?:\b|[.)、。])"
)
SINGLE = re.compile(r"(?<![A-Za-z])[A-F](?![A-Za-z])")


def vlmevalkit_spatial_choice(text: str) -> Parsed:
    r"""Find the letter that a response ends with.

    Looked for in this order: after an `<answer>` tag (A to J), before a closing tag near the end, alone or as a label
    or as the only letter of a line among the last six (first of those behind the reasoning, then of those near the
    end), after a phrase such as "answer is", as the only capital A to F anywhere.

    Args:
        text: The model's response.

    Returns:
        The letter; `UNPARSED` where nothing is found.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/spatial_bench/matching_func.py:can_match_option
    without choices.

    Example:
        >>> vlmevalkit_spatial_choice("<think>A or B?</think>\nIt is **C**.")
        Parsed(value='C', how='last lines', span=None)
        >>> vlmevalkit_spatial_choice("<answer>d) left</answer>").value, vlmevalkit_spatial_choice("no idea").value
        ('D', None)
    """
    text = text.strip().translate(INVISIBLE)
    tail = text[-TAIL:]
    if tagged := _find_tagged(text):
        return Parsed(tagged, "answer tag")
    for before in BEFORE_TAGS:
        if found := before.search(tail):
            return Parsed(found[1].upper(), "before a closing tag")
    for lines in (cut_reasoning(text).splitlines(), tail.splitlines()):
        if letter := _find_in_lines(lines[-LINES:]):
            return Parsed(letter, "last lines")
    if found := PHRASE.search(text):
        return Parsed(found[1].upper(), "answer phrase")
    letters = {letter for line in text.splitlines() if not LISTED.match(line) for letter in SINGLE.findall(line)}
    return Parsed(letters.pop(), "only letter") if len(letters) == 1 else UNPARSED


def _find_tagged(text: str) -> str | None:
    """Find the letter behind the first opening tag that has one, in front of some closing tag."""
    last = max((found.start() for found in CLOSING.finditer(text)), default=-1)
    ends = [place for place, character in enumerate(text) if character == ">"] if last >= 0 else []
    for opening in OPENING.finditer(text, 0, max(last, 0)):
        place = bisect_left(ends, opening.end())
        found = TAGGED.match(text, ends[place] + 1) if place < len(ends) else None
        if found and found.end() <= last:
            return found[1].upper()
    return None


def _find_in_lines(lines: Sequence[str]) -> str | None:
    return next((letter for line in reversed(lines) for letter in _read_line(line.strip())), None)


def _read_line(line: str) -> Iterator[str]:
    """Give the letter that a line says, if it says one."""
    if LISTED.match(line):
        return
    if found := ALONE.fullmatch(line) or LABEL.match(line):
        yield found[1].upper()
    elif len(letters := {*INLINE.findall(line)}) == 1:
        yield from letters


PARSER = vlmevalkit_spatial_choice
