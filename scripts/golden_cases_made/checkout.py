"""Import parts of a framework's checkout without the models and services that its other parts need."""

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest.mock import MagicMock


class StandIn(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stands in for packages that are not installed: each name in them is a mock.

    Attributes:
        packages: What it may stand in for.
        used: What was imported of it.
    """

    def __init__(self, packages: set[str]) -> None:
        self.packages = packages
        self.used: set[str] = set()

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in self.packages:
            return None
        self.used.add(name.partition(".")[0])
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = MagicMock(name=spec.name)
        module.__path__, module.__spec__, module.__name__, module.__loader__ = [], spec, spec.name, self
        return module

    def exec_module(self, module):
        pass


def open_checkout(folder: Path, packages: Sequence[str], bare: Sequence[str] = ()) -> None:
    """Make a checkout's packages importable.

    Args:
        folder: The checkout.
        packages: Its packages; what they import and is not installed is stood in for.
        bare: Those of them whose `__init__` is not run, for it imports far more than is wanted.
    """
    sys.path.insert(0, str(folder))
    wanted = {name for package in packages for name in _list_imports(folder / package)}
    sys.meta_path.append(StandIn({name for name in wanted if importlib.util.find_spec(name) is None} - {*packages}))
    for name in bare:
        module = types.ModuleType(name)
        module.__path__ = [str(folder / name.replace(".", "/"))]
        sys.modules[name] = module


def list_stood_in() -> list[str]:
    """List the packages that the framework imported and that are not installed."""
    return sorted({name for finder in sys.meta_path if isinstance(finder, StandIn) for name in finder.used})


def _list_imports(folder: Path) -> Iterator[str]:
    for file in folder.rglob("*.py"):
        try:
            tree = ast.parse(file.read_text("utf-8", errors="ignore"))
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield node.module.partition(".")[0]
