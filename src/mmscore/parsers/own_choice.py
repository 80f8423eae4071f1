"""Read a choice letter by our own rules: the strongest statement of the response wins, nothing is guessed.

The rules in order; each looks only where the ones before found nothing:

    boxed                the last LaTeX box holds a letter or an option's text
    bare letter          the whole response, or its last line, is a letter with marks around it
    whole option text    the whole response is one option's text
    answer marker        behind the last "the answer is", "Answer:", "答案是", "选" stands a letter or an option's text
    not but              "not B but C", "不是B而是C"
    bold                 all bold pieces that start with a letter agree
    leading letter       the response starts like a list item ("B. ...") and no line with another letter does
    bracketed letter     a single letter stands in brackets
    lone letter          a single capital stands alone, not as article, pronoun or part of an option's text
    option text          a single option's text is contained

A refusal, or several answers of equal rank, is no answer. Where several options may be chosen, the
letters that one rule finds are taken together, unless they are all there are.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from string import ascii_uppercase

import msgspec

from mmscore.core.parsed import UNPARSED, Parsed
from mmscore.nlp.final_answer import FULL_WIDTH, find_last_box, list_answer_positions, skip_thinking

Span = tuple[int, int]
Texts = dict[str, str]

DECORATION = r"(?:[\s*_`\"'“”‘’「『《\[({<$]|\\(?:text|textbf|textit|mathrm|mathbf)\s*\{|\\\()*+"
CLOSING = r"(?:[\s*_`\"'“”‘’」』》\])}>$.,;:!。、]|\\\))*+"
FILLER = (
    r"(?:\s*+(?:(?i:most|probably|likely|definitely|clearly|therefore|option|choice|letter|answer|the|that)\b"
    r"|选项|应该|就是))*+"
)
JOINER = r"[\s*_)\]}]*+(?:,|/|&|、|(?i:\band\b|\bor\b)|和|或|及|与)"
ALONE_BEFORE = r"(?<![A-Za-z0-9_'’\\])"
ALONE_AFTER = r"(?![A-Za-z0-9_'’+#]|-[A-Za-z])"
SMALL_AFTER = r"(?=[)\]}*$]|[.,;!]?[^\S\n]*(?:\n|$))"
LEAD = re.compile(rf"{FILLER}{DECORATION}((?:(?:an?|the)\s+)?){DECORATION}", re.IGNORECASE)
NEGATION = re.compile(
    r"(?:\b(?:not|isn't|neither|nor|than|instead of)\s*(?:an?|the|option)?|不是|并非|而非|不选|排除)[\s(*\"'“]*$",
    re.IGNORECASE,
)
REFUSAL = re.compile(
    r"\bI(?:'m| am) (?:sorry|unable)\b"
    r"|\b(?:cannot|can't|unable to) (?:determine|answer|see|view|tell|identify|assist|help)\b"
    r"|无法(?:确定|回答|判断|看到|识别)|不能(?:确定|回答|判断)|抱歉",
    re.IGNORECASE,
)
ENDING = re.compile(CLOSING)
BOLD = re.compile(r"\*\*([^*\n]+)\*\*|__([^_\n]+)__")
LATEX_TEXT = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\s*\{([^{}]*)\}")
EDGES = " \t\r\n.,;:!?\"'`*_()[]{}<>$。、“”‘’「」《》"

# After these words a capital A or I is a letter, else it is an article or a pronoun.
AFTER_LETTER = re.compile(
    r"\s+(?:because|since|as|is|was|would|seems|appears|and|or|but|matches|describes|shows|for|due|given)\b"
)
SMALL_WORD = re.compile(r"\s+[a-z]")
CONTEXT = 24
"""How many characters before a letter are searched for a negation."""


class Patterns(msgspec.Struct, frozen=True):
    """Patterns that depend on which letters a question has.

    Attributes:
        letters: The letters.
        multiple: Whether several of them may be chosen.
        head: A letter with marks before it, where an answer is expected.
        more: Another letter joined to one ("A and B", "A, B").
        bare: A letter with nothing but marks around it.
        alone: A capital that is no part of a word.
        item: A capital that starts a line as a list item does.
        bracketed: A capital in brackets.
        not_but: A capital put in place of another one.
    """

    letters: str
    multiple: bool
    head: re.Pattern[str]
    more: re.Pattern[str]
    bare: re.Pattern[str]
    alone: re.Pattern[str]
    item: re.Pattern[str]
    bracketed: re.Pattern[str]
    not_but: re.Pattern[str]


def own_choice(text: str, options: Sequence[str | None], *, multiple: bool = False) -> Parsed:
    """Find the option, or the options, that a response settles on.

    Args:
        text: The model's response; a reasoning block is left out.
        options: options[i] belongs to letter i; None where the question has no such letter.
        multiple: Whether several options may be chosen.

    Returns:
        The letter (several sorted, "AC"), the rule that found it (see above) and where; `UNPARSED`
        for none, several where one is wanted, or a refusal. Nothing is ever drawn at random.

    Parity: own definition.

    Example:
        >>> own_choice("I first thought A. The answer is **(B)**.", ["cat", "dog"])
        Parsed(value='B', how='answer marker', span=(36, 37))
        >>> own_choice("答案是狗。", ["猫", "狗"]).value, own_choice("A or B", ["cat", "dog"]).value
        ('B', None)
        >>> own_choice("Answer: A and C", ["cat", "dog", "fox"], multiple=True).value
        'AC'
    """
    response, offset = skip_thinking(text)
    response = response.translate(FULL_WIDTH)
    texts = {x: t.translate(FULL_WIDTH) for x, t in zip(ascii_uppercase, options, strict=False) if t is not None}
    if not texts:
        return UNPARSED
    patterns = _build_patterns("".join(texts), multiple)
    for rule in RULES:
        parsed = rule(response, texts, patterns)
        if parsed is not None:
            return _shift_span(parsed, offset)
    return UNPARSED


@lru_cache(maxsize=64)
def _build_patterns(letters: str, multiple: bool) -> Patterns:
    capital, any_case = f"[{letters}]", f"[{letters}{letters.lower()}]"
    # Several letters may stand together ("AC"), each once and in order, so that BAD stays a word.
    together = rf"(?={capital}){''.join(f'{letter}?' for letter in letters)}" if multiple else capital
    one = f"(?:({together}){ALONE_AFTER}|({any_case}){SMALL_AFTER})"
    return Patterns(
        letters=letters,
        multiple=multiple,
        head=re.compile(f"{FILLER}{DECORATION}{FILLER}{DECORATION}{one}"),
        more=re.compile(f"{JOINER}{FILLER}{DECORATION}{one}"),
        bare=re.compile(f"{DECORATION}({any_case}){CLOSING}"),
        alone=re.compile(f"{ALONE_BEFORE}({capital}){ALONE_AFTER}"),
        item=re.compile(rf"(?m)^[ \t*_>#-]*+[(\[]?({capital})(?:[*_]*[.):\]、][*_]*(?=\s|$|[^\x00-\x7f])|[ \t]*$)"),
        bracketed=re.compile(rf"[(\[]\s*({capital})\s*[)\]]"),
        not_but=re.compile(
            rf"(?:(?i:\bnot\b)|不是){FILLER}{DECORATION}{capital}{ALONE_AFTER}[^\n]{{0,60}}?(?:\bbut\b(?:\s+rather)?|而是)"
            rf"{FILLER}{DECORATION}({capital}){ALONE_AFTER}"
        ),
    )


def _shift_span(parsed: Parsed, by: int) -> Parsed:
    if parsed.span is None or not by:
        return parsed
    return Parsed(parsed.value, parsed.how, (parsed.span[0] + by, parsed.span[1] + by))


def _build_parsed(found: re.Match[str], how: str) -> Parsed:
    group = found.lastindex or 0
    return Parsed(found[group].upper(), how, found.span(group))


def _join_found(found: Sequence[Parsed], patterns: Patterns) -> Parsed | None:
    """Join what one rule found: one letter, or several where several may be chosen; None else."""
    letters = sorted({letter for parsed in found for letter in parsed.value or ""})
    if not letters or (len(letters) > 1 and (not patterns.multiple or len(letters) == len(patterns.letters))):
        return None
    if len(letters) == 1:
        return found[-1]
    spans = [parsed.span for parsed in found if parsed.span is not None]
    return Parsed("".join(letters), found[0].how, (spans[0][0], spans[-1][1]))


def _run(response: str, first: re.Match[str], patterns: Patterns, how: str) -> tuple[Parsed, int]:
    """Read the letters joined to a first one; several where one is wanted are `UNPARSED`."""
    found, end = [_build_parsed(first, how)], first.end()
    while more := patterns.more.match(response, end):
        found.append(_build_parsed(more, how))
        end = more.end()
    several = len(found) > 1 and not patterns.multiple
    spans = [parsed.span or (end, end) for parsed in found]
    letters = "".join(sorted({letter for parsed in found for letter in parsed.value or ""}))
    return UNPARSED if several else Parsed(letters, how, (spans[0][0], spans[-1][1])), end


def _find_boxed(response: str, texts: Texts, patterns: Patterns) -> Parsed | None:
    box = find_last_box(response)
    if box is None:
        return None
    content = response[slice(*box)]
    found = patterns.head.match(content)
    if found:
        return _shift_span(_run(content, found, patterns, "boxed")[0], box[0])
    equal = _find_equal_options(LATEX_TEXT.sub(r"\1", content), texts)
    return Parsed(equal[0], "boxed", box) if len(equal) == 1 else None


def _find_bare_letter(response: str, texts: Texts, patterns: Patterns) -> Parsed | None:
    if found := patterns.bare.fullmatch(response):
        return _build_parsed(found, "bare letter")
    if patterns.multiple and (found := patterns.head.match(response)):
        parsed, end = _run(response, found, patterns, "bare letter")
        if ENDING.fullmatch(response, end):
            return parsed
    start = response.rstrip().rfind("\n") + 1
    found = patterns.bare.fullmatch(response, start) if start else None
    if found is None:
        return None
    others = {other[1].upper() for line in response[:start].split("\n") if (other := patterns.bare.fullmatch(line))}
    return _build_parsed(found, "bare letter") if others <= {found[1].upper()} else None


def _find_whole_option_text(response: str, texts: Texts, patterns: Patterns) -> Parsed | None:
    equal = _find_equal_options(response, texts)
    if len(equal) != 1:
        return None
    return Parsed(equal[0], "whole option text", (len(response) - len(response.lstrip()), len(response.rstrip())))


def _find_equal_options(content: str, texts: Texts) -> list[str]:
    plain = _normalize(content)
    return [letter for letter, text in texts.items() if plain and _normalize(text) == plain]


def _normalize(text: str) -> str:
    return " ".join(text.casefold().strip(EDGES).split())


def _find_marked(response: str, texts: Texts, patterns: Patterns) -> Parsed | None:
    for place in list_answer_positions(response):
        found = patterns.head.match(response, place)
        parsed = UNPARSED if found is None else _run(response, found, patterns, "answer marker")[0]
        if found is not None and len(parsed.value or "") != 1:
            return parsed
        # "The answer is A dog" names the dog, not the letter.
        if found is None or _is_word(response, found.start(found.lastindex or 0)):
            named = _find_text_at(response, place, texts)
            if named is not None:
                return named
        if found is not None:
            return parsed
    return None


def _find_text_at(response: str, place: int, texts: Texts) -> Parsed | None:
    """Look for one option's text right at a place, an article before it allowed; the longest wins."""
    lead = LEAD.match(response, place)
    starts = {lead.start(1), lead.end()} if lead else {place}
    found = [
        (start - end, letter, (start, end))
        for letter, text in texts.items()
        for start, end in _find_positions(text, response[: max(starts) + len(text) + 1], place)
        if start in starts
    ]
    if not found or sum(length == min(found)[0] for length, _, _ in found) > 1:
        return None
    _, letter, span = min(found)
    return Parsed(letter, "answer marker", span)


