"""What a dataset is like as a whole: images a sample, their sizes, turns, lengths, and how answers are balanced."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mmconvert.core.record import LETTERS, Record
from mmconvert.viewer.thumbnails import format_bytes

_MAX_LINES = 12
"""Values of one statistic that a page shows; the rarest beyond that share a line."""
_WHERE_SEVERAL = ("Image formats", "Turns per sample", "Tasks")
"""Statistics that say nothing where all samples are alike."""
_MAX_ANSWER = 24
"""Characters of an answer that counts as a label; longer ones are free text."""
_SIDES = (224, 336, 448, 672, 1024, 2048)
"""Bounds of the longer side of images, in pixels."""


@dataclass(slots=True)
class Statistics:
    """Counts over the records of a page; `add` each of them."""

    images: Counter[int] = field(default_factory=Counter)
    sides: Counter[int] = field(default_factory=Counter)
    formats: Counter[str] = field(default_factory=Counter)
    turns: Counter[int] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    tasks: Counter[str] = field(default_factory=Counter)
    bytes: int = 0

    def add(self, record: Record) -> None:
        """Count a record."""
        self.images[len(record.images)] += 1
        self.turns[len(record.messages)] += 1
        self.tasks[record.task] += 1
        for image in record.images:
            if image.bytes is not None and image.width and image.height:
                side = max(image.width, image.height)
                self.sides[next((n for n, bound in enumerate(_SIDES) if side <= bound), len(_SIDES))] += 1
                self.formats[image.format or "unknown"] += 1
                self.bytes += len(image.bytes)
        if record.answer is not None:
            self.answers[record.answer if len(record.answer) <= _MAX_ANSWER else "free text"] += 1

    def to_json(self) -> list[dict[str, Any]]:
        """Give what the page draws: a title and lines of label and count each."""
        total = f" ({format_bytes(self.bytes)} together)" if self.bytes else ""
        found = [
            ("Images per sample", ((f"{n:,}", count) for n, count in sorted(self.images.items()))),
            (f"Longer side of images, pixels{total}", _name_sides(self.sides)),
            ("Image formats", self.formats.most_common()),
            ("Turns per sample", ((f"{n:,}", count) for n, count in sorted(self.turns.items()))),
            ("Answers", _sort_answers(self.answers)),
            ("Tasks", self.tasks.most_common()),
        ]
        made = [{"title": title, "lines": _shorten(lines)} for title, lines in found]
        return [one for one in made if len(one["lines"]) > (one["title"] in _WHERE_SEVERAL)]


def _name_sides(sides: Mapping[int, int]) -> Iterable[tuple[str, int]]:
    for n, count in sorted(sides.items()):
        low = _SIDES[n - 1] + 1 if n else 1
        yield (f"{low:,} to {_SIDES[n]:,}" if n < len(_SIDES) else f"over {_SIDES[-1]:,}"), count


def _sort_answers(answers: Counter[str]) -> list[tuple[str, int]]:
    """Put letters in their order, other answers by how often they are given."""
    if all(set(answer) <= set(LETTERS) for answer in answers):
        return sorted(answers.items())
    return answers.most_common()


def _shorten(lines: Iterable[tuple[str, int]]) -> list[list[Any]]:
    listed = [[label, count] for label, count in lines]
    if len(listed) <= _MAX_LINES:
        return listed
    rest = listed[_MAX_LINES - 1 :]
    return [*listed[: _MAX_LINES - 1], [f"{len(rest):,} others", sum(count for _, count in rest)]]
