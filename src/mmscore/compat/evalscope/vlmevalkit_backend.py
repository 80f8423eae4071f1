"""A task for EvalScope's VLMEvalKit backend, `eval_config`, as a plan of ours (docs/run.md)."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mmconvert.core.errors import UsageError, build_missing_path_error, show, suggest_spelling
from mmconvert.core.text.yaml import read_mapping_file
from mmconvert.kits.vlmevalkit.datasets import find_lmudata_root
from mmscore.compat.evalscope.config import (
    DEFAULT_WORK_DIR,
    FILES,
    NUMBER,
    PATH,
    TEXT,
    TRUTH,
    WHOLE,
    Kinds,
    TaskConfig,
    check_keys,
    key_variable,
    mapping_in,
    texts_in,
)
from mmscore.infer.options import PredictOptions
from mmscore.scoring.judging.request import JudgeOptions
from mmscore.workflow.score import ReportOptions
from mmscore.workflow.task_file import Conversion, DatasetTask, ModelTask, Plan

MODES: Mapping[str, str] = {"all": "all", "infer": "predict", "eval": "score"}
"""The backend's word for what is done, and that of `mmscore run`."""

API_MODEL = "CustomAPIModel"
RULES_ALONE = "exact_matching"
OPTION_JUDGE = "vlmevalkit_option"
CHOICES = "vlmevalkit_mcq@v2"
"""Rules of the VLMEvalKit that EvalScope installs, ms-vlmeval 0.0.20."""

SHORT_ANSWERS = "own_short_answer"
"""For questions without options: the framework's own class for them scores nothing."""

_OTHER_REPORTS = ("mmbench", "ccbench", "circular", "mmcr", "mmt", "mmvp", "mmmu")
"""Words in the names of benchmarks whose choices the framework scores otherwise; there the recipe follows from the
name."""

_KEYS: Kinds = {
    **dict.fromkeys(("model", "data", "mode"), ()),
    "reuse": TRUTH,
    **dict.fromkeys(("limit", "nproc"), WHOLE),
    "work_dir": PATH,
    **dict.fromkeys(("judge", "OPENAI_API_KEY", "OPENAI_API_BASE", "LOCAL_LLM"), TEXT),
}
_WITHOUT_EFFECT = ("verbose", "ignore", "reuse_aux", "fps", "nframe", "pack", "use_subtitle")
_ONLY: Mapping[str, Any] = {"config": (None,), "judge_args": (None,), "use_vllm": (False,), "retry": (None,)}
_MODEL_KEYS: Kinds = {
    **dict.fromkeys(("type", "name", "api_base", "key", "system_prompt", "model_path"), TEXT),
    **dict.fromkeys(("temperature", "timeout"), NUMBER),
    **dict.fromkeys(("img_size", "max_tokens"), WHOLE),
}
_MODEL_ONLY: Mapping[str, Any] = {"use_azure": (False,), "video_llm": (False,)}
_MODEL_WITHOUT_EFFECT = ("img_detail", "verbose")
_MAX_TOKENS = 2048
"""Most tokens of a response where the task does not say."""


def eval_config_of(config: TaskConfig) -> dict[str, Any]:
    """Give the backend's keys, from the task or the file that it names.

    Raises:
        UsageError: There are none, or one has no counterpart.
    """
    given = config.eval_config
    if isinstance(given, str):
        if Path(given).suffix not in FILES or not Path(given).is_file():
            raise build_missing_path_error(Path(given))
        given = read_mapping_file(given)
    keys = mapping_in(given, "eval_config")
    check_keys(keys, _KEYS, _WITHOUT_EFFECT, _ONLY, "eval_config")
    if str(keys.get("mode", "all")) not in MODES:
        raise UsageError(f"eval_config.mode: expected {', '.join(MODES)} {show(keys['mode'])}.")
    return keys


def work_dir_of(config: TaskConfig, keys: Mapping[str, Any]) -> str:
    """Name the folder of the results; nothing is added to it."""
    return str(config.use_cache or config.work_dir or keys.get("work_dir") or DEFAULT_WORK_DIR)


def plan_vlmevalkit(config: TaskConfig, secrets: dict[str, str]) -> Plan:
    """Plan what a task asks for.

    Args:
        config: The task.
        secrets: Collects what environment variables have to hold.

    Raises:
        UsageError: A value has no counterpart, or a table is missing.
    """
    keys = eval_config_of(config)
    data, models = texts_in(keys.get("data"), "eval_config.data"), keys.get("model")
    if not data or not isinstance(models, list) or not models:
        raise UsageError("eval_config: expected lists model: and data: with at least one entry.")
    return Plan(
        Path(work_dir_of(config, keys)),
        tuple(_dataset(name, keys.get("limit")) for name in data),
        tuple(_model(entry, number, keys, secrets) for number, entry in enumerate(models)),
        ReportOptions(),
        _judge(keys, secrets),
        MODES[keys.get("mode", "all")],
    )


