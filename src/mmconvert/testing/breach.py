"""A promise that a plug-in does not keep."""

import msgspec


class Breach(msgspec.Struct, frozen=True):
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
