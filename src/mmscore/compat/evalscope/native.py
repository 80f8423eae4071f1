"""A task for EvalScope's own benchmarks of custom data, as a plan of ours (docs/run.md)."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

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
    JudgeStrategy,
    Kinds,
    check_keys,
    key_variable,
    mapping_in,
    safe_name,
    texts_in,
)
from mmscore.infer.options import PredictOptions
from mmscore.kits.evalscope.aggregation import KINDS, MEAN, NEW
from mmscore.scoring.judging.request import JudgeOptions
from mmscore.workflow.score import ReportOptions
from mmscore.workflow.task_file import Conversion, DatasetTask, ModelTask, Plan

MOCKED = "Default output from mockllm/model"
"""What the framework's stand-in for a model says."""

MODEL_KEY = "EVALSCOPE_API_KEY"
"""Variable from which the framework, too, takes a key that the task does not have."""

_DATASET_ARGS: Kinds = {
    **dict.fromkeys(("local_path", "dataset_id"), PATH),
    **dict.fromkeys(("system_prompt", "prompt_template", "aggregation"), TEXT),
    **dict.fromkeys(("subset_list", "image_root"), ()),
}
_DATASET_ONLY: Mapping[str, Any] = {
    "few_shot_num": (0,),
    **dict.fromkeys(("shuffle", "shuffle_choices"), (False,)),
    **dict.fromkeys(("filters", "extra_params"), (None, {})),
}
_DATASET_WITHOUT_EFFECT = ("few_shot_random", "train_split", "review_timeout", "force_redownload", "name")
_PRECISION = "torch."
_GENERATION: Kinds = {
    **dict.fromkeys(BODY, ()),
    **dict.fromkeys(("max_tokens", "n", "num_beams"), WHOLE),
    **dict.fromkeys(("temperature", "timeout"), NUMBER),
    "do_sample": TRUTH,
    "stop_seqs": (list, tuple),
    "extra_body": (dict,),
}
_GENERATION_WITHOUT_EFFECT = ("stream", "batch_size")
JUDGE_KEY = "MODELSCOPE_SDK_TOKEN"
"""Variable from which the framework, too, takes a key that the task does not have."""
_SCORE_TYPES = {"pattern": "evalscope", "numeric": "evalscope_numeric"}
_MODEL: Kinds = {**dict.fromkeys(("model_id", "api_url", "api_key"), TEXT), "generation_config": ()}
_CONTRACT: Kinds = {
    **dict.fromkeys(("score_type", "score_pattern", "system_prompt", "prompt_template"), TEXT),
    "score_mapping": (),
}
_JUDGE: Kinds = {
    **dict.fromkeys(("strategy", "aggregation"), TEXT),
    **dict.fromkeys(("repeats", "min_valid_judges"), WHOLE),
    **dict.fromkeys(("models", "contract"), ()),
}
_JUDGE_GENERATION: Kinds = {
    **dict.fromkeys(BODY, ()),
    "max_tokens": WHOLE,
    "temperature": NUMBER,
    "stop_seqs": (list, tuple),
    "extra_body": (dict,),
}


class Benchmark(msgspec.Struct, frozen=True):
    """A benchmark of custom data.

    Attributes:
        pretty: How the framework's table calls it since 1.14.
        recipe: Recipe that scores it.
        split: Split that its files may be named after.
        conversion: How its files are converted.
    """

    pretty: str
    recipe: str
    split: str
    conversion: Conversion


CHOICES = "general_vmcq"
BENCHMARKS: Mapping[str, Benchmark] = {
    "general_vqa": Benchmark("General-VQA", "evalscope_general_vqa", "test", Conversion(format="openai_messages")),
    CHOICES: Benchmark("General-VMCQ", "evalscope_general_vmcq", "val", Conversion(format="vmcq", prompt="evalscope")),
}


class Subset(msgspec.Struct, frozen=True):
    """A file of a benchmark, which is a run of its own: `limit` counts the rows of each."""

    benchmark: str
    name: str

    @property
    def run(self) -> str:
        """Name of its folder, and of the framework's own files."""
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
                f"datasets: {name!r} is not a benchmark of custom data.{suggest_spelling(name, BENCHMARKS)} Known: "
                f"{', '.join(BENCHMARKS)}. A file of another benchmark is converted and scored by `mmscore run` with "
                "a task file of mmscore (docs/run.md)."
            )
        given = _arguments(config, name).get("subset_list") or ["default"]
        for subset in texts_in(given, f"dataset_args.{name}.subset_list"):
            yield Subset(name, subset)


