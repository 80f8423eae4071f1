"""The rows of all results side by side: which are listed, and what each result made of them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mmconvert.core.arrow import build_column, build_scalar, from_numpy
from mmscore.core.table import EXCLUDED, SCORED
from mmscore.reporting.html.confusion import NOTHING
from mmscore.reporting.html.repeats import Repeats
from mmscore.reporting.html.verdicts import Verdicts
from mmscore.scoring.scored_file import Result

_JUDGED = ("judge_model", "judge_reply", "judge_votes")


class Reading(msgspec.Struct, frozen=True):
    """What one result made of one row.

    Attributes:
        word: What became of it, see `verdicts`.
        status: Its status.
        value: What was read.
        read: The same in the alphabet of the references, `NOTHING` for a reply in which nothing was read.
        reference: The reference in that alphabet, None where it has none.
        how: By which rule.
        span: Where, in characters of the reply.
        scores: Its scores by name; none that it lacks.
        unstable: The replies to its question differ.
        problem: Why it has no score, "" where it has one or nobody says.
        judge: `judge_model`, `judge_reply` and `judge_votes`, where a judge was asked.
    """

    word: str
    status: str
    value: str | None
    read: str | None
    reference: str | None
    how: str | None
    span: tuple[int, int] | None
    scores: Mapping[str, float]
    unstable: bool = False
    problem: str = ""
    judge: Mapping[str, Any] | None = None


class Listing(msgspec.Struct, frozen=True):
    """The rows of a page.

    Attributes:
        total: Rows there are, each once whatever the number of files that have it.
        nameless: Rows without an id, which are not among them.
        keys: Dataset (None where there is one) and id of each listed row.
        numbers: One list a result: where each listed row stands in it, None where it has no such row.
    """

    total: int
    nameless: int
    keys: Sequence[tuple[str | None, str]]
    numbers: Sequence[Sequence[int | None]]

    def ids(self, result: int) -> pa.Array:
        """Give the ids of the listed rows that a result has."""
        pairs = zip(self.keys, self.numbers[result], strict=True)
        return build_column([id for (_, id), number in pairs if number is not None], pa.string())


def listing(results: Sequence[Result], most: int) -> Listing:
    """Choose rows: all of them, or so many, evenly spread over the whole.

    Rows are found by id, in files of one dataset; files that do not say theirs are taken to be of the same.

    Args:
        results: One a file and recipe.
        most: Most rows.
    """
    named = {result.entry.dataset for result in results} - {None}
    several = len(named) > 1
    places = [result.entry.dataset or "" if several else None for result in results]
    ids = [result.scored.rows["id"].combine_chunks() for result in results]
    keys = [
        one if place is None else pc.binary_join_element_wise(build_scalar(place), one, build_scalar("\0"))
        for one, place in zip(ids, places, strict=True)
    ]
    every = pc.unique(pa.chunked_array(keys, pa.string())).drop_null()
    spread = np.linspace(0, len(every) - 1, min(most, len(every))).round().astype(np.int64)
    chosen = every.take(from_numpy(np.unique(spread)))
    numbers = [pc.index_in(chosen, value_set=one, skip_nulls=True).to_pylist() for one in keys]
    # An id may hold the sign that parts it from its dataset, and then holds all that follows.
    facts = [key.partition("\0")[::2] if several else ("", key) for key in chosen.to_pylist()]
    return Listing(
        total=len(every),
        nameless=sum(one.null_count for one in keys),
        keys=[(place or None, id) for place, id in facts],
        numbers=numbers,
    )


def readings_of(
    result: Result, verdicts: Verdicts, repeated: Repeats | None, numbers: Sequence[int | None]
) -> list[Reading | None]:
    """Say what a result made of the listed rows; None for a row that it does not have.

    Args:
        result: One file under one recipe.
        verdicts: What became of its rows.
        repeated: What its questions with several replies are like.
        numbers: Where each listed row stands in it.
    """
    scored = result.scored
    names = ["id", "status", "value", "how", "start", "end", *(n for n in _JUDGED if n in scored.rows.column_names)]
    taken = scored.rows.select(names).take(build_column(numbers, pa.int64())).to_pylist()
    problems = {refusal.id: refusal.message for refusal in result.refusals}
    unstable = repeated.unstable if repeated else frozenset[str]()
    readings: list[Reading | None] = []
    for number, row in zip(numbers, taken, strict=True):
        if number is None:
            readings.append(None)
            continue
        read = verdicts.readings[number] if verdicts.kind else row["value"]
        scores = {name: float(values[number]) for name, values in scored.scores.items()}
        readings.append(
            Reading(
                word=verdicts.words[number].replace("_", " "),
                status=row["status"],
                value=row["value"],
                read=NOTHING if read is None and row["status"] in (SCORED, EXCLUDED) else read,
                reference=verdicts.references[number] if verdicts.kind else None,
                how=row["how"],
                span=None if row["start"] is None else (row["start"], row["end"]),
                scores={name: value for name, value in scores.items() if not math.isnan(value)},
                unstable=row["id"] in unstable,
                problem=problems.get(row["id"], ""),
                judge={n: row[n] for n in _JUDGED} if row.get("judge_reply") or row.get("judge_votes") else None,
            )
        )
    return readings
