"""Benchmarks and models named on the command line: the task that a file would hold, and such a file to begin with."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec

from mmconvert.benchmarks.catalogue import FRAMEWORKS, Benchmark, TaskGroup, find_benchmark
from mmconvert.core.errors import UsageError
from mmscore.core.recipe import OWN

_FIRST_BENCHMARK, _FIRST_MODEL = "MMStar", "Qwen/Qwen2.5-VL-3B-Instruct"


class NamedRun(msgspec.Struct, frozen=True, kw_only=True):
    """What is run where no task file says it."""

    benchmark: tuple[str, ...] = ()
    """Benchmark to run, by its name (`mmconvert list benchmarks`), instead of TASK. Repeatable."""
    model: tuple[str, ...] = ()
    """Model to run on each benchmark: a folder, a Hub id, or a name on the server. Repeatable."""
    base_url: tuple[str, ...] = ()
    """API server of the models, such as http://localhost:8000/v1. Repeatable: several share the samples."""
    serve: str | None = None
    """Server command to run for each model, such as "vllm serve {model}"; {model} stands for the model. It is ended
    afterwards."""
    backend: str | None = None
    """Backend of the models. [default: openai with --base-url or --serve, otherwise transformers]"""
    limit: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Run only the first N samples of each benchmark; scores are marked as partial."""
    allow_remote: bool = False
    """Fetch benchmarks that are not on this machine, and images from http(s) URLs in them."""
    also: tuple[str, ...] = ()
    """Score by the recipe of another framework as well: vlmevalkit, lmms_eval, evalscope, reform_eval, mmtrusteval or
    own. Repeatable, or separated by commas."""


def build_task(named: NamedRun) -> dict[str, Any]:
    """Give the task that a file would hold.

    Args:
        named: Benchmarks and models, at least one of each.

    Raises:
        UsageError: There is none, or a name is no benchmark's or framework's, or several frameworks'.
    """
    if not named.benchmark or not named.model:
        missing = "--benchmark NAME" if not named.benchmark else "--model MODEL"
        raise UsageError(f"what shall be run? Give {missing}, or a task file (--init FILE writes one to begin with).")
    benchmarks = [one for name in dict.fromkeys(named.benchmark) for one in _list_single(find_benchmark(name))]
    about = {"backend": named.backend, "base-url": [*named.base_url] or None, "serve": named.serve}
    task: dict[str, Any] = {
        "datasets": [_build_entry(one, named) for one in dict.fromkeys(benchmarks)],
        "models": [*dict.fromkeys(named.model)],
        "predict": {key: value for key, value in about.items() if value is not None},
        "also": split_frameworks(named.also),
    }
    return {key: value for key, value in task.items() if value}


def split_frameworks(names: Sequence[str]) -> list[str]:
    """Split names of frameworks at commas.

    Raises:
        UsageError: One is no framework's.

    Example:
        >>> split_frameworks(["lmms,own", "vlmevalkit"])
        ['lmms_eval', 'own', 'vlmevalkit']
    """
    found = []
    for name in (part.strip() for text in names for part in text.split(",")):
        known = {"lmms": "lmms_eval"}.get(name, name)
        if known not in (*FRAMEWORKS, OWN):
            raise UsageError(f"--also {name}: is no framework's prefix. Known: {', '.join((*FRAMEWORKS, OWN))}.")
        found.append(known)
    return [*dict.fromkeys(found)]


def _list_single(benchmark: Benchmark) -> Iterator[Benchmark]:
    """Give the benchmarks of a group, or the benchmark itself."""
    if not isinstance(benchmark.source, TaskGroup):
        yield benchmark
        return
    for name in benchmark.source.names:
        yield from _list_single(find_benchmark(f"{benchmark.framework}:{name}"))


def _build_entry(benchmark: Benchmark, named: NamedRun) -> dict[str, Any]:
    name = benchmark.shortest_name
    entry: dict[str, Any] = {"input": name, "name": name.replace(":", "-")}
    if benchmark.recipe is not None:
        entry["recipes"] = [benchmark.recipe]
    if named.allow_remote:
        entry["allow-remote"] = True
    return entry if named.limit is None else {**entry, "limit": named.limit}


def format_first_task(named: NamedRun) -> str:
    """Write a task file with a comment for each choice, with what is named or an example in its place.

    Raises:
        UsageError: As `build_task`.
    """
    filled = msgspec.structs.replace(
        named, benchmark=named.benchmark or (_FIRST_BENCHMARK,), model=named.model or (_FIRST_MODEL,)
    )
    task = build_task(filled)
    lines = ["# mmscore run FILE --work-dir runs", "", "# Names of benchmarks (mmconvert list benchmarks), or files."]
    lines.append("datasets:")
    for entry in task["datasets"]:
        first, *others = [f"{key}: {_format_value(value)}" for key, value in entry.items()]
        lines += [f"  - {first}", *(f"    {other}" for other in others)]
    lines += [
        "    # allow-remote: true          # fetch it where it is not on this machine",
        "    # limit: 100                  # only the first samples",
        "",
        "# A folder, a Hub id, or a name on the server of base-url.",
        "models:",
        *(f"  - model: {_format_value(model)}" for model in task["models"]),
        "    # name: my-model              # its folder, and its name in reports",
        "",
        "# Options of mmscore predict, for every model.",
        "predict:",
        *(f"  {key}: {_format_value(value)}" for key, value in task.get("predict", {}).items()),
        "  # base-url: http://localhost:8000/v1",
        "  # serve: vllm serve {model}    # or have the server started, and ended afterwards",
        "  # max-new-tokens: 512",
        "  temperature: 0",
        "",
        "# Options of mmscore score.",
        "score:",
        "  by: [category]",
        "  # judge: [vlmevalkit_option]",
        "  # judge-model: gpt-4o-mini",
        "",
        "# Recipes of other frameworks, side by side.",
        f"also: {_format_value(task.get('also', []))}",
    ]
    return "\n".join(lines) + "\n"


def _format_value(value: Any) -> str:
    return msgspec.json.encode(value).decode()  # JSON is YAML
