"""How a user's own object becomes a backend, a model that was written for another framework among them.

An adapter module exports `ADAPTER`, an `Adapter`. It looks at the object alone, never at its name, and
answers None to what is not of its framework.
"""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mmconvert.core.errors import UsageError
from mmconvert.plugins.registry import find_plugins, load
from mmscore.infer.backend import Backend, ModelOptions
from mmscore.infer.function_backend import FunctionBackend

GROUP = "mmscore.infer.adapters"

Adapter = Callable[[str, object, ModelOptions], Backend | None]
"""(name for messages, the user's class, object or function, options) -> a backend; None for what is not of the
framework."""

_PARTS = ("name", "identity", "batch_size", "answer")


def adapt(named: str, given: object, options: ModelOptions) -> Backend:
    """Make a backend of an object of the user's.

    Args:
        named: What the user calls it, for messages.
        given: A backend; a class that is opened with `ModelOptions`; a model class or object that an
            adapter knows; or a function from a batch of records to as many answers.
        options: The model and its settings.

    Raises:
        UsageError: It is none of these, or an option cannot be honoured.
        Error: The model cannot be loaded.

    Example:
        >>> adapt("blind", lambda records: ["A"] * len(records), ModelOptions("blind")).name
        'blind'
    """
    for plugin in find_plugins(GROUP):
        adapter: Adapter = load(GROUP, plugin)
        if (adapted := adapter(named, given, options)) is not None:
            return adapted
    if inspect.isroutine(given):
        return FunctionBackend(named, given, options)
    # A class may set its parts when it is opened, but how it answers stands in it.
    backend: Any = given(options) if isinstance(given, type) and hasattr(given, "answer") else given
    if lacking := [part for part in _PARTS if not hasattr(backend, part)]:
        raise UsageError(f"backend {named!r} has no {', '.join(lacking)}. See mmscore.infer.backend.Backend.")
    made: Backend = backend
    return made


def split_backend(backend: object) -> tuple[str | None, object]:
    """Tell the name of a backend, as `PredictOptions` has it, from an object of the user's.

    Args:
        backend: A name, an object, or None for the one that the other options choose.

    Returns:
        The name, of an object that of its source; and the object, None where a name says it all.
    """
    return (backend, None) if backend is None or isinstance(backend, str) else (build_plugin_name(backend), backend)


def build_plugin_name(given: object) -> str:
    """Name an object of the user's so that an edit of its file shares no answers, see `file_identity`.

    Returns:
        `file.py@Name` where its source is a file; else `Name`, as for what was typed at a prompt.
    """
    given = given.func if isinstance(given, functools.partial) else given
    named = given if isinstance(given, type) or inspect.isroutine(given) else type(given)
    try:
        file = inspect.getsourcefile(named)
    except (TypeError, OSError):
        file = None
    name: str = named.__qualname__
    return f"{file}@{name}" if file and Path(file).is_file() else name
