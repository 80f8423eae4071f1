"""Files of any multimodal kit in, one Arrow schema out."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mmconvert._version import __version__ as __version__

if TYPE_CHECKING:
    from mmconvert.api import (
        Checked,
        Dataset,
        Error,
        Exported,
        Inspected,
        ListedPlugin,
        Previewed,
        Record,
        Summary,
        UsageError,
        check,
        convert,
        export,
        inspect,
        list_plugins,
        open_dataset,
        preview,
        push,
        verify,
    )

__all__ = [
    "Checked",
    "Dataset",
    "Error",
    "Exported",
    "Inspected",
    "ListedPlugin",
    "Previewed",
    "Record",
    "Summary",
    "UsageError",
    "check",
    "convert",
    "export",
    "inspect",
    "list_plugins",
    "open_dataset",
    "preview",
    "push",
    "verify",
]


def __getattr__(name: str) -> Any:
    """Load the public names when they are first used: most commands need few of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("mmconvert.api"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
