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
