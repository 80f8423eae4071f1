"""Where a file stands in ReForm-Eval's ranking by dimension.

The framework has no code for it. Its README gives average score and average rank, generation and likelihood apart;
the published ranks are eighths and sixths, as means over all eight dimensions and over six without scene
text and description would be. Captions count by a hundred times CIDEr, as the other numbers are percent.
"""

from mmconvert.core.errors import UsageError
from mmscore.core.ranking import RankColumn
from mmscore.kits.reform_eval.benchmarks import BENCHMARKS, DIMENSIONS, METRICS, detect_benchmark, find_benchmark

COLUMNS = DIMENSIONS
SIZES = {name: sum(benchmark.dimension == name for benchmark in BENCHMARKS) for name in DIMENSIONS}
METHOD_COLUMNS = ("method", "extra.infer_method")
"""Where a file created by mmconvert and a prediction list of the framework say how answers were made."""


def find_dimension(label: str | None, dataset: str | None, tasks: frozenset[str]) -> RankColumn:
    """Find the dataset and its dimension.

    Args:
        label: The dataset as the user names it, None where they do not.
        dataset: The dataset that the file names, None where it does not.
        tasks: Tasks of its rows.

    Raises:
        UsageError: It is none of the 61, or may be several.

    Example:
        >>> find_dimension(None, "FUNSD", frozenset(["kie"]))
        RankColumn(dataset='FUNSD', column='Scene Text', metric='accuracy', factor=100.0)
    """
    if label is None and dataset is None:
        raise UsageError("the file does not state its dataset. Give it as NAME=PATH.")
    benchmark = find_benchmark(label) if label is not None else detect_benchmark(dataset or "", tasks)
    return RankColumn(benchmark.name, benchmark.dimension, METRICS[benchmark.formulation], 100.0)
