"""The judge of an EvalScope task as options of `mmscore score`: the keys until 1.10, and `judge` since 1.11."""

import json
from collections.abc import Mapping
from typing import Any

from mmconvert.core.errors import UsageError, show
from mmscore.compat.evalscope.config import (
    BODY,
    NUMBER,
    TEXT,
    WHOLE,
    JudgeStrategy,
    Kinds,
    check_keys,
    key_variable,
    mapping_in,
)

JUDGE_KEY = "MODELSCOPE_SDK_TOKEN"
"""Variable from which the kit, too, takes a key that the task does not have."""

_SCORE_TYPES = {"pattern": "evalscope", "numeric": "evalscope_numeric"}
_MODEL: Kinds = {**dict.fromkeys(("model_id", "api_url", "api_key"), TEXT), "generation_config": ()}
_CONTRACT: Kinds = {**dict.fromkeys(("score_type", "score_pattern"), TEXT), "score_mapping": ()}
_WORDING: Mapping[str, Any] = {"system_prompt": (None,), "prompt_template": (None,)}
_JUDGE: Kinds = {
    **dict.fromkeys(("strategy", "aggregation"), TEXT),
    **dict.fromkeys(("repeats", "min_valid_judges"), WHOLE),
    **dict.fromkeys(("models", "contract"), ()),
}
_GENERATION: Kinds = {
    **dict.fromkeys(BODY, ()),
    "max_tokens": WHOLE,
    "temperature": NUMBER,
    "stop_seqs": (list, tuple),
    "extra_body": (dict,),
}


def judge_options(config: Any, version: str, keys: dict[str, str]) -> dict[str, Any]:
    """Write the options; by itself (`auto`) neither benchmark of custom data asks a judge.

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
    strategy = given["strategy"] or JudgeStrategy.AUTO
    if strategy in (JudgeStrategy.AUTO, JudgeStrategy.RULE):
        return {}
    if strategy not in (JudgeStrategy.LLM, JudgeStrategy.LLM_RECALL):
        raise UsageError(f"judge_strategy: expected auto, rule, llm or llm_recall {show(strategy)}.")
    models, contract = given["models"], given["contract"]
    if not models:
        raise UsageError(f"judge_strategy {strategy!r}: whom to ask? Give {given['where']}.")
    kind = contract.get("score_type") or "pattern"
    if kind not in _SCORE_TYPES:
        raise UsageError(f"judge score_type: expected {' or '.join(_SCORE_TYPES)} {show(kind)}.")
    generation = _generation(models[0], given["where"])
    options = {
        "judge": [f"{_SCORE_TYPES[kind]}@{version}"],
        "judge-model": [model["model_id"] for model in models if model.get("model_id")] or None,
        "judge-base-url": models[0].get("api_url"),
        "api-key-env": key_variable(models[0].get("api_key"), JUDGE_KEY, keys),
        "judge-strategy": strategy,
        "judge-concurrency": config.judge_worker_num or config.eval_batch_size,
        "judge-generation": json.dumps(generation) if generation else None,
        "judge-score-mapping": json.dumps(contract["score_mapping"]) if contract.get("score_mapping") else None,
        "judge-score-pattern": contract.get("score_pattern"),
        **given["panel"],
    }
    return {name: value for name, value in options.items() if value is not None}


def _one(config: Any) -> dict[str, Any]:
    """Read the keys until 1.10: one model, whose arguments say how it judges, too."""
    where = "judge_model_args"
    given = mapping_in(config.judge_model_args, where)
    check_keys(given, {**_MODEL, **_CONTRACT}, (), _WORDING, where)
    models = [given] if given else []
    return {"strategy": config.judge_strategy, "models": models, "contract": given, "panel": {}, "where": where}


def _several(judge: Any) -> dict[str, Any]:
    """Read the key since 1.11: several models of one service."""
    given = mapping_in(judge, "judge")
    check_keys(given, _JUDGE, (), {"position_swap": ("auto", "off", None)}, "judge")
    listed = given.get("models") or []
    if not isinstance(listed, list):
        listed = [listed]
    models = [mapping_in(model, "judge.models") for model in listed]
    for model in models:
        check_keys(
            model, _MODEL, ("judge_id",), {"eval_type": ("openai_api", None), "model_args": ({}, None)}, "judge.models"
        )
    if any(_without_name(model) != _without_name(models[0]) for model in models):
        raise UsageError(
            "judge.models: differ in more than model_id. Give all of them one service and generation_config."
        )
    contract = mapping_in(given.get("contract"), "judge.contract")
    check_keys(contract, _CONTRACT, (), _WORDING, "judge.contract")
    panel = {
        "judge-repeats": given.get("repeats"),
        "judge-aggregation": given.get("aggregation"),
        "judge-min-valid": given.get("min_valid_judges"),
    }
    return {
        "strategy": given.get("strategy"),
        "models": models,
        "contract": contract,
        "panel": panel,
        "where": "judge.models",
    }


def _without_name(model: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in model.items() if name not in ("model_id", "judge_id")}


def _generation(model: Mapping[str, Any], where: str) -> dict[str, Any]:
    where = f"{where}.generation_config"
    generation = mapping_in(model.get("generation_config"), where)
    check_keys(generation, _GENERATION, ("stream",), {}, where)
    generation.pop("stream", None)
    if stop := generation.pop("stop_seqs", None):
        generation["stop"] = stop
    more = generation.pop("extra_body", None) or {}
    return {**generation, **more}
