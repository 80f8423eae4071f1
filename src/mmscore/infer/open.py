"""Open the backend that was asked for: a plug-in, an object of the user's, or one on every node of a cluster."""

import re
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, requires

from mmconvert.core.errors import UsageError
from mmconvert.plugins.registry import load
from mmscore.infer.adapter import adapt
from mmscore.infer.backend import GROUP, Backend, ModelOptions
from mmscore.infer.options import LOCAL, PredictOptions


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
        raise UsageError(f"backend {name!r} needs the package {package}. {_how_to_install(package)}") from error
    return adapt(name, opener, options) if ".py@" in name else opener(options)


def open_where_asked(options: PredictOptions, *, quiet: bool) -> Backend:
    """Open the backend that options name, here or on the cluster that they name.

    Args:
        options: The backend, its model and its settings.
        quiet: No progress bars while loading.

    Raises:
        UsageError: As `open_backend`, or the package or the cluster is not there.
        Error: The model cannot be loaded.
    """
    model = options.model_options(quiet=quiet)
    if options.engine == LOCAL:
        return open_backend(options.plugin, model)
    try:
        # Imported here: it loads ray.
        from mmscore.infer.ray_pool import RayPool
    except ModuleNotFoundError as error:
        raise UsageError(
            f'--engine needs the package {error.name}. Install it: pip install "mmconvert[{options.engine}]"'
        ) from None
    return RayPool(options.plugin, model, options.processes)


def _how_to_install(package: str) -> str:
    try:
        requirements = requires("mmconvert") or []
    except PackageNotFoundError:
        requirements = []
    for requirement in requirements:
        match = re.match(r"([\w.-]+).*extra == ['\"]([\w-]+)['\"]", requirement)
        if match and match[1].lower() == package.lower():
            return f'Install it: pip install "mmconvert[{match[2]}]"'
    return f"Install it: pip install {package}"
