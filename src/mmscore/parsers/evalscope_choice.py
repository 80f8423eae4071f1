"""Read choice labels as EvalScope's multiple-choice benchmarks do, before and since 1.14."""

import re
from collections.abc import Iterable
from typing import Literal

from mmscore.core.parsed import UNPARSED, Parsed

Version = Literal["1.3.0", "1.10.0", "1.14.1"]

# Source: modelscope/evalscope 1.10.0 evalscope/utils/multi_choices.py, parse_answers and parse_answers_zh
ANSWER_LINE = re.compile(r"(?im)^ANSWER\s*:\s*([A-Za-z\d ,]++)\s*(?:$|\n|\.)")
ANSWER_INSIDE = re.compile(r"(?i)ANSWER\s*:\s*([A-Za-z\d ,]+)(?:[^\w]|\n|$|\.)")
ANSWER_ZH = re.compile(r"答案\s*[:：]\s*([A-Za-z0-9,，]+)")

# Source: modelscope/evalscope 1.14.1 evalscope/utils/multi_choices.py
MARKER = re.compile(r"(?i)ANSWER\s*:\s*\**\s*")
MARKER_ZH = re.compile(r"答案\s*[:：]\s*\**\s*")
LATEX = re.compile(r"(?:\s*(?:\$|\\\(|\\(?:boxed|fbox|text|textbf|mathbf|mathrm)\{))*\s*")
BRACKETED = re.compile(r"[\(\[（【]\s*([A-Za-z\d](?:\s*[,，/、]\s*[A-Za-z\d])*)\s*[\)\]）】]")
PLAIN = re.compile(r"[A-Za-z\d][A-Za-z\d ,，/、]*")
TOKEN = re.compile(r"[^ ,，/、\s]+")
JOINERS = ("and", "or")

LONG_BLANK = re.compile(" {3,}")


def evalscope_choice(
    text: str, n_options: int, version: Version = "1.14.1", *, chinese: bool = False, multiple: bool = False
) -> Parsed:
    r"""Find the labels after an `ANSWER:` (or `答案：`) marker, else the last capital letter.

    Args:
        text: The response, its closed reasoning block cut out.
        n_options: How many options there are; labels are A to Z, then 1, 2, ...
        version: Release whose behaviour is wanted. Until 1.10 the first marker counts, and the last
            capital of the response is given even if it is no label; since 1.14 the last usable marker
            counts, and only labels are given.
        chinese: True when the prompt was the Chinese template.
        multiple: True when several labels may be chosen.

    Returns:
        The labels sorted and joined, or `UNPARSED`. Until 1.10 the value may be a capital that is
        no label.

    Parity: modelscope/evalscope 1.3.0, 1.10.0, 1.14.1 evalscope/utils/multi_choices.py:
    parse_answers, parse_answers_zh.

    Example:
        >>> evalscope_choice("So it is clear.\nANSWER: B", 4)
        Parsed(value='B', how='answer marker', span=(24, 25))
        >>> evalscope_choice("The Cat Sat", 4, "1.10.0").value, evalscope_choice("The Cat Sat", 4).value
        ('S', None)
    """
    labels = [chr(ord("A") + i) if i < 26 else str(i - 25) for i in range(n_options)]
    if version == "1.14.1":
        return _parse_last_marker(text, labels, MARKER_ZH if chinese else MARKER, multiple)
    return _parse_first_marker(text, labels, chinese, multiple)


def _parse_first_marker(text: str, labels: list[str], chinese: bool, multiple: bool) -> Parsed:
    """Walk the rules up to 1.10: a marker decides alone, even when what follows is no label."""
    if chinese:
        found = ANSWER_ZH.search(text)
    else:
        # Two blanks match like a hundred, and keep the search from growing with their square.
        short = LONG_BLANK.sub("  ", text)
        found = ANSWER_LINE.search(short) or ANSWER_INSIDE.search(short)
        text = short if found else text
    if found is None:
        return _find_last_capital(text)
    chosen = found[1].strip().rstrip("。." if chinese else ".")
    if not multiple:
        return Parsed(chosen, "answer marker", _find_span(found)) if chosen in labels else UNPARSED
    chosen = chosen.replace("，", ",") if chinese else chosen.replace(" and ", "").replace(" ", "")
    for tokens in (set(chosen.split(",")), set(chosen)):
        if tokens <= set(labels):
            return Parsed("".join(sorted(tokens)), "answer marker", _find_span(found)) if tokens else UNPARSED
    return UNPARSED


def _find_span(found: re.Match[str]) -> tuple[int, int]:
    start, end = found.span(1)
    return start + len(found[1]) - len(found[1].lstrip()), end - len(found[1]) + len(found[1].rstrip())


def _parse_last_marker(text: str, labels: list[str], marker: re.Pattern[str], multiple: bool) -> Parsed:
    """Walk the rules since 1.14: the last marker that labels follow decides."""
    for found in reversed(list(marker.finditer(text))):
        start = _skip_latex(text, found.end())
        follower = BRACKETED.match(text, start) or PLAIN.match(text, start)
        if follower is None:
            continue
        group = follower.lastindex or 0
        run = _take_leading_labels(follower[group], labels)
        if run:
            chosen = sorted({label for token in run for label in _split_token(token, labels)})
            if not multiple and (len(run) > 1 or len(chosen) > 1):
                return UNPARSED
            start = follower.start(group)
            return Parsed("".join(chosen), "answer marker", (start, start + len(run[0])))
    last = _find_last_capital(text)
    return last if last.value in labels else UNPARSED


def _skip_latex(text: str, start: int) -> int:
    found = LATEX.match(text, start)
    return found.end() if found else start


def _take_leading_labels(follower: str, labels: list[str]) -> list[str]:
    """Take tokens from the left while they are labels; "and", "or" count only between labels."""
    run: list[str] = []
    for token in TOKEN.findall(follower):
        if _split_token(token, labels):
            run.append(token)
        elif not (run and token.lower() in JOINERS):
            break
    return run


def _split_token(token: str, labels: Iterable[str]) -> list[str]:
    if token in labels:
        return [token]
    return list(token) if all(character in labels for character in token) else []


def _find_last_capital(text: str) -> Parsed:
    for position in range(len(text) - 1, -1, -1):
        if text[position].isupper():
            return Parsed(text[position], "last capital", (position, position + 1))
    return UNPARSED


PARSER = evalscope_choice
