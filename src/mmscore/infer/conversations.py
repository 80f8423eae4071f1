"""Rounds of conversations: which rows wait for which, and what was said so far."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
from msgspec.structs import replace

from mmconvert.core.errors import RowError
from mmconvert.core.record import Record
from mmscore.infer.ledger import ELSEWHERE
from mmscore.infer.protocol import Before, Playing, Reply
from mmscore.llm.response_cache import Answer, failed

COLUMNS = ("group", "round")
"""What tells a row's place in its conversation; a row that lacks one of them is a conversation of its own."""

ROW = "#row"
"""Column for the number of a row in the dataset; no column of the schema begins so."""


class RunConversations:
    """The conversations of one run, one round of all of them after the other."""

    def __init__(self, playing: Playing, batches: Iterable[pa.RecordBatch], *, chosen: bool) -> None:
        """Look which rounds there are.

        Args:
            playing: The protocol.
            batches: The `COLUMNS` of all rows.
            chosen: Responses are letters of options, chosen by their likelihood.
        """
        self._playing = playing
        self._chosen = chosen
        self._said: dict[str, dict[int, list[Reply]]] = defaultdict(lambda: defaultdict(list))
        self._unheard: set[str] = set()
        rows: Counter[int] = Counter()
        for batch in batches:
            rows.update(_number_rounds(batch).tolist())
        self.rows = dict(sorted(rows.items()))
        """Number of rows by round, in the order in which rounds are asked."""

    def select_round(self, batch: pa.RecordBatch, start: int, number: int) -> pa.RecordBatch:
        """Give the rows of a batch that belong to a round, with their number in the dataset.

        Args:
            batch: Rows of the dataset.
            start: Number of the first of them.
            number: The round.
        """
        batch = batch.append_column(ROW, pa.array(np.arange(start, start + batch.num_rows)))
        return batch.filter(pa.array(_number_rounds(batch) == number))

    def prepare(self, record: Record) -> tuple[Record, Answer | None]:
        """Put what was said before into a row.

        Returns:
            The row as it is to be asked, and why it is not asked; None where it is.
        """
        number = record.round if record.group is not None else None
        if record.group in self._unheard and number:
            return record, ELSEWHERE
        said = self._said.get(record.group or "", {})
        rounds = tuple(tuple(sorted(said.get(k, ()), key=_copy)) for k in range(number or 0))
        try:
            messages = self._playing.protocol.history(record, Before(rounds, self._chosen), self._playing.parameters)
        except RowError as error:
            return record, failed(f"{error.field}: {error.message}")
        return replace(record, messages=messages), None

    def add_answers(self, rows: pa.RecordBatch, answers: Sequence[Answer]) -> None:
        """Take in the answers to rows of a round."""
        columns = [rows.column(name).to_pylist() for name in (*COLUMNS, "variant", "options")]
        for group, number, variant, options, answer in zip(*columns, answers, strict=True):
            if group is None or number is None:
                continue
            if answer is ELSEWHERE:
                self._unheard.add(group)
            else:
                self._said[group][number].append(Reply(tuple(options), answer.text, variant or 0))


def _copy(response: Reply) -> int:
    return response.variant


def _number_rounds(batch: pa.RecordBatch) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    group, number = (batch.column(name) for name in COLUMNS)
    known = group.is_valid().to_numpy(zero_copy_only=False)
    rounds: np.ndarray[tuple[int], np.dtype[np.int64]] = np.asarray(number.fill_null(0).to_numpy(), np.int64)
    return np.where(known, rounds, 0)
