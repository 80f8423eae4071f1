"""A task for EvalScope's own benchmarks of custom data, as a task of ours (docs/run.md)."""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from mmconvert.core.errors import UsageError, show, suggest_spelling
from mmconvert.kits.evalscope.files import load_subset
from mmconvert.kits.evalscope.release import Release
from mmscore.compat.evalscope.config import (
    BODY,
    NUMBER,
    PATH,
    TEXT,
    TRUTH,
    WHOLE,
    EvalType,
    Kinds,
    check_keys,
    key_variable,
    mapping_in,
    safe_name,
    texts_in,
)
from mmscore.compat.evalscope.judge_keys import judge_options

MOCKED = "Default output from mockllm/model"
"""What the kit's stand-in for a model says."""

MODEL_KEY = "EVALSCOPE_API_KEY"
"""Variable from which the kit, too, takes a key that the task does not have."""

_DATASET_ARGS: Kinds = {
    **dict.fromkeys(("local_path", "dataset_id"), PATH),
    **dict.fromkeys(("system_prompt", "prompt_template"), TEXT),
    **dict.fromkeys(("subset_list", "image_root"), ()),
}
_DATASET_ONLY: Mapping[str, Any] = {
    "few_shot_num": (0,),
    "shuffle": (False,),
    "shuffle_choices": (False,),
    "aggregation": ("mean",),
    "filters": (None, {}),
    "extra_params": (None, {}),
}
_DATASET_WITHOUT_EFFECT = ("few_shot_random", "train_split", "review_timeout", "force_redownload", "name")
_PRECISION = "torch."
_OPTION_OF = {"max_tokens": "max-new-tokens", "timeout": "timeout", "n": "n"}
_GENERATION: Kinds = {
    **dict.fromkeys(BODY, ()),
    **dict.fromkeys(("max_tokens", "n", "num_beams"), WHOLE),
    **dict.fromkeys(("temperature", "timeout"), NUMBER),
    "do_sample": TRUTH,
    "stop_seqs": (list, tuple),
    "extra_body": (dict,),
}
_GENERATION_WITHOUT_EFFECT = ("stream", "batch_size")


class Benchmark(msgspec.Struct, frozen=True):
    """A benchmark of custom data.

    Attributes:
        pretty: How the kit's table calls it since 1.14.
        recipe: Recipe that scores it.
        split: Split that its files may be named after.
        conversion: Options of `mmconvert convert`.
    """

    pretty: str
    recipe: str
    split: str
    conversion: Mapping[str, Any]


BENCHMARKS: Mapping[str, Benchmark] = {
    "general_vqa": Benchmark("General-VQA", "evalscope_general_vqa", "test", {"format": "openai_messages"}),
    "general_vmcq": Benchmark(
        "General-VMCQ", "evalscope_general_vmcq", "val", {"format": "vmcq", "prompt": "evalscope"}
    ),
}


class Subset(msgspec.Struct, frozen=True):
    """A file of a benchmark, which is a run of its own: `limit` counts the rows of each."""

    benchmark: str
    name: str

    @property
    def run(self) -> str:
        """Name of its folder, and of the kit's own files."""
        return f"{self.benchmark}_{self.name}"


def subsets_of(config: Any) -> Iterator[Subset]:
    """List what a task asks about, in its order.

    Raises:
        UsageError: A benchmark is unknown.
    """
    names = texts_in(config.datasets, "datasets")
    if not names:
        raise UsageError(f"datasets: expected names of benchmarks. Known: {', '.join(BENCHMARKS)}.")
    for name in names:
        if name not in BENCHMARKS:
            raise UsageError(
                f"datasets: {name!r} is no benchmark of custom data.{suggest_spelling(name, BENCHMARKS)} Known: "
                f"{', '.join(BENCHMARKS)}. A file of another benchmark is converted and scored by `mmscore run` with "
                "a task of ours (docs/run.md)."
            )
        given = _arguments(config, name).get("subset_list") or ["default"]
        for subset in texts_in(given, f"dataset_args.{name}.subset_list"):
            yield Subset(name, subset)


