"""Tables of text, drawn by `tabulate` as EvalScope draws its own."""

from collections.abc import Sequence
from typing import Any

from mmconvert.core.extras import require_extra


def draw_table(rows: Sequence[Sequence[Any]], headings: Sequence[str] = (), style: str = "simple_grid") -> str:
    """Draw a table, whatever else is installed: each character counts as one wide.

    Args:
        rows: Cells; None is empty.
        headings: One a column; none for a table without headings.
        style: A format of `tabulate`.

    Returns:
        The table without a line break at its end.

    Example:
        >>> print(draw_table([["a", 0.5], ["b", 0.25]], ["Name", "Score"], "simple"))
        Name      Score
        ------  -------
        a          0.5
        b          0.25
    """
    with require_extra("score", "a table as EvalScope draws it"):
        import tabulate
    # With wcwidth installed, as IPython has it, tabulate would count Chinese characters as two wide.
    before, tabulate.WIDE_CHARS_MODE = tabulate.WIDE_CHARS_MODE, False
    try:
        return str(tabulate.tabulate(rows, headings, tablefmt=style))
    finally:
        tabulate.WIDE_CHARS_MODE = before
