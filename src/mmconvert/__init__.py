"""Files of any multimodal kit in, one Arrow schema out."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from mmconvert.api import (
        Checked,
        Dataset,
        Error,
        Exported,
        Previewed,
        Record,
        Summary,
        UsageError,
        check,
        convert,
        export,
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
    "Previewed",
    "Record",
    "Summary",
    "UsageError",
    "check",
    "convert",
    "export",
    "open_dataset",
    "preview",
    "push",
    "verify",
]


def __getattr__(name: str) -> Any:
    """Load the public names when they are first used: most commands need few of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import mmconvert.api

    return getattr(mmconvert.api, name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
