"""What EvalScope compares a response with, as the source wrote it."""

from typing import Any

from mmconvert.core.errors import RowError, show


def check_target(target: Any) -> str | list[str]:
    """Take a text or a list of texts; other values become the text that Python writes.

    Raises:
        RowError: A list holds something else than texts, where the framework's own check ends the run.

    Example:
        >>> check_target("a"), check_target(["a", "b"]), check_target(2)
        ('a', ['a', 'b'], '2')
    """
    if isinstance(target, list) and not all(isinstance(one, str) for one in target):
        raise RowError("answer.type", "label", f"expected a text or a list of texts {show(target)}. Put it in quotes.")
    return target if isinstance(target, str | list) else str(target)
