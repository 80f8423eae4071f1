"""Reference against reading: which answers a model gives in place of which."""

from collections import Counter

import msgspec

from mmscore.core.table import EXCLUDED, SCORED, Scored
from mmscore.reporting.html.verdicts import Verdicts

NOTHING = "unparsed"
OTHERS = "others"
MOST = 12
"""Answers with a line of their own; the rarest beyond that share one."""


class Confusion(msgspec.Struct, frozen=True):
    """How often each answer was read where each reference stands.

    Attributes:
        kind: `yes_no` or `letters`.
        references: Heads of the lines.
        readings: Heads of the columns; the last may be `NOTHING`.
        counts: A line a reference, a number a reading.
    """

    kind: str
    references: tuple[str, ...]
    readings: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


def confusion(scored: Scored, verdicts: Verdicts) -> Confusion | None:
    """Count references against readings, over the rows whose reply was read or looked at.

    Returns:
        The counts; None where references are neither letters nor yes and no, or nothing was answered.
    """
    if not verdicts.kind:
        return None
    pairs = Counter(
        (reference, NOTHING if reading is None else reading)
        for status, reference, reading in zip(
            scored.column("status"), verdicts.references, verdicts.readings, strict=True
        )
        if reference is not None and status in (SCORED, EXCLUDED)
    )
    if not pairs:
        return None
    known = {reference for reference, _ in pairs} | {reading for _, reading in pairs} - {NOTHING}
    frequent = Counter[str]()
    for (reference, reading), count in pairs.items():
        frequent[reference] += count
        frequent[reading] += count
    kept = set(sorted(known, key=lambda word: (-frequent[word], word))[:MOST])
    counts = Counter[tuple[str, str]]()
    for (reference, reading), count in pairs.items():
        named = reading if reading in kept or reading == NOTHING else OTHERS
        counts[reference if reference in kept else OTHERS, named] += count
    references = _sorted({reference for reference, _ in counts}, verdicts.kind)
    readings = _sorted({reading for _, reading in counts} | set(references) - {OTHERS}, verdicts.kind)
    lines = tuple(tuple(counts[reference, reading] for reading in readings) for reference in references)
    return Confusion(verdicts.kind, references, readings, lines)


def _sorted(words: set[str], kind: str) -> tuple[str, ...]:
    """Put yes before no, letters in their order, and what is no answer last."""
    last = [word for word in (OTHERS, NOTHING) if word in words]
    return (*sorted(words - {OTHERS, NOTHING}, reverse=kind == "yes_no"), *last)
