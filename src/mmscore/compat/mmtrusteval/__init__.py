"""MMTrustEval's door: its classes, its registry, its evaluators and its task files.

    from mmscore.compat.mmtrusteval import BaseChat, BaseDataset, TxtSample, registry

    python -m mmscore.compat.mmtrusteval run TASK.yaml --cfg-options model_id=mine-7b --import mine.py

See docs/kits/mmtrusteval.md.
"""

from collections.abc import Sequence
from pathlib import Path

from mmconvert.kits.mmtrusteval.datasets import NAMES
from mmscore.compat.mmtrusteval.classes import (
    BaseChat,
    BaseDataset,
    BaseMethod,
    ImageTxtSample,
    Response,
    TxtSample,
    collate_fn,
)
from mmscore.compat.mmtrusteval.evaluators import BaseEvaluator, KitEvaluator, SequentialEvaluator, supported_metrics
from mmscore.compat.mmtrusteval.methods import KitMethod
from mmscore.compat.mmtrusteval.registry import load_chatmodel, model_zoo, registry
from mmscore.compat.mmtrusteval.runner import BaseTask

_supported_metrics = supported_metrics
_OutputType = TxtSample | ImageTxtSample

MODULES = {
    "": ("TxtSample", "ImageTxtSample", "_OutputType"),
    "utils": (),
    "utils.registry": ("registry",),
    "utils.utils": ("get_abs_path", "download_image"),
    "datasets": ("BaseDataset", "collate_fn", "UnrelatedImageDataset"),
    "datasets.base": ("BaseDataset", "collate_fn"),
    "methods": ("BaseMethod", "AdvGeneratedImage", "RelatedGeneratedImage", "RelatedTextEmbedImage"),
    "methods.base": ("BaseMethod",),
    "models": ("BaseChat", "Response", "load_chatmodel", "model_zoo"),
    "models.base": ("BaseChat", "Response"),
    "evaluators": ("BaseEvaluator", "SequentialEvaluator"),
    "evaluators.base": ("BaseEvaluator", "SequentialEvaluator"),
    "evaluators.metrics": ("_supported_metrics",),
    "tasks": ("BaseTask",),
    "tasks.base": ("BaseTask",),
}
"""Modules of `mmte`, and which of its names users import from each; see `mmscore.compat.kit_imports`.

Those that the framework's dataset files import are all here; of classes that are not, `__getattr__` finds the user's.
"""


def get_abs_path(rel: str) -> str:
    """Give a path inside the framework's package, relative to the working folder, as in a checkout."""
    return str(Path.cwd() / "mmte" / rel)


def __getattr__(name: str) -> type:
    """Give the class of this name that a file of `--import` registered, such as the framework's own dataset file."""
    for kind in ("dataset", "method"):
        for one in registry.listed(kind):
            if (found := registry.found(kind, one)) is not None and found.__name__ == name:
                return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def listing(imports: Sequence[str] = ()) -> dict[str, list[str]]:
    """List the ids that the registry knows, by kind; the framework's runner prints the same.

    Args:
        imports: Files and modules with further classes.

    Returns:
        Kind -> ids; `scored` are the framework's datasets whose rows our recipes score by their name.
    """
    with registry.importing(imports):
        return {
            "chatmodels": registry.list_chatmodels(),
            "datasets": registry.list_datasets(),
            "methods": registry.list_methods(),
            "evaluators": registry.list_evaluators(),
            "tasks": registry.list_tasks(),
            "metrics": list(supported_metrics),
            "scored": sorted(NAMES),
        }


__all__ = [
    "BaseChat",
    "BaseDataset",
    "BaseEvaluator",
    "BaseMethod",
    "BaseTask",
    "ImageTxtSample",
    "KitEvaluator",
    "KitMethod",
    "Response",
    "SequentialEvaluator",
    "TxtSample",
    "collate_fn",
    "listing",
    "load_chatmodel",
    "model_zoo",
    "registry",
    "supported_metrics",
]
