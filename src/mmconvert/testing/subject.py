"""What is checked: a plug-in, what it is called, and files to try it on."""

from pathlib import Path
from typing import Any

import msgspec


class Subject(msgspec.Struct, frozen=True):
    """A plug-in under the checks of its kind.

    Attributes:
        name: What a user writes: a name or `file.py@NAME`, parameters behind a colon.
        plugin: The object of that name, whatever it is.
        examples: Files without fault.
    """

    name: str
    plugin: Any
    examples: tuple[Path, ...] = ()
