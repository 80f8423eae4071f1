"""Read a number as VLMEvalKit's spatial benchmarks do: the answer tag, else the last number behind the reasoning."""

import re
from bisect import bisect_left

from mmconvert.core.errors import RowError
from mmconvert.core.text.literals import looks_like_list, parse_short_literal
from mmscore.core.parsed import UNPARSED, Parsed
from mmscore.nlp.reasoning_tags import INVISIBLE, OPENING, cut_reasoning

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/spatial_bench/matching_func.py, num2words of 0 to 20
WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
VALUES = {word: str(value) for value, word in enumerate(WORDS)}
WORD = re.compile(rf"(?i)\b(?:{'|'.join(WORDS)})\b")
NUMBER = re.compile(r"[-+]?(?:\d*\.\d+|\d+)(?:[eE][-+]?\d+)?")
TAGGED = re.compile(rf"(?i)\s*({NUMBER.pattern})(?:[^\d<][^<]*)?<\s*/\s*answer\s*>")


def vlmevalkit_spatial_number(text: str) -> Parsed:
    """Find the number that a response ends with.

    The words zero to twenty are numbers too. Of a list in brackets the first element is read.

    Args:
        text: The model's response.

    Returns:
        The number as it is written; `UNPARSED` where there is none, or where brackets hold no Python literal.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/spatial_bench/matching_func.py:can_match_na. Not
    kept: a list of more than 10,000 characters is no literal.

    Example:
        >>> vlmevalkit_spatial_number("<think>3 or 4?</think> It is four metres.").value
        '4'
        >>> vlmevalkit_spatial_number("<answer>2.5 m</answer> not 3").value, vlmevalkit_spatial_number("[7, 8]").value
        ('2.5', '7')
    """
    try:
        text = _pick_first(text) if looks_like_list(text) else text
    except RowError:
        return UNPARSED
    text = WORD.sub(_write_number, text.strip().translate(INVISIBLE))
    if tagged := _find_tagged(text):
        return Parsed(tagged, "answer tag")
    for part in (cut_reasoning(text), text):
        if numbers := NUMBER.findall(part):
            return Parsed(numbers[-1], "last number")
    return UNPARSED


def _pick_first(text: str) -> str:
    value = parse_short_literal(text)
    return str(value[0]) if isinstance(value, list) and value else text


def _write_number(word: re.Match[str]) -> str:
    return VALUES.get(word[0].lower(), word[0])


def _find_tagged(text: str) -> str | None:
    """Find the number behind the first opening tag that holds one up to its closing tag."""
    ends = [place for place, character in enumerate(text) if character == ">"]
    tried = -1
    for opening in OPENING.finditer(text):
        place = bisect_left(ends, opening.end())
        if place < len(ends) and ends[place] != tried:
            tried = ends[place]
            if found := TAGGED.match(text, tried + 1):
                return found[1]
    return None


PARSER = vlmevalkit_spatial_number
