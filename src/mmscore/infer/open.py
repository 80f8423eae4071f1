"""Open the backend that was asked for."""

import re
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, requires

from mmconvert.core.errors import UsageError
from mmconvert.plugins.registry import load
from mmscore.infer.adapter import adapt
from mmscore.infer.backend import GROUP, Backend, ModelOptions


def open_backend(name: str, options: ModelOptions) -> Backend:
    """Load a backend plug-in and the model behind it.

    Args:
        name: Name of a backend, or `file.py@name`.
        options: The model and its settings.

    Raises:
        UsageError: The backend is unknown, a package it needs is missing, the model is not there, or
            an option cannot be honoured.
        Error: The model cannot be loaded.
    """
    try:
        opener: Callable[[ModelOptions], Backend] = load(GROUP, name)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        raise UsageError(f"backend {name!r} needs the package {package}. {_suggest_install(package)}") from error
    return adapt(name, opener, options) if ".py@" in name else opener(options)


_OF_DEVELOPERS = frozenset(("dev", "docs", "release"))
"""Extras that no user needs."""


def _suggest_install(package: str) -> str:
    try:
        requirements = requires("mmconvert") or []
    except PackageNotFoundError:
        requirements = []
    for requirement in requirements:
        match = re.match(r"([\w.-]+).*extra == ['\"]([\w-]+)['\"]", requirement)
        if match and match[1].lower() == package.lower() and match[2] not in _OF_DEVELOPERS:
            return f'Install it: pip install "mmconvert[{match[2]}]"'
    return f"Install it: pip install {package}"
