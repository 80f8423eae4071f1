"""When Python looks for cycles."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def collect_rarely() -> Iterator[None]:
    """Look for cycles rarely: rows and records have none, and looking costs a sixth of the time.

    So rarely that most objects have come and gone between two looks.
    """
    before = gc.get_threshold()
    gc.set_threshold(500_000, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
