"""Raw rows of a file with the place each stood; knows no benchmark.

Every source yields `Row` for a readable record and `Rejected` for one that is not, so that one bad
record never hides the next; a fault of the file as a whole raises `Error`. A record number counts
from 0 as the policy for bad input says: non-blank lines of JSONL, logical records after the header
of TSV, rows that are not fully blank of xlsx, elements of a JSON list, rows of parquet.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, repeat

from mmconvert.core.rows import Rejected, Row, Span, Where

__all__ = ["Rejected", "Row", "Span", "Where", "span_ends"]


def list_span_ends(sizes: Sequence[int]) -> Iterator[int]:
    """Give the byte at which one span after the other ends, the last size being that of all that follow.

    They depend on the sizes alone, so that whoever leaves records out ends spans where all others do.

    Example:
        >>> ends = list_span_ends([40, 30])
        >>> [next(ends) for _ in range(4)]
        [40, 70, 100, 130]
    """
    return accumulate(chain(sizes, repeat(sizes[-1])))