def task_of_native(config: Any, version: str, release: Release, keys: dict[str, str]) -> dict[str, Any]:
    """Write a task of ours.

    Args:
        config: The keys of a `TaskConfig`.
        version: Version of the recipes.
        release: Release whose rule chooses among several files of a subset.
        keys: Collects what environment variables have to hold.

    Returns:
        What a file of `mmscore run` holds, without `work-dir`.

    Raises:
        UsageError: A value has no counterpart, or a file is missing.
    """
    datasets = [_dataset(config, subset, version, release) for subset in subsets_of(config)]
    return {"datasets": datasets, "models": [_model(config, keys)], "score": judge_options(config, version, keys)}


def _arguments(config: Any, name: str) -> dict[str, Any]:
    where = f"dataset_args.{name}"
    given = mapping_in(mapping_in(config.dataset_args, "dataset_args").get(name), where)
    only = {**_DATASET_ONLY, "eval_split": (BENCHMARKS[name].split, None)}
    check_keys(given, _DATASET_ARGS, _DATASET_WITHOUT_EFFECT, only, where)
    return given


def _dataset(config: Any, subset: Subset, version: str, release: Release) -> dict[str, Any]:
    given, benchmark = _arguments(config, subset.benchmark), BENCHMARKS[subset.benchmark]
    where = f"dataset_args.{subset.benchmark}"
    place = given.get("local_path") or given.get("dataset_id")
    if not place or not Path(place).exists():
        raise UsageError(f"{where}.local_path: expected a folder or file that exists {show(place)}.")
    file = _file(Path(place), subset, benchmark, release)
    conversion = dict(benchmark.conversion)
    if template := given.get("prompt_template"):
        conversion["prompt"] = _worded(conversion, template, where)
    if text := given.get("system_prompt"):
        conversion["transform"] = [f"system_prompt:text={json.dumps(text, ensure_ascii=False)}"]
    more = texts_in(given.get("image_root") or [], f"{where}.image_root")
    return {
        "input": str(file),
        "name": subset.run,
        "dataset": subset.benchmark,
        "subset": [subset.name],
        # The kit resolves relative paths where it was started; beside the data is the second guess.
        "image-root": [".", str(file.parent), *more],
        "keep-urls": True,
        "recipes": [f"{benchmark.recipe}@{version}"],
        **conversion,
        **_limit(config.limit, Path(place), subset, benchmark, release),
    }


def _worded(conversion: Mapping[str, Any], template: str, where: str) -> str:
    if "prompt" not in conversion:
        raise UsageError(f"{where}.prompt_template: has no effect in EvalScope, messages go out as they are.")
    return f"{conversion['prompt']}:template={json.dumps(template, ensure_ascii=False)}"


def _file(place: Path, subset: Subset, benchmark: Benchmark, release: Release) -> Path:
    """Find the file as the kit does: up to 1.3 the last of several endings counts, then the first."""
    if place.is_file():
        return place
    endings = [".jsonl", ".csv", ".tsv"] if release != "1.3.0" else [".tsv", ".csv", ".jsonl"]
    names = [f"{name}{ending}" for ending in endings for name in (f"{subset.name}_{benchmark.split}", subset.name)]
    for name in names:
        if (place / name).is_file() and (place / name).stat().st_size:
            return place / name
    if empty := next((place / name for name in names if (place / name).is_file()), None):
        raise UsageError(f"{empty}: is empty. Write the rows of the subset into it.")
    near = suggest_spelling(subset.name, [file.stem for file in place.iterdir()])
    raise UsageError(f"{place}: none of {', '.join(names)} is there.{near} See subset_list.")


def _limit(limit: Any, place: Path, subset: Subset, benchmark: Benchmark, release: Release) -> dict[str, int]:
    """Give the rows of a subset that are asked about; a share is one of its rows."""
    if not limit:
        return {}
    if not math.isfinite(limit) or limit < 0:
        raise UsageError(f"limit: expected a number of rows, or a share of them {show(limit)}.")
    if isinstance(limit, float) and not limit.is_integer():
        rows = len(load_subset(place, subset.name, benchmark.split, limit=limit, release=release).rows)
        if not rows:
            raise UsageError(
                f"limit: {limit:g} of the rows of {subset.name!r} is none. Give a larger one, or a number."
            )
        return {"limit": rows}
    return {"limit": int(limit)}