def _find_not_but(response: str, texts: Texts, patterns: Patterns) -> Parsed | None:
    found = [*patterns.not_but.finditer(response)]
    return _build_parsed(found[-1], "not but") if found else None


def _find_bold(response: str, texts: Texts, patterns: Patterns) -> Parsed | None:
    found = [
        _shift_span(_build_parsed(item, "bold"), piece.start(piece.lastindex or 0))
        for piece in BOLD.finditer(response)
        if (item := patterns.item.match(piece[piece.lastindex or 0]))
    ]
    return _join_found(found, patterns)


def _find_leading_letter(response: str, texts: Texts, patterns: Patterns) -> Parsed | None:
    items = [*patterns.item.finditer(response)]
    if not items or response[: items[0].start()].strip():
        return None
    return _join_found([_build_parsed(found, "leading letter") for found in items], patterns)


def _find_refusal(response: str, texts: Texts, patterns: Patterns) -> Parsed | None:
    found = REFUSAL.search(response)
    if found is None or any(found[0].lower() in text.lower() for text in texts.values()):
        return None
    return UNPARSED


def _find_bracketed_letter(response: str, texts: Texts, patterns: Patterns) -> Parsed | None:
    return _take_only(patterns.bracketed.finditer(response), response, patterns, "bracketed letter")


