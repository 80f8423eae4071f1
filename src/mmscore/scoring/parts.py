"""Parts of a file that several processes score; each gives what one process alone would."""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from io import BytesIO

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from mmconvert.core.collect import collect_rarely
from mmscore.core.recipe import Facts, Recipe
from mmscore.core.select_recipe import find_recipe, fit_recipe
from mmscore.scoring.collector import Collector, Gathered
from mmscore.scoring.signature import Fingerprint

_SECONDS = 0.25
"""What a part takes, about; all processes end together then."""
_SMALLEST, _LARGEST = 256, 16_384
"""Rows of a part."""


class RecipeReference(msgspec.Struct, frozen=True):
    """How another process finds a recipe: as the user names it, and by what it was configured."""

    name: str
    version: str
    options: str | None = None
    facts: Facts | None = None

    def load(self) -> Recipe:
        """Find the recipe."""
        choice = find_recipe(f"{self.name}@{self.version}", self.options)
        return (choice if self.facts is None else fit_recipe(choice, self.facts)).recipe


class RowsPart(msgspec.Struct, frozen=True):
    """Rows for one process to score, and how.

    Attributes:
        reference: The recipe.
        path: The file, for messages.
        kept: Columns to keep.
        own: The rows are the framework's own results.
        fingerprint: What digests of the file are taken of; None where nobody asks for them.
        first: Number of the first row.
        rows: The rows as an Arrow stream: a pickled batch would hold all rows that it was cut from.
    """

    reference: RecipeReference
    path: str
    kept: tuple[str, ...]
    own: bool
    fingerprint: Fingerprint | None
    first: int = 0
    rows: bytes = b""


def choose_size(speed: float) -> int:
    """Choose the rows of a part, of so many rows a second."""
    return max(_SMALLEST, min(_LARGEST, int(_SECONDS * speed)))


def cut_parts(part: RowsPart, batches: Iterable[pa.RecordBatch], first: int, most: int) -> Iterator[RowsPart]:
    """Cut batches into parts.

    Args:
        part: One without rows.
        batches: The rows.
        first: Number of the first row.
        most: Most rows of a part.
    """
    for batch in batches:
        for start in range(0, len(batch), most):
            rows = batch.slice(start, most)
            out = BytesIO()
            with pa.ipc.new_stream(out, rows.schema) as writer:
                writer.write_batch(rows)
            yield replace(part, first=first, rows=out.getvalue())
            first += len(rows)


def report_parts(parts: Iterable[RowsPart], progress: Callable[[int, int], None], total: int) -> Iterator[RowsPart]:
    """Report how far the parts have been handed out; their results come all at once, at the end."""
    for part in parts:
        progress(part.first, total)
        yield part
    progress(total, total)


@lru_cache(maxsize=4)
def _load_recipe(reference: RecipeReference) -> Recipe:
    return reference.load()


def score_part(part: RowsPart) -> Gathered:
    """Score the rows of a part, in whichever process."""
    recipe = _load_recipe(part.reference)
    collector = Collector(part.path, part.kept, None, recipe.results if part.own else None, part.first)
    # Not the part's own: the process that hands parts out scores some of them, and all have the same one.
    fingerprint = part.fingerprint and part.fingerprint.start_again()
    with collect_rarely():
        for batch in pa.ipc.open_stream(part.rows):
            if fingerprint:
                fingerprint.add(batch)
            collector.add(batch, recipe, part.reference.version)
    return replace(collector.give(), fingerprint=fingerprint)
