"""ReForm-Eval's door: its loader, its evaluation, its preprocessors and its scripts, see docs/kits/reform_eval.md."""

from mmscore.compat.reform_eval.datasets import ReformDataset, load_reform_dataset
from mmscore.compat.reform_eval.evaluation import loader_eval
from mmscore.compat.reform_eval.preprocessors import (
    BaseProcessor,
    ConvSingleChoiceProcessor,
    MMGPTSingleChoiceProcessor,
    SingleChoiceProcessor,
)
from mmscore.compat.reform_eval.run import Arguments, run_eval

__all__ = [
    "Arguments",
    "BaseProcessor",
    "ConvSingleChoiceProcessor",
    "MMGPTSingleChoiceProcessor",
    "ReformDataset",
    "SingleChoiceProcessor",
    "load_reform_dataset",
    "loader_eval",
    "run_eval",
]

_PROCESSORS = tuple(name for name in __all__ if name.endswith("Processor"))

MODULES = {"": ("load_reform_dataset", "loader_eval"), "preprocessors": _PROCESSORS}
"""Modules of `PACKAGES`, and which names users import from each; see `mmscore.compat.kit_imports`."""

PACKAGES = dict.fromkeys(("run_loader_eval", "utils"), __name__)
"""The framework's packages, whose names many others could have: only this door's own program answers for them."""

TAKEN = {"build": __name__}
"""One of them whose name a well-known distribution has."""