def _find_lone_letter(response: str, texts: Texts, patterns: Patterns) -> Parsed | None:
    inside = [span for t in texts.values() if patterns.alone.search(t) for span in _find_positions(t, response)]
    letters = (
        found
        for found in patterns.alone.finditer(response)
        if not _is_word(response, found.start()) and not any(start <= found.start() < end for start, end in inside)
    )
    return _take_only(letters, response, patterns, "lone letter")


def _is_word(response: str, position: int) -> bool:
    """Tell the article A and the pronoun I, at a position, from letters of options."""
    if response[position] not in "AI" or not SMALL_WORD.match(response, position + 1):
        return False
    return not AFTER_LETTER.match(response, position + 1)


def _take_only(letters: Iterator[re.Match[str]], response: str, patterns: Patterns, how: str) -> Parsed | None:
    """Take the letter that all matches agree on, those behind a negation left out."""
    kept = [_build_parsed(found, how) for found in letters if not _is_negated(response, found.start())]
    return _join_found(kept, patterns)


def _is_negated(response: str, position: int) -> bool:
    return NEGATION.search(response[max(0, position - CONTEXT) : position]) is not None


def _find_option_text(response: str, texts: Texts, patterns: Patterns) -> Parsed | None:
    """Take the only option whose text is contained; a text inside a longer option's text does not count."""
    longer: list[Span] = []
    named: dict[str, Span] = {}
    for letter, text in sorted(texts.items(), key=lambda item: -len(item[1])):
        spans = _find_positions(text, response)
        for span in spans:
            inside = any(start <= span[0] and span[1] <= end and (start, end) != span for start, end in longer)
            if not inside and not _is_negated(response, span[0]):
                named[letter] = span
        longer += spans
    in_order = sorted(named.items(), key=lambda item: item[1])
    return _join_found([Parsed(letter, "option text", span) for letter, span in in_order], patterns)


