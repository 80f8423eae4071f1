"""Where a response states its final answer: after its reasoning, in a box, behind "the answer is", in a JSON object."""

import re
from collections.abc import Iterator

THINKING_OPEN, THINKING_CLOSE = "<think>", "</think>"

FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
"""Full-width letters, digits and marks to ASCII, for `str.translate`; lengths stay."""

BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
BOXES_TRIED = 3
"""How many boxes are tried from the last one on, so that a response full of unclosed ones stays cheap."""

BEGINNINGS = "(?=[<aocri答选结])"
"""What a marker begins with; to try all of them at each letter of a text would take twice as long."""

MARKER = re.compile(
    BEGINNINGS
    + r"""(?:
    <answer>
    | \b(?:answer|option|choice|result)
      (?: [\s*_`"']*+ (?:(?:is|are|was|(?:would|should|must|will)\s+be)\b:? | [:=] | -+>) | [*_`"']*+ [^\S\n]*+ \n )
    | \bI(?:'d|'ll|\s+would|\s+will)?\s+(?:choose|select|pick|go\s+with|opt\s+for)\b
    | (?:答案|选项|结果)[^\S\n]*+ (?:应该|应当|应|就)?[^\S\n]*+ (?:是|为|选|[:=]):?
    | (?<![不别未非没])选择?(?!项)[^\S\n]*+ (?:的是|[:])?
    )""",
    re.VERBOSE | re.IGNORECASE,
)
"""What stands before a final answer, in a text whose full-width marks were made ASCII."""


def skip_thinking(text: str) -> tuple[str, int]:
    """Leave a reasoning block out.

    Args:
        text: What the model wrote.

    Returns:
        The text after the last `</think>`, and where it starts; an empty text where the response ended
        inside the block that it began with.

    Example:
        >>> skip_thinking("<think>A or B?</think>B")
        ('B', 22)
        >>> skip_thinking("<think>A or")
        ('', 11)
    """
    end = text.rfind(THINKING_CLOSE)
    if end >= 0:
        return text[end + len(THINKING_CLOSE) :], end + len(THINKING_CLOSE)
    if text.lstrip().startswith(THINKING_OPEN):
        return "", len(text)
    return text, 0


def find_last_box(text: str) -> tuple[int, int] | None:
    r"""Find the content of the last closed LaTeX box.

    Args:
        text: A response.

    Returns:
        Start and end of what stands inside the braces, or None.

    Example:
        >>> text = r"so \boxed{\text{B}}."
        >>> start, end = find_last_box(text)
        >>> text[start:end]
        '\\text{B}'
    """
    for found in [*BOX.finditer(text)][: -BOXES_TRIED - 1 : -1]:
        depth = 1
        for position in range(found.end(), len(text)):
            depth += (text[position] == "{") - (text[position] == "}")
            if not depth:
                return found.end(), position
    return None


def list_answer_positions(text: str) -> Iterator[int]:
    """List where a final answer may begin, the last place first.

    Args:
        text: A response, its full-width marks made ASCII.

    Returns:
        Positions right after "the answer is", "Answer:", "答案是", "选" and the like.

    Example:
        >>> text = "Answer: A? No, the answer is B"
        >>> [text[place:].strip() for place in list_answer_positions(text)]
        ['B', 'A? No, the answer is B']
    """
    yield from (found.end() for found in [*MARKER.finditer(text)][::-1])


def json_objects(text: str) -> Iterator[str]:
    r"""Find the objects in braces that stand in no other and in no string.

    A quotation mark opens a string outside of objects too.

    Example:
        >>> list(json_objects('x {"a": {"b": "}"}} [{}] "{}" {'))
        ['{"a": {"b": "}"}}', '{}']
    """
    depth, start, quoted, escaped = 0, 0, False, False
    for place, mark in enumerate(text):
        if quoted:
            quoted = escaped or mark != '"'
            escaped = not escaped and mark == "\\"
        elif mark == '"':
            quoted = True
        elif mark == "{":
            start = start if depth else place
            depth += 1
        elif mark == "}" and depth:
            depth -= 1
            if not depth:
                yield text[start : place + 1]
