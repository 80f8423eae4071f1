"""What `--benchmark NAME` stands for: the recipe of the catalogue, the dataset's name, and the references."""

from mmconvert.benchmarks.catalogue import Benchmark
from mmconvert.core.errors import UsageError
from mmconvert.pipeline.benchmark_files import list_benchmark_files
from mmscore.core.predictions.join import REFERENCES, join
from mmscore.core.predictions.load import Rows, open_rows
from mmscore.core.recipe import Recipe
from mmscore.scoring.score import has_value


def add_references(rows: Rows, benchmark: Benchmark, recipes: list[Recipe], *, allow_mismatch: bool) -> Rows:
    """Put a benchmark's references beside predictions that have none.

    Args:
        rows: The predictions.
        benchmark: The benchmark; its table is read where it lies, from $LMUData or the Hub.
        recipes: What the predictions are scored by.
        allow_mismatch: Join although questions differ.

    Raises:
        UsageError: The references are needed, and not public, not here, or in several files.
        Error: A file is damaged, or the predictions are those of another file.
    """
    if not any(REFERENCES & frozenset(recipe.fields) for recipe in recipes) or _has_references(rows):
        return rows
    give = "Give the file that has them: --answers FILE."
    if not benchmark.answers:
        raise UsageError(f"{rows.path}: has no references, and those of {benchmark.key} are not public. {give}")
    try:
        files = list_benchmark_files(benchmark, None)
    except UsageError as error:
        raise UsageError(f"{rows.path}: has no references. {give} Or: {error}") from None
    if len(files) > 1:
        message = f"has no references, and those of {benchmark.key} are in {len(files)} files"
        raise UsageError(
            f"{rows.path}: {message}. Convert it (mmconvert convert {benchmark.shortest_name} -o DIR), and give "
            "--answers DIR."
        )
    references = open_rows(str(files[0].path), required=("id",), format=files[0].defaults.format)
    return join(rows, references, allow_mismatch=allow_mismatch)


def _has_references(rows: Rows) -> bool:
    columns = sorted(REFERENCES & rows.names)
    batches = rows.read(columns) if columns else ()
    return any(has_value(batch.column(name)) for batch in batches for name in columns)