def _find_positions(text: str, response: str, start: int = 0) -> list[Span]:
    """Find an option's text in a response as whole words, case ignored."""
    wanted, lowered = _lower_text(text.strip(EDGES)), _lower_text(response)
    found = []
    position = lowered.find(wanted, start) if wanted else -1
    while position >= 0:
        end = position + len(wanted)
        if not (_joins(lowered[position - 1 : position], wanted[0]) or _joins(lowered[end : end + 1], wanted[-1])):
            found.append((position, end))
        position = lowered.find(wanted, end)
    return found


def _joins(neighbour: str, edge: str) -> bool:
    """Tell whether a neighbouring character makes a longer word or number; Chinese is written without blanks."""
    if not (edge.isascii() and edge.isalnum()):
        return False
    return neighbour.isascii() and (neighbour.isalnum() or (edge.isdigit() and neighbour in ("-", "/", "%")))


def _lower_text(text: str) -> str:
    """Lower-case a text without changing its length."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(x.lower() if len(x.lower()) == 1 else x for x in text)


Rule = Callable[[str, Texts, Patterns], Parsed | None]
RULES: tuple[Rule, ...] = (
    _find_boxed,
    _find_bare_letter,
    _find_whole_option_text,
    _find_marked,
    _find_not_but,
    _find_bold,
    _find_leading_letter,
    _find_refusal,
    _find_bracketed_letter,
    _find_lone_letter,
    _find_option_text,
)
"""A rule gives None to leave the response to the next one, and `UNPARSED` to end the search."""

PARSER = own_choice
