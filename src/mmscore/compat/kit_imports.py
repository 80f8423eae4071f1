"""Import statements of a framework's users, answered by its door where the framework itself is not installed.

A door that replaces a package says in `MODULES` which modules there are and which of its names each has; a
name that the door itself lacks can be imported, and fails when it is used.
"""

import importlib
import runpy
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from mmconvert.core.errors import UsageError, suggest_spelling

DOORS = {
    "evalscope": "mmscore.compat.evalscope",
    "mmte": "mmscore.compat.mmtrusteval",
    "vlmeval": "mmscore.compat.vlmevalkit",
}
"""Package of a framework -> the door that has its names."""


class NotHereError(UsageError, ImportError):
    """A framework's module is imported for a name that its door does not have."""


class Absent:
    """A name that files of a framework import and that its door does not have: it fails when it is used."""

    def __init__(self, name: str) -> None:
        """Take the name with its module's."""
        self._name = name

    def __call__(self, *_: object, **__: object) -> NoReturn:
        """Fail: a function or a class is called."""
        raise NotHereError(f"{self._name}: is not here. Name the file of a class of yours, or install the framework.")

    __mro_entries__ = __call__

    def __getattr__(self, name: str) -> NoReturn:
        """Fail: something of a class is used."""
        if name.startswith("__"):
            raise AttributeError(name)
        self()


class KitImports(MetaPathFinder, Loader):
    """Finds the modules that doors stand in for."""

    def __init__(self, doors: Mapping[str, str], *, ahead: bool) -> None:
        """Take the door of each package, and whether it goes before an installed package of the name."""
        self.doors = doors
        self.ahead = ahead

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module that a door replaces."""
        kit, _, module = fullname.partition(".")
        if kit not in self.doors or module not in self._modules(kit) or (not self.ahead and _installed(kit)):
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def exec_module(self, module: ModuleType) -> None:
        """Put the door's names into a module."""
        kit, _, rest = module.__name__.partition(".")
        door, names = importlib.import_module(self.doors[kit]), self._modules(kit)[rest]

        def missing(name: str) -> object:
            if name.startswith("__"):
                raise AttributeError(name)
            if name in names:
                return getattr(door, name, None) or Absent(f"{module.__name__}.{name}")
            raise NotHereError(
                f"{module.__name__}: has no {name!r} here.{suggest_spelling(name, names)} Install the framework for it."
            )

        known = {name: getattr(door, name) for name in names if hasattr(door, name)}
        module.__dict__.update(known, __all__=list(known), __getattr__=missing)

    def _modules(self, kit: str) -> Mapping[str, Sequence[str]]:
        modules: Mapping[str, Sequence[str]] = importlib.import_module(self.doors[kit]).MODULES
        return modules


def _installed(kit: str) -> bool:
    """Tell an installed package from a mere folder of its name, such as the framework's configurations in a project."""
    others = (finder for finder in sys.meta_path if not isinstance(finder, KitImports))
    found = (finder.find_spec(kit, None) for finder in others if hasattr(finder, "find_spec"))
    return any(spec is not None and spec.has_location for spec in found)


def install(doors: Mapping[str, str] = DOORS, *, ahead: bool = False) -> None:
    """Answer the imports of frameworks that are not installed; a second call changes nothing.

    Args:
        doors: Package -> its door; one whose packages have names that others could have too brings its own.
        ahead: Answer before everybody else, where an installed package of that name is another's.
    """
    if not any(isinstance(finder, KitImports) and finder.doors == doors for finder in sys.meta_path):
        # First in either case: Python would take a mere folder of the framework's name for the framework.
        sys.meta_path.insert(0, KitImports(doors, ahead=ahead))


def run_script(file: str, arguments: Sequence[str]) -> int:
    """Run a Python file as `python FILE ARGUMENTS` does; gives the exit code."""
    sys.argv = [file, *arguments]
    sys.path.insert(0, str(Path(file).resolve().parent))
    runpy.run_path(file, run_name="__main__")
    return 0
