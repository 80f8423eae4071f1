"""Items as the lines of JSON that the page's script reads, cut where a text is huge."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mmconvert.viewer.items import PageItem, Plain, Shown, Text, TextSpan

MAX_TEXT = 10_000
"""Characters of one text that a page holds; the middle of a longer one is left out, and how much is said."""
MAX_CELL = 300
MAX_SEARCH = 2_000
_AROUND = 200

# `<` could end the script that holds the data; the others are no text a UTF-8 file can or should hold as they are.
_UNSAFE = re.compile("[<\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def encode_script_json(value: Any) -> str:
    r"""Write a value as JSON in one line that may stand in a script element, whatever texts it holds.

    Example:
        >>> print(encode_script_json({"a": "</script>\n"}))
        {"a":"\u003c/script>\n"}
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def build_row(item: PageItem, columns: Sequence[str], marks: Mapping[str, int], thumbnail: int | None) -> list[Any]:
    """Give what the table needs of an item: id, cells in the order of the columns, marks, thumbnail, search text.

    Raises:
        KeyError: It carries a mark that the page does not have.
    """
    return [
        item.id,
        [_build_cell(item.cells.get(name)) for name in columns],
        [marks[mark] for mark in item.marks],
        thumbnail,
        (item.search or _join_texts(item))[:MAX_SEARCH].lower(),
    ]


def build_details(item: PageItem, images: Sequence[int | None]) -> list[Any]:
    """Give what an open item shows: messages, images, fields, facts, other images.

    Args:
        item: The item.
        images: Number of the thumbnail of each of its images, None where it has none.
    """
    return [
        # An image is a number, a text is anything else.
        [
            [one.role, [part if isinstance(part, int) else _build_text(part) for part in one.parts]]
            for one in item.messages
        ],
        [[n, one.facts, one.name[:MAX_CELL], one.note, one.slot] for one, n in zip(item.images, images, strict=True)],
        [[label, [_build_text(shown) for shown in _list_texts(value)]] for label, value in item.fields.items()],
        [[label, value[:MAX_CELL]] for label, value in item.facts.items()],
        list(item.others),
    ]


def _build_cell(value: Plain) -> Plain:
    return f"{value[:MAX_CELL]}…" if isinstance(value, str) and len(value) > MAX_CELL else value


def _list_texts(value: Shown | Sequence[Shown]) -> Sequence[Shown]:
    return [value] if isinstance(value, str | Text) else value


def _join_texts(item: PageItem) -> str:
    parts: list[str] = [item.id, *(str(value) for value in item.cells.values() if value is not None)]
    shown = [part for message in item.messages for part in message.parts if not isinstance(part, int)]
    shown += [one for value in item.fields.values() for one in _list_texts(value)]
    parts += [one if isinstance(one, str) else one.text for one in shown]
    # Cut before joining: a text may be far larger than what is searched.
    return "\n".join(part[:MAX_SEARCH] for part in parts)


def _build_text(shown: Shown) -> str | dict[str, Any]:
    """Give a plain text as it is, any other as its pieces with name and tone."""
    if isinstance(shown, str):
        if len(shown) <= MAX_TEXT:
            return shown
        shown = Text(shown)
    is_whole = not shown.spans and 0 < len(shown.text) <= MAX_TEXT
    pieces = [shown.text] if is_whole else list(_split_pieces(shown.text, shown.spans))
    text = {"pieces": pieces, "name": shown.name, "tone": shown.tone}
    return {key: value for key, value in text.items() if value}


def _split_pieces(text: str, spans: Sequence[TextSpan]) -> Iterator[Any]:
    """Cut a text into plain pieces, marked ones ([text, label, image]) and numbers of characters left out."""
    at = 0
    for start, end in _list_shown_ranges(len(text), spans):
        if start > at:
            yield start - at
        at = start
        for span in spans:
            if not start <= span.start < end:
                continue
            if span.start > at:
                yield text[at : span.start]
            yield [text[span.start : span.end][:MAX_TEXT], span.label, span.image]
            at = max(span.end, at)
        if at < end:
            yield text[at:end]
            at = end
    if at < len(text):
        yield len(text) - at


def _list_shown_ranges(length: int, spans: Sequence[TextSpan]) -> Iterator[tuple[int, int]]:
    """Say which pieces of a text are shown: all of it, or both ends and what surrounds the marks."""
    if length <= MAX_TEXT:
        yield 0, length
        return
    half = MAX_TEXT // 2
    around = [(max(0, span.start - _AROUND), min(length, span.end + _AROUND)) for span in spans]
    start, end = 0, half
    for first, last in sorted([*around, (length - half, length)]):
        if first > end:
            yield start, end
            start = first
        end = max(end, last)
    yield start, end
