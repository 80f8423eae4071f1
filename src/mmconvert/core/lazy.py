"""Modules that are loaded when something of them is first used."""

import importlib
from typing import Any


class LazyModule:
    """Stands for a module that takes long to load and that most runs do without.

    A module that uses it in many places names it once, behind `if TYPE_CHECKING: import NAME`.
    """

    def __init__(self, name: str) -> None:
        """Stand for a module.

        Args:
            name: Its whole name.
        """
        self._name = name

    def __getattr__(self, name: str) -> Any:
        """Load the module, and give what it calls so; Python asks once for each name."""
        value = getattr(importlib.import_module(self._name), name)
        setattr(self, name, value)
        return value
