"""Read a short answer by our own rules: what a response states as its final answer, without the words around it.

The rules in order:

    boxed           content of the last LaTeX box
    answer tag      content of the last `<answer>...</answer>`
    answer marker   behind the last "the answer is", "Answer:", "答案是", up to the end of its sentence
    bold            the only bold piece of the response
    whole response     a response of one line
    first line      a first line of at most three words, when the last line is longer
    last line       the last line of a longer response
"""

import re
from collections.abc import Callable

from mmscore.core.parsed import UNPARSED, Parsed
from mmscore.nlp.final_answer import FULL_WIDTH, find_last_box, skip_thinking

Span = tuple[int, int]

MARKER = re.compile(
    r"""
    \b(?:final\s+|correct\s+)?answer
      (?: [\s*_`"']*+ (?:(?:is|are|was|(?:would|should|must|will)\s+be)\b:? | [:=] | -+>) | [*_`"']*+ [^\S\n]*+ \n )
    | 答案[^\S\n]*+ (?:应该|应当|应|就)?[^\S\n]*+ (?:是|为|[:=]):?
    """,
    re.VERBOSE | re.IGNORECASE,
)
TAGGED = re.compile(r"<answer>([^<]*)</answer>", re.IGNORECASE)
BOLD = re.compile(r"\*\*([^*\n]+)\*\*")

# A sentence ends at a line break, a Chinese full stop, or a mark that a blank and no small letter or digit follow;
# a dot after a title or inside "U.S." ends none.
SENTENCE_END = re.compile(
    r"\n|。|；|[;!?](?=\s+[^\sa-z0-9]|\s*$)|(?<!\.[A-Z])(?<!\b(?:St|Dr|Mr|Ms|Mt|No))(?<!\bMrs)\.(?=\s+[^\sa-z0-9]|\s*$)"
)
SHORT_LINE = 3
"""Most words of a first line that is taken for the answer."""

BEFORE = "*_`\"'“”‘’「」『』《》$:;,.!?。，、；：！？"
AFTER = BEFORE.replace("$", "")


def own_short_answer(text: str) -> Parsed:
    r"""Find the short answer that a response states.

    Args:
        text: The model's response; a reasoning block is left out.

    Returns:
        The answer, as written but for the marks around it, the rule that found it (see above) and
        where; `UNPARSED` for a blank response.

    Parity: own definition.

    Example:
        >>> own_short_answer("Adding both, the answer is **42 kg**.")
        Parsed(value='42 kg', how='answer marker', span=(29, 34))
        >>> own_short_answer(r"so \boxed{\frac{1}{2}}").value, own_short_answer("答案：红色。").value
        ('\\frac{1}{2}', '红色')
    """
    response, offset = skip_thinking(text)
    for how, rule in RULES:
        span = rule(response)
        if span is not None and (trimmed := _trim_marks(response, span)) is not None:
            start, end = trimmed
            return Parsed(response[start:end], how, (start + offset, end + offset))
    return UNPARSED


def _trim_marks(response: str, span: Span) -> Span | None:
    """Take the marks off both ends; a dollar sign before a number is money and stays."""
    start, end = span
    while start < end and (response[start] in BEFORE or response[start].isspace()):
        start += 1
    while start < end and (response[end - 1] in AFTER or response[end - 1].isspace()):
        end -= 1
    if start >= end:
        return None
    if response[start].isdigit() and response[start - 1 : start] == "." and start > span[0]:
        start -= 1
    if response[end - 1] == "$" and response[start - 1 : start] == "$":
        end = start + len(response[start : end - 1].rstrip())
    elif response[start - 1 : start] == "$" and start > span[0] and response[start].isdigit():
        start -= 1
    return start, end


def _find_boxed(response: str) -> Span | None:
    return find_last_box(response)


def _find_tagged(response: str) -> Span | None:
    found = [*TAGGED.finditer(response)]
    return found[-1].span(1) if found else None


def _find_marked(response: str) -> Span | None:
    for found in [*MARKER.finditer(response.translate(FULL_WIDTH))][::-1]:
        start = found.end() + len(response[found.end() :]) - len(response[found.end() :].lstrip())
        end = SENTENCE_END.search(response, start)
        span = (start, end.start() if end else len(response))
        if _trim_marks(response, span):
            return span
    return None


def _find_bold(response: str) -> Span | None:
    found = [*BOLD.finditer(response)]
    return found[0].span(1) if len(found) == 1 else None


def _take_whole(response: str) -> Span | None:
    return (0, len(response)) if "\n" not in response.strip() else None


def _take_first_line(response: str) -> Span | None:
    start = len(response) - len(response.lstrip())
    end = response.find("\n", start)
    words, last = len(response[start:end].split()), len(response.rstrip().rpartition("\n")[2].split())
    return (
        (start, end)
        if words <= SHORT_LINE and words < last and not response[:end].rstrip().endswith((":", "："))
        else None
    )


def _take_last_line(response: str) -> Span | None:
    end = len(response.rstrip())
    return (response.rfind("\n", 0, end) + 1, end)


RULES: tuple[tuple[str, Callable[[str], Span | None]], ...] = (
    ("boxed", _find_boxed),
    ("answer tag", _find_tagged),
    ("answer marker", _find_marked),
    ("bold", _find_bold),
    ("whole response", _take_whole),
    ("first line", _take_first_line),
    ("last line", _take_last_line),
)

PARSER = own_short_answer
