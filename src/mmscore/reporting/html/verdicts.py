"""What became of each row, in one word."""

import math
from collections.abc import Sequence

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mmscore.core.parsed import UNPARSED
from mmscore.core.predictions.load import find_column_type
from mmscore.core.table import SCORED, Floats
from mmscore.scoring.scored_file import Result

RIGHT, PARTLY, WRONG, UNREAD, OPEN = "correct", "partly correct", "wrong", "unparsed", "no score"
"""Words for scored rows; the others are called by their status. A reply that was not read and has no credit is
`unparsed`; a row that only counts together with others, such as a rotation, may have no score of its own."""

_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_YES_NO = frozenset(("yes", "no"))


class Verdicts(msgspec.Struct, frozen=True):
    """The rows of one result, in order.

    Attributes:
        score: Name of the score that is shown for a row; None where no row has one.
        values: That score; NaN where the row has none.
        words: What became of the row.
        kind: `yes_no` or `letters` where all references are such, else "".
        references: The reference in the alphabet of the kind, None for none; [] without a kind.
        readings: What was read, likewise.
    """

    score: str | None
    values: Floats
    words: Sequence[str]
    kind: str = ""
    references: Sequence[str | None] = ()
    readings: Sequence[str | None] = ()

    def is_right(self, row: int) -> bool:
        """Tell whether a row is right taken alone: its reading is its reference, else its own score says so."""
        if self.kind and self.references[row] is not None and self.readings[row] is not None:
            return self.readings[row] == self.references[row]
        return self.words[row] == RIGHT


def beside(result: Result, names: Sequence[str]) -> pa.Table:
    """Read columns of the file, one row for each scored row, in that order.

    Args:
        result: One file under one recipe.
        names: Columns of the schema; one that the file lacks is null.

    Returns:
        The columns; null for rows that could not be read or that nothing was predicted for.
    """
    having = [name for name in names if name in result.rows.names]
    table = pa.Table.from_batches(result.rows.read(["id", *having]))
    place = pc.index_in(result.scored.rows["id"], value_set=table["id"].combine_chunks(), skip_nulls=True)
    found = table.take(place.combine_chunks())
    nulls = {name: pa.nulls(len(found), find_column_type(name)) for name in names if name not in having}
    return pa.table({name: nulls[name] if name in nulls else found[name] for name in names})


def verdicts_of(result: Result) -> Verdicts:
    """Tell what became of each row.

    The first score of a recipe decides: full credit is right, none is wrong, the other way round where less is
    better. A row without a score of its own is right when what was read is its reference.
    """
    scored = result.scored
    score = next(iter(scored.scores), None)
    values = scored.scores[score] if score else np.full(len(scored), math.nan)
    answers = beside(result, ["answer"])["answer"].to_pylist()
    kind = _kind(answers)
    references = [_word(answer, kind) for answer in answers] if kind else []
    readings = [_word(value, kind) for value in scored.column("value")] if kind else []
    metric = result.entry.metrics.get(score or "")
    more_is_better = metric is None or metric.higher_is_better is not False
    columns = zip(
        scored.column("status"), scored.column("how"), (values if more_is_better else 1 - values).tolist(), strict=True
    )
    words = [status if status != SCORED else _of_score(how, value) for status, how, value in columns]
    if kind:
        for n, (word, reference, reading) in enumerate(zip(words, references, readings, strict=True)):
            if word == OPEN and reference is not None:
                words[n] = UNREAD if reading is None else RIGHT if reading == reference else WRONG
    return Verdicts(score, values, words, kind, references, readings)


def _of_score(how: str | None, value: float) -> str:
    if math.isnan(value):
        return OPEN
    if value > 0:
        return RIGHT if value >= 1 else PARTLY
    return UNREAD if how == UNPARSED.how else WRONG


def _kind(answers: Sequence[str | None]) -> str:
    """Tell whether references are yes and no, or letters of options.

    Example:
        >>> _kind(["A", None, "BD"]), _kind(["Yes", "no"]), _kind(["cat"]), _kind([None])
        ('letters', 'yes_no', '', '')
    """
    facts = {answer for answer in answers if answer is not None}
    if not facts:
        return ""
    if all(answer.lower() in _YES_NO for answer in facts):
        return "yes_no"
    return "letters" if all(answer and _LETTERS.issuperset(answer) for answer in facts) else ""


def _word(text: str | None, kind: str) -> str | None:
    return text.lower() if text is not None and kind == "yes_no" else text
