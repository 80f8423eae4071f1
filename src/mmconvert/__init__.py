"""Files of any multimodal framework in, one Arrow schema out."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from mmconvert._version import __version__ as __version__

if TYPE_CHECKING:
    from mmconvert.api import *  # noqa: F403


def __getattr__(name: str) -> Any:
    """Load the public names when they are first used: most commands need few of them."""
    # Python asks here for names such as __path__, and for modules that it has yet to import, too; they load nothing.
    if name == "__all__" or not (name.startswith("__") or find_spec(f"{__name__}.{name}")):
        api = import_module("mmconvert.api")
        if name == "__all__" or name in api.__all__:
            return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__getattr__("__all__"), "__version__"]