def plan_native(config: Any, work_dir: Path, version: str, release: Release, keys: dict[str, str]) -> Plan:
    """Plan what a task asks for.

    Args:
        config: The keys of a `TaskConfig`.
        work_dir: Folder of the results.
        version: Version of the recipes.
        release: Release whose rule chooses among several files of a subset.
        keys: Collects what environment variables have to hold.

    Raises:
        UsageError: A value has no counterpart, or a file is missing.
    """
    datasets = tuple(_dataset(config, subset, version, release) for subset in subsets_of(config))
    judging = judge_options(config, version, keys)
    return Plan(work_dir, datasets, (_model(config, keys),), _scoring(config, release), judging)


def _scoring(config: Any, release: Release) -> ReportOptions:
    """Give the recipe's option for what a report has beside the mean."""
    kinds = {
        subset.benchmark: _arguments(config, subset.benchmark).get("aggregation") or MEAN
        for subset in subsets_of(config)
    }
    name, kind = next(((name, kind) for name, kind in kinds.items() if kind != MEAN), ("", MEAN))
    if kind == MEAN:
        return ReportOptions()
    where = f"dataset_args.{name}.aggregation"
    if kind not in KINDS:
        raise UsageError(f"{where}: expected one of {', '.join(KINDS)} {show(kind)}.")
    options = json.dumps({"aggregation": kind})
    if [*kinds] != [CHOICES] or release == NEW:
        raise UsageError(
            f"{where}: {kind} is for {CHOICES} in a task of its own, of releases before 1.11: later ones name no "
            f"metric for such a report. Leave it out, and score the predictions of {CHOICES} with "
            f"--recipe {BENCHMARKS[CHOICES].recipe} --recipe-options '{options}'."
        )
    return ReportOptions(recipe_options=options)


def _arguments(config: Any, name: str) -> dict[str, Any]:
    where = f"dataset_args.{name}"
    given = mapping_in(mapping_in(config.dataset_args, "dataset_args").get(name), where)
    only = {**_DATASET_ONLY, "eval_split": (BENCHMARKS[name].split, None)}
    check_keys(given, _DATASET_ARGS, _DATASET_WITHOUT_EFFECT, only, where)
    return given


def _dataset(config: Any, subset: Subset, version: str, release: Release) -> DatasetTask:
    given, benchmark = _arguments(config, subset.benchmark), BENCHMARKS[subset.benchmark]
    where = f"dataset_args.{subset.benchmark}"
    place = given.get("local_path") or given.get("dataset_id")
    if not place or not Path(place).exists():
        raise UsageError(f"{where}.local_path: expected a folder or file that exists {show(place)}.")
    file = _file(Path(place), subset, benchmark, release)
    conversion = benchmark.conversion
    if template := given.get("prompt_template"):
        if conversion.prompt is None:
            raise UsageError(f"{where}.prompt_template: has no effect in EvalScope, messages go out as they are.")
        worded = f"{conversion.prompt}:template={json.dumps(template, ensure_ascii=False)}"
        conversion = replace(conversion, prompt=worded)
    if text := given.get("system_prompt"):
        conversion = replace(conversion, transform=(f"system_prompt:text={json.dumps(text, ensure_ascii=False)}",))
    more = texts_in(given.get("image_root") or [], f"{where}.image_root")
    # The framework resolves relative paths where it was started; beside the data is the second guess.
    roots = (".", str(file.parent), *more)
    conversion = replace(conversion, dataset=subset.benchmark, subset=(subset.name,), image_root=roots, keep_urls=True)
    limit = _limit(config.limit, Path(place), subset, benchmark, release)
    return DatasetTask(subset.run, str(file), conversion, (f"{benchmark.recipe}@{version}",), limit)


def _file(place: Path, subset: Subset, benchmark: Benchmark, release: Release) -> Path:
    """Find the file as the framework does: up to 1.3 the last of several endings counts, then the first."""
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


def _limit(limit: Any, place: Path, subset: Subset, benchmark: Benchmark, release: Release) -> int | None:
    """Give the rows of a subset that are asked about; a share is one of its rows."""
    if not limit:
        return None
    if not math.isfinite(limit) or limit < 0:
        raise UsageError(f"limit: expected a number of rows, or a share of them {show(limit)}.")
    if isinstance(limit, float) and not limit.is_integer():
        rows = len(load_subset(place, subset.name, benchmark.split, limit=limit, release=release).rows)
        if not rows:
            raise UsageError(
                f"limit: {limit:g} of the rows of {subset.name!r} is none. Give a larger one, or a number."
            )
        return rows
    return int(limit)