def _model(config: Any, keys: dict[str, str]) -> dict[str, Any]:
    kind = config.eval_type or (EvalType.SERVICE if config.api_url else EvalType.CHECKPOINT)
    if config.model is None or kind == EvalType.MOCK_LLM:
        name = config.model_id or safe_name(str(config.model or "dummy_model"))
        return {"model": f"text={MOCKED}", "backend": "echo", "name": name}
    if not isinstance(config.model, str):
        raise UsageError(
            f"model: expected a name, a folder or a Hub id {show(config.model)}. A model object of yours answers with "
            "mmscore.predict(..., backend=...)."
        )
    model = {"model": config.model, "name": safe_name(config.model_id or config.model)}
    given = mapping_in(config.generation_config, "generation_config")
    if not given and kind == EvalType.SERVICE:
        # Only where there is no configuration at all does the kit set the temperature; else the service does.
        given["temperature"] = 0.0
    if config.timeout is not None:
        given.setdefault("timeout", config.timeout)
    if config.repeats and config.repeats > 1:
        given["n"] = config.repeats
    check_keys(given, _GENERATION, _GENERATION_WITHOUT_EFFECT, {}, "generation_config")
    if kind == EvalType.CHECKPOINT:
        return _drawn({**model, **_checkpoint(config, given)})
    if kind != EvalType.SERVICE:
        known = ", ".join((EvalType.SERVICE, EvalType.CHECKPOINT, EvalType.MOCK_LLM))
        raise UsageError(f"eval_type: has no counterpart here {show(kind)}. Known: {known}.")
    return _drawn({**model, **_service(config, given, keys)})


def _drawn(model: dict[str, Any]) -> dict[str, Any]:
    """Refuse several replies to a row that would all be the same, in the words of the kit's configuration."""
    if model.get("n", 1) > 1 and not (model.get("do-sample") or model.get("temperature")):
        raise UsageError(
            f"repeats: {model['n']} greedy replies are all the same. Give generation_config a temperature."
        )
    return model


def _service(config: Any, given: dict[str, Any], keys: dict[str, str]) -> dict[str, Any]:
    check_keys(mapping_in(config.model_args, "model_args"), {}, (), {}, "model_args")
    options: dict[str, Any] = {"backend": "openai", "base-url": config.api_url, "concurrency": config.eval_batch_size}
    options["api-key-env"] = key_variable(config.api_key, MODEL_KEY, keys)
    temperature = given.get("temperature")
    options |= {"temperature": temperature} if temperature is not None else {"do-sample": True}
    body = {name: given[name] for name in BODY if given.get(name) is not None} | (given.get("extra_body") or {})
    if "seed" in body and temperature != 0:
        # Repeats of a row are drawn from different seeds.
        options["seed"] = body.pop("seed")
    return {**_plain(options, given), **({"extra-body": json.dumps(body)} if body else {})}


def _checkpoint(config: Any, given: dict[str, Any]) -> dict[str, Any]:
    arguments = mapping_in(config.model_args, "model_args")
    check_keys(arguments, {"precision": ()}, ("device_map",), {"revision": ("master", "main", None)}, "model_args")
    options: dict[str, Any] = {"backend": "transformers", "batch-size": config.eval_batch_size}
    options["dtype"] = str(arguments["precision"]).removeprefix(_PRECISION) if "precision" in arguments else None
    options |= {"num-beams": given.get("num_beams")}
    if given.get("do_sample"):
        drawn = ("temperature", "top_p", "top_k", "seed")
        options |= {"do-sample": True, **{name.replace("_", "-"): given.get(name) for name in drawn}}
    unheard = {name for name in (*BODY, "extra_body") if given.get(name) is not None} - {"top_k", "top_p", "seed"}
    if unheard:
        raise UsageError(f"generation_config.{min(unheard)}: only services take it. Leave it out.")
    return _plain(options, {"max_tokens": 2048, **given})


def _plain(options: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    named = {ours: given.get(theirs) for theirs, ours in _OPTION_OF.items()}
    stop = {"stop": list(given["stop_seqs"])} if given.get("stop_seqs") else {}
    return {name: value for name, value in {**named, **options}.items() if value is not None} | stop