def models_of(keys: Mapping[str, Any]) -> Iterator[tuple[ModelTask, dict[str, str]]]:
    """List the models of the backend's keys, each with what environment variables have to hold.

    Raises:
        UsageError: A value has no counterpart.
    """
    for number, entry in enumerate(keys.get("model") or ()):
        secrets: dict[str, str] = {}
        yield _model(entry, number, keys, secrets), secrets


def _dataset(name: str, limit: int | None) -> DatasetTask:
    table = find_lmudata_root() / f"{name}.tsv"
    if not table.is_file():
        near = suggest_spelling(str(name), [file.stem for file in table.parent.glob("*.tsv")])
        raise UsageError(f"eval_config.data: there is no table {table}.{near} Nothing is fetched; put it there.")
    roots = (".", str(table.parent))
    conversion = Conversion(format="lmudata", dataset=name, prompt="vlmevalkit", image_root=roots)
    return DatasetTask(name, str(table), conversion, _recipes(table), limit or None)


def _recipes(table: Path) -> tuple[str, ...]:
    """Choose as the framework does: by the columns of a table that it does not know."""
    if any(word in table.stem.lower() for word in _OTHER_REPORTS):
        return ()
    with table.open(encoding="utf-8-sig") as file:
        columns = {heading.strip().strip('"') for heading in file.readline().split("\t")}
    return (CHOICES,) if {"A", "B"} <= columns else (SHORT_ANSWERS,)


def _model(entry: Any, number: int, keys: Mapping[str, Any], secrets: dict[str, str]) -> ModelTask:
    where = f"eval_config.model[{number}]"
    if not isinstance(entry, Mapping):
        raise UsageError(
            f"{where}: expected type, name, api_base and so on {show(entry)}. Models by name are the framework's."
        )
    check_keys(entry, _MODEL_KEYS, _MODEL_WITHOUT_EFFECT, _MODEL_ONLY, where)
    options = PredictOptions(
        model="",
        max_new_tokens=entry.get("max_tokens", _MAX_TOKENS),
        temperature=entry.get("temperature") or None,
        max_image_side=None if entry.get("img_size", -1) == -1 else entry["img_size"],
        system=entry.get("system_prompt"),
    )
    if entry.get("name") != API_MODEL:
        if not (path := entry.get("model_path")):
            raise UsageError(
                f"{where}: {show(entry.get('name'))} is a name of the framework's. Give name: {API_MODEL} "
                "and api_base:, or "
                "model_path: with a folder or Hub id."
            )
        name = entry.get("name") or os.path.basename(path)
        return ModelTask(name, replace(options, model=path, backend="transformers"), None)
    if not entry.get("type") or not entry.get("api_base"):
        raise UsageError(f"{where}: {API_MODEL} needs type: (the model's name there) and api_base:.")
    options = replace(
        options,
        model=entry["type"],
        backend="openai",
        base_url=(entry["api_base"],),
        api_key_env=key_variable(entry.get("key"), f"EVALSCOPE_API_KEY_{number}", secrets),
        concurrency=keys.get("nproc"),
        timeout=entry.get("timeout"),
    )
    return ModelTask(os.path.basename(entry["type"]).replace(":", "-").replace(".", "_"), options, None)


def _judge(keys: Mapping[str, Any], secrets: dict[str, str]) -> JudgeOptions:
    """Give the options of the judge: without a service for it, the rules stand alone."""
    model, service = keys.get("LOCAL_LLM") or keys.get("judge"), keys.get("OPENAI_API_BASE")
    if keys.get("judge") == RULES_ALONE or not service:
        if model not in (None, RULES_ALONE):
            raise UsageError("eval_config.judge: no API server given. Give OPENAI_API_BASE.")
        return JudgeOptions()
    return JudgeOptions(
        judge=(OPTION_JUDGE,),
        judge_model=(model,) if model else (),
        judge_base_url=service,
        api_key_env=key_variable(keys.get("OPENAI_API_KEY"), "EVALSCOPE_JUDGE_API_KEY", secrets),
        judge_concurrency=keys.get("nproc"),
    )
