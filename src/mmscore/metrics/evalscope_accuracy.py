"""Score a parsed choice as EvalScope's `acc` does."""

from collections.abc import Sequence
from typing import Literal

Version = Literal["1.3.0", "1.10.0", "1.14.1"]


def evalscope_accuracy(extracted: str, target: str | Sequence[str], version: Version = "1.14.1") -> float | None:
    """Compare the chosen labels with the target, blanks around and case ignored.

    Args:
        extracted: Labels sorted and joined, "" for none.
        target: The reference, or several.
        version: Release whose behaviour is wanted.

    Returns:
        1.0 or 0.0; None since 1.14 when the target does not hold exactly one value, so that the
        sample is left out.

    Parity: modelscope/evalscope 1.3.0, 1.10.0, 1.14.1, metric acc (accuracy) of general_vmcq.

    Example:
        >>> evalscope_accuracy("AB", ["A", "B"], "1.10.0"), evalscope_accuracy("AB", ["A", "B"])
        (1.0, None)
    """
    reference = join_target(target, version)
    if version == "1.14.1" and (not reference or (not isinstance(target, str) and "\n" in reference)):
        return None
    return float(extracted.strip().lower() == reference.strip().lower())


def join_target(target: str | Sequence[str], version: Version = "1.14.1") -> str:
    r"""Join a target into the one text that the framework compares with.

    Args:
        target: The reference, or several.
        version: Until 1.10 several are joined without a separator; since 1.14 they are stripped,
            repeats are dropped and line breaks stand between them.

    Returns:
        The text.

    Example:
        >>> join_target(["A", "B"], "1.10.0"), join_target([" A", "B", "A"])
        ('AB', 'A\nB')
    """
    if version != "1.14.1":
        return target if isinstance(target, str) else "".join(target)
    if isinstance(target, str):
        return target.strip()
    return "\n".join(dict.fromkeys(value.strip() for value in target))


METRIC = evalscope_accuracy
