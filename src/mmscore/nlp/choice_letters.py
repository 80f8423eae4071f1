"""The stages by which the MMMU family of parsers looks for a choice letter.

MMMU, MMMU-Pro and lmms-eval share them and differ in the order and in one blank; each parser's
own file says which stages it walks.
"""

from collections.abc import Callable, Mapping, Sequence

from mmscore.core.parsed import UNPARSED, Parsed

EDGE_MARKS = (",", ".", "!", "?", ";", ":", "'")
"""Marks stripped from both ends of a response, one after the other, each once."""


def pad(response: str, marks: Sequence[str] = EDGE_MARKS) -> tuple[str, int]:
    """Strip marks from both ends of a response and put one blank around it.

    Args:
        response: The model's response.
        marks: Single characters, stripped in this order; white space is not stripped.

    Returns:
        The padded text, and what to add to a position in it to get the position in `response`.

    Example:
        >>> pad("'B'.")
        (' B ', 0)
        >>> pad("B' .")[0]
        " B'  "
    """
    start, end = 0, len(response)
    for mark in marks:
        while start < end and response[start] == mark:
            start += 1
        while end > start and response[end - 1] == mark:
            end -= 1
    return f" {response[start:end]} ", start - 1


def find_last_marked(padded: str, letters: Sequence[str], shape: str, how: str, *, rank: str | None = None) -> Parsed:
    """Take the letter whose marked form stands last.

    Args:
        padded: Text from `pad`.
        letters: Choice letters; the first wins a tie.
        shape: Marked form with `{}` for the letter, such as `({})`.
        how: Name of the stage.
        rank: Form whose last position decides between several letters, where it is not `shape`;
            a letter that never stands in this form ranks first from the left.

    Returns:
        The letter with its span in `padded`, or `UNPARSED` when no letter stands in this form.

    Example:
        >>> find_last_marked(" (A) or (B) ", ["A", "B"], "({})", "bracketed letter")
        Parsed(value='B', how='bracketed letter', span=(9, 10))
    """
    found = [letter for letter in letters if shape.format(letter) in padded]
    if not found:
        return UNPARSED
    order = rank or shape
    letter = found[0] if len(found) == 1 else max(found, key=lambda x: padded.rfind(order.format(x)))
    start = padded.rfind(shape.format(letter)) + shape.index("{}")
    return Parsed(letter, how, (start, start + len(letter)))


def find_last_option_text(padded: str, texts: Mapping[str, str]) -> Parsed:
    """Take the option whose text stands last in a response of more than five words, case ignored.

    An empty option text stands at the very end of every response.

    Args:
        padded: Text from `pad`.
        texts: Option texts by letter; the first wins a tie.

    Returns:
        The letter with its span in `padded` (None where lower-casing changes the length), or
        `UNPARSED`.

    Example:
        >>> find_last_option_text(" not a cat but rather a dog ", {"A": "cat", "B": "dog"}).value
        'B'
    """
    if len(padded.split()) <= 5:
        return UNPARSED
    lowered = padded.lower()
    found = {letter: lowered.rfind(text.lower()) for letter, text in texts.items()}
    letter = max(found, key=lambda x: found[x], default=None)
    if letter is None or found[letter] < 0:
        return UNPARSED
    end = found[letter] + len(texts[letter].lower())
    return Parsed(letter, "option text", (found[letter], end) if len(lowered) == len(padded) else None)


def shift_span(parsed: Parsed, by: int, length: int) -> Parsed:
    """Move the span of a result from the padded text to the response.

    Args:
        parsed: Result of a stage.
        by: Second value of `pad`.
        length: Length of the response; spans are kept inside it.

    Returns:
        The same result with its span in the response.

    Example:
        >>> shift_span(Parsed("B", "letter", (2, 3)), -1, 9).span
        (1, 2)
    """
    if parsed.span is None:
        return parsed
    start, end = (min(max(position + by, 0), length) for position in parsed.span)
    return Parsed(parsed.value, parsed.how, (start, end))


Stage = Callable[[str], Parsed]


def run_stages(response: str, stages: Sequence[Stage]) -> Parsed:
    """Walk stages over a response until one finds a letter.

    Args:
        response: The model's response.
        stages: Functions from the padded response to a result, tried in order.

    Returns:
        The first result with a value, its span in the response; else `UNPARSED`.
    """
    padded, by = pad(response)
    for stage in stages:
        parsed = stage(padded)
        if parsed.value is not None:
            return shift_span(parsed, by, len(response))
    return UNPARSED


def find_marked_choice(response: str, letters: Sequence[str], texts: Mapping[str, str]) -> Parsed:
    """Find `(B)`, then `B `, then `B.`, then an option's text, as MMMU-Pro and lmms-eval do.

    Args:
        response: The model's response.
        letters: Choice letters in option order.
        texts: Option texts by letter.
    """
    return run_stages(
        response,
        (
            lambda padded: find_last_marked(padded, letters, "({})", "bracketed letter"),
            lambda padded: find_last_marked(padded, letters, "{} ", "letter and blank", rank=" {} "),
            lambda padded: find_last_marked(padded, letters, "{}.", "letter and dot", rank=" {} "),
            lambda padded: find_last_option_text(padded, texts),
        ),
    )
