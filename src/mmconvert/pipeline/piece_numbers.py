"""Which piece of a file a row is of."""

from collections.abc import Sequence

from mmconvert.core.plain_chats import PlainBlock
from mmconvert.core.rows import Rejected, Row, Where
from mmconvert.io import list_span_ends


class PieceNumbers:
    """Numbers the pieces of a file by the bytes at which rows begin.

    Attributes:
        first: Where the latest piece begins.
        end: Where it ends.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self._ends = list_span_ends(sizes)
        self._number = self.end = 0
        self.first = Where("", 0)

    def __call__(self, row: Row | Rejected | PlainBlock) -> int:
        """Give the number of the piece that a row is of, from 1."""
        offset = row.where.offset or 0
        if offset >= self.end:
            self.first, self.end = row.where, next(end for end in self._ends if end > offset)
            self._number += 1
        return self._number
