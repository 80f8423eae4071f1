"""Questions that were asked several times: how far the replies to one question differ."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

import msgspec
import pyarrow as pa

from mmconvert.core.record import LETTERS
from mmscore.core.table import EXCLUDED, SCORED
from mmscore.reporting.html.verdicts import Verdicts, beside
from mmscore.scoring.repeats import COLUMNS, number_questions
from mmscore.scoring.scored_file import Result


class Repeats(msgspec.Struct, frozen=True):
    """The questions of a file that have several replies.

    Attributes:
        questions: How many there are.
        replies: How many replies they have together.
        alike: Questions whose replies all say the same.
        entropy: Mean over questions of the entropy of what is said, natural logarithm: 0 where all agree.
        right: (replies, right ones among them, questions of which that holds), sorted.
        unstable: Ids of the rows of questions whose replies differ.
    """

    questions: int
    replies: int
    alike: int
    entropy: float
    right: tuple[tuple[int, int, int], ...]
    unstable: frozenset[str]


def repeats(result: Result, verdicts: Verdicts) -> Repeats | None:
    """Hold the replies to each question against each other: duplicates, rotations, several replies alike.

    Replies say the same when the text of the option is the same, so that options may stand in another order in
    each copy. A reply that nothing was read from says nothing, which is an answer of its own.

    Returns:
        What was found; None where no question has several replies.

    Reference: the entropy is that of ReForm-Eval's instability (`mmscore.metrics.reform_instability`).
    """
    scored = result.scored
    if len(scored) == 0:
        return None
    columns = beside(result, COLUMNS)
    # What is no text is cast, so that columns can be joined.
    numbers = number_questions(pa.table({name: columns[name].cast(pa.string()) for name in columns.column_names}))
    if numbers is None:
        return None
    asked = defaultdict[int, list[int]](list)
    for row, (question, status) in enumerate(zip(numbers.tolist(), scored.column("status"), strict=True)):
        if status in (SCORED, EXCLUDED):
            asked[question].append(row)
    several = [rows for rows in asked.values() if len(rows) > 1]
    if not several:
        return None
    values, options = scored.column("value"), beside(result, ["options"])["options"].to_pylist()
    said = [_option_text(value, listed or ()) for value, listed in zip(values, options, strict=True)]
    ids = scored.column("id")
    answers = [Counter(said[row] for row in rows) for rows in several]
    right = Counter((len(rows), sum(map(verdicts.is_right, rows))) for rows in several)
    differing = [rows for rows, facts in zip(several, answers, strict=True) if len(facts) > 1]
    return Repeats(
        questions=len(several),
        replies=sum(map(len, several)),
        alike=len(several) - len(differing),
        entropy=math.fsum(map(_entropy, answers)) / len(several),
        right=tuple((*key, count) for key, count in sorted(right.items())),
        unstable=frozenset(ids[row] for rows in differing for row in rows if ids[row] is not None),
    )


def _option_text(value: str | None, options: Sequence[str | None]) -> str | None:
    """Give the text of the option that a letter stands for, any other value as it is.

    Example:
        >>> _option_text("B", ["red", "green"]), _option_text("red", []), _option_text(None, ["red"])
        ('green', 'red', None)
    """
    place = LETTERS.find(value) if value else -1
    return (options[place] if 0 <= place < len(options) else None) or value


def _entropy(counts: Counter[str | None]) -> float:
    total = counts.total()
    return math.fsum(-n / total * math.log(n / total) for n in counts.values() if n < total)
