"""Classes by the ids that they serve: MMTrustEval's registry."""

import contextlib
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partialmethod
from typing import Any, TypeVar

from mmconvert.core.errors import UsageError, show, suggest_spelling
from mmconvert.plugins.registry import load
from mmscore.infer.adapter import GROUP

IDS = {
    "chatmodel": "model_family",
    "dataset": "dataset_ids",
    "method": "method_ids",
    "evaluator": "evaluator_ids",
    "task": "task_ids",
}
"""Kind of class -> the attribute that lists the ids it serves."""

_Class = TypeVar("_Class", bound=type)


def _find_class(registry: "Registry", kind: str, name: str) -> Any:
    found = registry.found(kind, name)
    if found is None:
        known = registry.listed(kind)
        listed = f"Known: {', '.join(known)}." if known else "None is registered."
        raise UsageError(f"no {kind} {name!r}.{suggest_spelling(str(name), known)} {listed} Name its file: --import.")
    return found


def _build_decorator(registry: "Registry", kind: str) -> Callable[[_Class], _Class]:
    """Give the decorator that registers classes of a kind."""
    return lambda registered: registry.register(kind, registered)


class Registry:
    """Finds classes by id. A class need not inherit anything: it is known by its list of ids."""

    def __init__(self) -> None:
        self._classes: dict[str, dict[str, type]] = {kind: {} for kind in IDS}
        self._built_in: dict[str, dict[str, type]] = {kind: {} for kind in IDS}

    def register(self, kind: str, registered: _Class, *, built_in: bool = False) -> _Class:
        """Register a class for all of its ids; one of the user's goes before one that stands here already.

        Raises:
            UsageError: It lists no ids, or another class of the user's has one of them.
        """
        ids = getattr(registered, IDS[kind], None)
        if isinstance(ids, str) or not isinstance(ids, Sequence) or not ids:
            raise UsageError(f"{registered.__name__}: expected a list of ids in {IDS[kind]} {show(ids)}.")
        classes = (self._built_in if built_in else self._classes)[kind]
        for one in ids:
            if one in classes and _home(classes[one]) != _home(registered):
                raise UsageError(f"{one!r} is registered already for {classes[one].__name__}. Give it another id.")
            classes[one] = registered
        return registered

    def found(self, kind: str, name: str) -> type | None:
        """Find a class of the user's, else one that stands here; None for neither."""
        return self._classes[kind].get(name) or self._built_in[kind].get(name)

    def listed(self, kind: str) -> list[str]:
        """List the ids of a kind, sorted."""
        return sorted({**self._built_in[kind], **self._classes[kind]})

    # The framework's own names; `get_..._class` raises UsageError where the framework gives None.
    register_chatmodel = partialmethod(_build_decorator, "chatmodel")
    register_dataset = partialmethod(_build_decorator, "dataset")
    register_method = partialmethod(_build_decorator, "method")
    register_evaluator = partialmethod(_build_decorator, "evaluator")
    register_task = partialmethod(_build_decorator, "task")
    get_chatmodel_class = partialmethod(_find_class, "chatmodel")
    get_dataset_class = partialmethod(_find_class, "dataset")
    get_method_class = partialmethod(_find_class, "method")
    get_evaluator_class = partialmethod(_find_class, "evaluator")
    get_task_class = partialmethod(_find_class, "task")
    list_chatmodels = partialmethod(listed, "chatmodel")
    list_datasets = partialmethod(listed, "dataset")
    list_methods = partialmethod(listed, "method")
    list_evaluators = partialmethod(listed, "evaluator")
    list_tasks = partialmethod(listed, "task")

    @contextlib.contextmanager
    def importing(self, files: Sequence[str]) -> Iterator[None]:
        """Know the classes of files for a while, decorated or not.

        Args:
            files: `file.py`, or the dotted name of a module.

        Raises:
            UsageError: There is no such file or module, or two classes have one id.
        """
        before = {kind: dict(classes) for kind, classes in self._classes.items()}
        try:
            for file in files:
                self._take(_module(file))
            yield
        finally:
            self._classes = before

    def _take(self, module: Any) -> None:
        for given in [item for item in vars(module).values() if isinstance(item, type)]:
            for kind, attribute in IDS.items():
                ids = getattr(given, attribute, None)
                if given.__module__ == module.__name__ and ids and not all(one in self._classes[kind] for one in ids):
                    self.register(kind, given)


def _home(kind: type) -> tuple[str, str]:
    """Say where a class stands: one that is loaded a second time, as by `--backend file.py@Class`, is the same."""
    return getattr(sys.modules.get(kind.__module__), "__file__", None) or kind.__module__, kind.__qualname__


def _module(name: str) -> Any:
    if name.endswith(".py"):
        return sys.modules[load(GROUP, f"{name}@__name__")]
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"--import {name}: no module {error.name!r}. Name a file.py, or a module on the path."
        ) from None


registry = Registry()
"""The one registry, as in the framework."""


def load_chatmodel(model_id: str, device: str = "cuda:0") -> Any:
    """Open a registered chat model; one that takes no device is given none.

    Raises:
        UsageError: No class has the id.

    Parity: thu-ml/MMTrustEval@a067801 mmte/models/__init__.py.
    """
    kind = registry.get_chatmodel_class(model_id)
    takes_device = "device" in inspect.signature(kind).parameters
    return kind(model_id, device=device) if takes_device else kind(model_id)


def model_zoo() -> list[str]:
    """List the ids of registered chat models."""
    return registry.list_chatmodels()