def _model(config: Any, keys: dict[str, str]) -> ModelTask:
    kind = config.eval_type or (EvalType.SERVICE if config.api_url else EvalType.CHECKPOINT)
    if config.model is None or kind == EvalType.MOCK_LLM:
        name = config.model_id or safe_name(str(config.model or "dummy_model"))
        return ModelTask(name, PredictOptions(model=f"text={MOCKED}", backend="echo"), None)
    if not isinstance(config.model, str):
        raise UsageError(
            f"model: expected a name, a folder or a Hub id {show(config.model)}. A model object of yours answers with "
            "mmscore.predict(..., backend=...)."
        )
    name = safe_name(config.model_id or config.model)
    given = mapping_in(config.generation_config, "generation_config")
    if not given and kind == EvalType.SERVICE:
        # Only where there is no configuration at all does the framework set the temperature; else the service does.
        given["temperature"] = 0.0
    if config.timeout is not None:
        given.setdefault("timeout", config.timeout)
    if config.repeats and config.repeats > 1:
        given["n"] = config.repeats
    check_keys(given, _GENERATION, _GENERATION_WITHOUT_EFFECT, {}, "generation_config")
    if kind == EvalType.CHECKPOINT:
        return ModelTask(name, _drawn(_checkpoint(config, given)), None)
    if kind != EvalType.SERVICE:
        known = ", ".join((EvalType.SERVICE, EvalType.CHECKPOINT, EvalType.MOCK_LLM))
        raise UsageError(f"eval_type: has no counterpart here {show(kind)}. Known: {known}.")
    return ModelTask(name, _drawn(_service(config, given, keys)), None)


def _drawn(options: PredictOptions) -> PredictOptions:
    """Refuse several responses to a row that would all be the same, in the words of the framework's configuration."""
    if options.n > 1 and not (options.do_sample or options.temperature):
        raise UsageError(
            f"repeats: {options.n} greedy responses are all the same. Give generation_config a temperature."
        )
    return options


def _service(config: Any, given: Mapping[str, Any], keys: dict[str, str]) -> PredictOptions:
    check_keys(mapping_in(config.model_args, "model_args"), {}, (), {}, "model_args")
    temperature = given.get("temperature")
    body = {name: given[name] for name in BODY if given.get(name) is not None} | (given.get("extra_body") or {})
    # Repeats of a row are drawn from different seeds.
    seed = body.pop("seed", None) if temperature != 0 else None
    options = PredictOptions(
        model=config.model,
        backend="openai",
        base_url=(config.api_url,) if config.api_url else (),
        concurrency=config.eval_batch_size,
        api_key_env=key_variable(config.api_key, MODEL_KEY, keys),
        temperature=temperature,
        do_sample=temperature is None,
        seed=seed,
        extra_body=json.dumps(body) if body else None,
    )
    return _generation(options, given)


def _checkpoint(config: Any, given: Mapping[str, Any]) -> PredictOptions:
    arguments = mapping_in(config.model_args, "model_args")
    check_keys(arguments, {"precision": ()}, ("device_map",), {"revision": ("master", "main", None)}, "model_args")
    unheard = {name for name in (*BODY, "extra_body") if given.get(name) is not None} - {"top_k", "top_p", "seed"}
    if unheard:
        raise UsageError(f"generation_config.{min(unheard)}: only API servers take it. Leave it out.")
    drawn = given if given.get("do_sample") else {}
    options = PredictOptions(
        model=config.model,
        backend="transformers",
        batch_size="auto" if config.eval_batch_size is None else config.eval_batch_size,
        dtype=str(arguments["precision"]).removeprefix(_PRECISION) if "precision" in arguments else None,
        num_beams=given.get("num_beams"),
        do_sample=bool(drawn),
        temperature=drawn.get("temperature"),
        top_p=drawn.get("top_p"),
        top_k=drawn.get("top_k"),
        seed=drawn.get("seed"),
    )
    return _generation(options, {"max_tokens": 2048, **given})


def _generation(options: PredictOptions, given: Mapping[str, Any]) -> PredictOptions:
    n = given.get("n")
    return replace(
        options,
        max_new_tokens=given.get("max_tokens"),
        timeout=given.get("timeout"),
        n=1 if n is None else n,
        stop=tuple(given.get("stop_seqs") or ()),
    )


class _JudgeKeys(msgspec.Struct, frozen=True):
    """What a task says of its judges, in either of the two ways; `where`: the key under which models stand."""

    where: str
    strategy: str | None
    models: Sequence[Mapping[str, Any]]
    contract: Mapping[str, Any]
    repeats: int | None = None
    aggregation: str | None = None
    min_valid: int | None = None


