"""What is to go keeps working for a while and says so: see docs/versions.md."""

import warnings


class MmconvertDeprecationWarning(FutureWarning):
    """A name of mmconvert or mmscore is used that a later release drops.

    It is a `FutureWarning`, which Python shows to everybody, and has a class of its own for the filters of `warnings`.
    """


def warn_deprecated(former: str, current: str, dropped_in: str) -> None:
    """Warn, at the line that called the caller, that a name will go.

    Args:
        former: What was used.
        current: What to use instead.
        dropped_in: The release that no longer has it, such as `0.3`.
    """
    message = f"{former} is deprecated and goes with mmconvert {dropped_in}. Use {current}."
    warnings.warn(message, MmconvertDeprecationWarning, stacklevel=3)
