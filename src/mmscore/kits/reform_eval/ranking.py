"""Where a file stands in ReForm-Eval's ranking by dimension.

The kit has no code for it. Its README gives average score and average rank, generation and likelihood apart;
the published ranks are eighths and sixths, as means over all eight dimensions and over six without scene
text and description would be. Captions count by a hundred times CIDEr, as the other numbers are percent.
"""

from mmconvert.core.errors import UsageError
from mmscore.core.ranking import Place
from mmscore.kits.reform_eval.benchmarks import BENCHMARKS, DIMENSIONS, METRICS, benchmark_named, benchmark_of

COLUMNS = DIMENSIONS
SIZES = {name: sum(benchmark.dimension == name for benchmark in BENCHMARKS) for name in DIMENSIONS}
METHOD_COLUMNS = ("method", "extra.infer_method")
"""Where a file of ours and a prediction list of the kit say how answers were made."""


def place_in_dimension(label: str | None, dataset: str | None, tasks: frozenset[str]) -> Place:
    """Find the dataset and its dimension.

    Args:
        label: The dataset as the user names it, None where they do not.
        dataset: The dataset that the file names, None where it does not.
        tasks: Tasks of its rows.

    Raises:
        UsageError: It is none of the 61, or may be several.

    Example:
        >>> place_in_dimension(None, "FUNSD", frozenset(["kie"]))
        Place(dataset='FUNSD', column='Scene Text', metric='accuracy', factor=100.0)
    """
    if label is None and dataset is None:
        raise UsageError("the file does not say which dataset it is for. Say it: NAME=PATH.")
    benchmark = benchmark_named(label) if label is not None else benchmark_of(dataset or "", tasks)
    return Place(benchmark.name, benchmark.dimension, METRICS[benchmark.formulation], 100.0)
