"""A promise that a plug-in does not keep, and where its code was when it broke it."""

import traceback
from dataclasses import dataclass
from pathlib import Path

from mmconvert.errors import first_line


@dataclass(frozen=True, slots=True)
class Breach:
    """One promise that is not kept.

    Attributes:
        check: The promise, a key of the kind's `CHECKS`.
        message: What happened and what to do.
    """

    check: str
    message: str

    def __str__(self) -> str:
        """Give promise and message in one line."""
        return f"{self.check}: {self.message}"


def told(error: BaseException) -> str:
    """Describe an error of a plug-in: its class, its words, and the line that raised it.

    Example:
        >>> told(KeyError("image"))
        "KeyError: 'image'"
    """
    frames = traceback.extract_tb(error.__traceback__)
    # The plug-in's own line says more than one deep inside a library that it called.
    own = next((frame for frame in reversed(frames) if "site-packages" not in frame.filename), None)
    place = f" ({Path(own.filename).name}:{own.lineno})" if own is not None else ""
    return f"{type(error).__name__}: {first_line(error)}{place}"
