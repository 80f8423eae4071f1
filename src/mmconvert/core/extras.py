"""Packages that come with extras: what to install where one is missing."""

from collections.abc import Iterator
from contextlib import contextmanager

from mmconvert.core.errors import UsageError


@contextmanager
def require_extra(extra: str, purpose: str) -> Iterator[None]:
    """Name the extra to install where a package cannot be imported.

    Args:
        extra: The extra that brings it.
        purpose: What needs it.

    Raises:
        UsageError: A package is missing.

    Example:
        >>> with require_extra("score", "ROUGE"):
        ...     import no_such
        Traceback (most recent call last):
        mmconvert.core.errors.UsageError: ROUGE needs the package no_such. Install it: pip install "mmconvert[score]"
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        message = f'{purpose} needs the package {package}. Install it: pip install "mmconvert[{extra}]"'
        raise UsageError(message) from None
