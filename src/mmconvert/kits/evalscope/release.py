"""The releases of EvalScope whose behaviour is known, one for each stretch without a break.

1.3.0 stands for 1.3 to 1.4, 1.10.0 for 1.7 to 1.10, 1.14.1 for 1.14. Source: modelscope/evalscope,
wheels 1.3.0, 1.10.0 and 1.14.1.
"""

from typing import Literal

from mmconvert.core.errors import UsageError, suggest_spelling

Release = Literal["1.3.0", "1.10.0", "1.14.1"]
RELEASES: tuple[Release, ...] = ("1.3.0", "1.10.0", "1.14.1")
LATEST: Release = "1.14.1"


def check_release(name: str) -> Release:
    """Check the name of a release.

    Raises:
        UsageError: It is none of `RELEASES`.

    Example:
        >>> release_of("1.10.0")
        '1.10.0'
    """
    for release in RELEASES:
        if name == release:
            return release
    hint = suggest_spelling(name, RELEASES)
    raise UsageError(f"evalscope: unknown release {name!r}.{hint} Known: {', '.join(RELEASES)}.")
