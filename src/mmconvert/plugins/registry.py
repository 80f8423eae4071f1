"""A folder is a registry: one file, one plug-in, imported only when it is named.

A plug-in is found in three places, in this order: a file `path/to/file.py@NAME` that the user
names, the package's own folder, and the entry points of other distributions whose group is the
package's dotted name (`mmconvert.formats`, `mmscore.recipes`, ...).
"""

import ast
import importlib
import importlib.util
import pkgutil
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

import msgspec

from mmconvert.core.errors import UsageError, build_missing_path_error, describe_error, suggest_spelling
from mmconvert.core.hashing import hash_file
from mmconvert.plugins.former_names import register_former_names

GROUPS = {
    "mmconvert.formats": "FORMAT",
    "mmconvert.readings": "READING",
    "mmconvert.prompts": "PROMPT",
    "mmconvert.transforms": "TRANSFORM",
    "mmconvert.engines": "ENGINE",
    "mmscore.infer.backends": "BACKEND",
    "mmscore.infer.protocols": "PROTOCOL",
    "mmscore.infer.adapters": "ADAPTER",
    "mmscore.parsers": "PARSER",
    "mmscore.metrics": "METRIC",
    "mmscore.judges": "JUDGE",
    "mmscore.recipes": "RECIPE",
    "mmscore.workflow.task_readers": "TASK_READER",
}
"""Entry-point group of each kind, which is its package's dotted name, and the constant that its modules export."""

PACKAGES = {
    "mmconvert.engines": "mmconvert.pipeline.engines",
    "mmscore.workflow.task_readers": "mmscore.compat.task_readers",
}
"""Packages that are not named as their group."""


class Plugin(msgspec.Struct, frozen=True):
    """Where a plug-in lives: its name, its module and who brought it."""

    name: str
    module: str
    origin: str
    attribute: str = ""

    def read_summary(self) -> str:
        """Read the first line of the module's docstring without importing the module."""
        try:
            spec = importlib.util.find_spec(self.module)
        except ImportError as error:
            return f"cannot be loaded: {describe_error(error)}"
        if spec is None or spec.origin is None:
            return ""
        doc = ast.get_docstring(ast.parse(Path(spec.origin).read_bytes()))
        return (doc or "").partition("\n")[0]


@cache
def find_plugins(group: str) -> dict[str, Plugin]:
    """List the plug-ins of a package without importing any of them.

    Args:
        group: Dotted package name, a key of `GROUPS`.

    Returns:
        Plug-ins by name, sorted; the project's own win over entry points of the same name.
    """
    package = PACKAGES.get(group, group)
    modules = pkgutil.iter_modules(importlib.import_module(package).__path__)
    found = {module.name: Plugin(module.name, f"{package}.{module.name}", "built-in") for module in modules}
    # Imported here: most runs load built-in plug-ins alone, and looking at every distribution takes its time.
    from importlib.metadata import entry_points

    for entry in entry_points(group=group):
        module, _, attribute = entry.value.partition(":")
        origin = entry.dist.name if entry.dist is not None else "entry point"
        found.setdefault(entry.name, Plugin(entry.name, module, origin, attribute))
    return dict(sorted(found.items()))


def load(group: str, name: str) -> Any:
    """Import one plug-in and return the constant it exports.

    Args:
        group: Dotted package name, a key of `GROUPS`.
        name: Name of a plug-in, or `file.py@NAME` for an object in a file of the user's.

    Returns:
        The module's `FORMAT`, `RECIPE`, ... constant, or the named object of the user's file.

    Raises:
        UsageError: The name is unknown, or the file or the object in it does not exist or cannot be loaded.
    """
    file, _, attribute = name.rpartition("@")
    if file.endswith(".py"):
        register_former_names(group.partition(".")[0])
        return _load_file(file, attribute)
    if name.endswith(".py"):
        raise UsageError(f"{name}: the object in the file is missing. Write {name}@NAME.")
    module = f"{PACKAGES.get(group, group)}.{name}"
    # Detection asks for every format for every file, and to look for a module takes longer than to look into it.
    if name.isidentifier() and (module in sys.modules or importlib.util.find_spec(module) is not None):
        return _load_own(module, GROUPS[group])
    plugins = find_plugins(group)
    if name not in plugins:
        kind = group.rpartition(".")[2].rstrip("s")
        listing = f"{group.partition('.')[0]} list {group.rpartition('.')[2]}"
        raise UsageError(f"unknown {kind} {name!r}.{suggest_spelling(name, plugins)} List all: {listing}")
    found = plugins[name]
    attribute = found.attribute or GROUPS[group]
    register_former_names(group.partition(".")[0])
    try:
        return getattr(importlib.import_module(found.module), attribute)
    except Exception as error:
        place = f"{found.module}:{attribute} of {found.origin}"
        raise UsageError(f"{name}: {place} cannot be loaded: {describe_error(error)}. Fix or remove it.") from error


@cache
def _load_own(module: str, constant: str) -> Any:
    return getattr(importlib.import_module(module), constant)


def load_all(group: str) -> Iterator[tuple[str, Any]]:
    """Load all plug-ins of a package; one of another distribution that cannot be loaded is left out with a warning.

    Yields:
        Name and object, sorted by name.
    """
    for name, plugin in find_plugins(group).items():
        try:
            yield name, load(group, name)
        except UsageError as error:
            if plugin.origin == "built-in":
                raise
            warnings.warn(str(error), stacklevel=2)


def name_by_content(name: str) -> str:
    """Name a plug-in so that equal names are equal code.

    Args:
        name: As for `load`.

    Returns:
        `NAME:DIGEST` for an object in a file of the user's, without the file's place; any other name as it is.

    Example:
        >>> name_by_content("own_choice")
        'own_choice'
    """
    file, _, attribute = name.rpartition("@")
    if not (file.endswith(".py") and Path(file).is_file()):
        return name
    return f"{attribute}:{hash_file(Path(file))[:12]}"


class _AsItStands(SourceFileLoader):
    """Compiles a file each time: Python's cache tells an edited one by whole seconds and its length alone."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def _load_file(path: str, attribute: str) -> Any:
    file = Path(path)
    if not file.is_file():
        raise build_missing_path_error(file)
    name = f"_plugin_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file, loader=_AsItStands(name, str(file)))
    if spec is None or spec.loader is None:
        raise UsageError(f"{path}: not a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise UsageError(f"{path}: cannot be loaded: {describe_error(error)}. {_suggest_fix(file, error)}") from error
    if not hasattr(module, attribute):
        public = [n for n in vars(module) if not n.startswith("_")]
        raise UsageError(f"{path}: has no {attribute!r}.{suggest_spelling(attribute, public)}")
    return getattr(module, attribute)


def _suggest_fix(file: Path, error: Exception) -> str:
    wanted = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if not wanted:
        return "Fix it."
    beside = file.resolve().parent
    if (beside / wanted).is_dir() or (beside / f"{wanted}.py").is_file():
        return f"Its folder is not searched for modules: export PYTHONPATH={beside}."
    return f"Install {wanted}, or fix the import."
