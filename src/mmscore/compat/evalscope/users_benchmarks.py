"""Benchmarks of the VLMEvalKit backend whose class is the user's: asked and evaluated by that kit's door."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mmconvert.kits.vlmevalkit.datasets import find_lmudata_root
from mmscore.compat.vlmevalkit import run
from mmscore.compat.vlmevalkit.datasets import find_dataset_class

if TYPE_CHECKING:
    from mmscore.compat.evalscope.vlmevalkit_backend import Model

_DOOR = "mmscore.compat.vlmevalkit"
_METHODS = ("load_data", "build_prompt", "evaluate")


def is_users(name: str) -> bool:
    """Tell whether a benchmark is read, worded or evaluated by code of the user's: a class, or methods put into one.

    Args:
        name: The benchmark; its table need not be there.
    """
    if not (find_lmudata_root() / f"{name}.tsv").is_file():
        return False
    named = find_dataset_class(name)
    return any(not getattr(named, method).__module__.startswith(_DOOR) for method in _METHODS)


def run_users(
    name: str, model: "Model", keys: Mapping[str, Any], work_dir: str
) -> tuple[Sequence[Mapping[str, Any]], str]:
    """Ask a model about a benchmark and evaluate what it says, as the task's mode wants.

    Args:
        name: The benchmark.
        model: Whom to ask.
        keys: The backend's keys.
        work_dir: Folder of the results.

    Returns:
        What `evaluate` gave, a row a mapping; and why rows are not in it, empty where all are.

    Raises:
        UsageError: An option is refused, or there is nothing to evaluate.
        Error: A file cannot be read or written.
    """
    options = {option.replace("-", "_"): value for option, value in model.options.items()}
    if keys.get("limit"):
        options["limit"] = keys["limit"]
    given = {"model": keys.get("judge"), "nproc": keys.get("nproc")}
    judge = {argument: value for argument, value in given.items() if value is not None}
    mode = keys.get("mode", "all")
    reuse = keys.get("reuse", False)
    done = run(name, work_dir=work_dir, mode=mode, reuse=reuse, judge_kwargs=judge, **options)
    lacking = [f"{name}: row refused: {reason}" for reason in done.refused[:1]]
    if done.summary is not None and done.summary.failed:
        lacking.append(f"{name}: {done.summary.failed} rows have no reply.")
    return done.result, " ".join(lacking)