def judge_options(config: Any, version: str, keys: dict[str, str]) -> JudgeOptions:
    """Give the options of the judge; by itself (`auto`) neither benchmark of custom data asks one.

    Args:
        config: The keys of a `TaskConfig`.
        version: Version of the judge.
        keys: Collects what environment variables have to hold.

    Raises:
        UsageError: A value has no counterpart, or it is not said whom to ask.
    """
    if config.judge is not None and config.judge_model_args:
        raise UsageError("judge and judge_model_args say the same in two ways. Leave one out.")
    given = _several(config.judge) if config.judge is not None else _one(config)
    strategy, contract = given.strategy or JudgeStrategy.AUTO, given.contract
    if strategy in (JudgeStrategy.AUTO, JudgeStrategy.RULE):
        return JudgeOptions()
    if strategy not in (JudgeStrategy.LLM, JudgeStrategy.LLM_RECALL):
        raise UsageError(f"judge_strategy: expected auto, rule, llm or llm_recall {show(strategy)}.")
    if not given.models:
        raise UsageError(f"judge_strategy {strategy!r}: no API server given. Give {given.where}.")
    kind = contract.get("score_type") or "pattern"
    if kind not in _SCORE_TYPES:
        raise UsageError(f"judge score_type: expected {' or '.join(_SCORE_TYPES)} {show(kind)}.")
    service, where = given.models[0], f"{given.where}.generation_config"
    generation = mapping_in(service.get("generation_config"), where)
    check_keys(generation, _JUDGE_GENERATION, ("stream",), {}, where)
    generation.pop("stream", None)
    if stop := generation.pop("stop_seqs", None):
        generation["stop"] = stop
    generation |= generation.pop("extra_body", None) or {}
    return JudgeOptions(
        judge=(f"{_SCORE_TYPES[kind]}@{version}",),
        judge_model=tuple(model["model_id"] for model in given.models if model.get("model_id")),
        judge_base_url=service.get("api_url"),
        api_key_env=key_variable(service.get("api_key"), JUDGE_KEY, keys),
        judge_strategy=strategy,
        judge_concurrency=config.judge_worker_num or config.eval_batch_size,
        judge_generation=json.dumps(generation) if generation else None,
        judge_score_mapping=json.dumps(contract["score_mapping"]) if contract.get("score_mapping") else None,
        judge_score_pattern=contract.get("score_pattern"),
        judge_prompt=_template(contract.get("prompt_template"), given.where),
        judge_system=contract.get("system_prompt"),
        judge_repeats=given.repeats,
        judge_aggregation=given.aggregation,
        judge_min_valid=given.min_valid,
    )


def _template(text: str | None, where: str) -> str | None:
    if text and "{pred}" not in text:
        raise UsageError(f"{where}: prompt_template lacks {{pred}}, the response that is judged {show(text)}.")
    return text or None


def _one(config: Any) -> _JudgeKeys:
    """Read the keys until 1.10: one model, whose arguments say how it judges, too."""
    where = "judge_model_args"
    given = mapping_in(config.judge_model_args, where)
    check_keys(given, {**_MODEL, **_CONTRACT}, (), {}, where)
    return _JudgeKeys(where, config.judge_strategy, [given] if given else [], given)


def _several(judge: Any) -> _JudgeKeys:
    """Read the key since 1.11: several models of one service."""
    given = mapping_in(judge, "judge")
    check_keys(given, _JUDGE, (), {"position_swap": ("auto", "off", None)}, "judge")
    listed = given.get("models") or []
    if not isinstance(listed, list):
        listed = [listed]
    models = [mapping_in(model, "judge.models") for model in listed]
    only: Mapping[str, Any] = {"eval_type": ("openai_api", None), "model_args": ({}, None)}
    for model in models:
        check_keys(model, _MODEL, ("judge_id",), only, "judge.models")
    names = ("model_id", "judge_id")
    services = [{key: value for key, value in model.items() if key not in names} for model in models]
    if any(service != services[0] for service in services):
        raise UsageError(
            "judge.models: differ in more than model_id. Give all of them one API server and generation_config."
        )
    contract = mapping_in(given.get("contract"), "judge.contract")
    check_keys(contract, _CONTRACT, (), {}, "judge.contract")
    panel = (given.get(key) for key in ("repeats", "aggregation", "min_valid_judges"))
    return _JudgeKeys("judge.models", given.get("strategy"), models, contract, *panel)
