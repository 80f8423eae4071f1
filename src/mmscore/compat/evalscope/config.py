"""What a task of EvalScope says: the keys of `TaskConfig`, from Python, a dict, or a YAML or JSON file."""

import os
import re
import unicodedata
from collections.abc import Collection, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from mmconvert.core.errors import UsageError, build_missing_path_error, show, suggest_spelling
from mmconvert.core.text.yaml import read_mapping_file

FILES = (".yaml", ".yml", ".json")
DEFAULT_WORK_DIR = "./outputs"

DEFAULTS: Mapping[str, Any] = {
    "model": None,
    "model_id": None,
    "model_args": None,
    "datasets": (),
    "dataset_args": None,
    "eval_type": None,
    "eval_backend": "Native",
    "eval_config": None,
    "eval_batch_size": None,
    "limit": None,
    "repeats": 1,
    "generation_config": None,
    "timeout": None,
    "api_url": None,
    "api_key": None,
    "judge": None,
    "judge_strategy": "auto",
    "judge_model_args": None,
    "judge_worker_num": None,
    "work_dir": None,
    "no_timestamp": False,
    "use_cache": None,
    "ignore_errors": False,
    "evalscope_version": None,
}
"""Keys that mean something here, with the values of tasks that leave them out."""

Kinds = Mapping[str, tuple[type, ...]]
"""What each key takes; () for whatever its own reader takes. None is the same as leaving the key out."""

TEXT, PATH, WHOLE, NUMBER, TRUTH = (str,), (str, Path), (int,), (int, float), (bool,)

KINDS: Kinds = {
    **dict.fromkeys(DEFAULTS, ()),
    **dict.fromkeys(("model_id", "eval_type", "eval_backend", "api_url", "api_key", "judge_strategy"), TEXT),
    **dict.fromkeys(("work_dir", "use_cache"), PATH),
    **dict.fromkeys(("eval_batch_size", "repeats", "judge_worker_num"), WHOLE),
    **dict.fromkeys(("limit", "timeout"), NUMBER),
    **dict.fromkeys(("no_timestamp", "ignore_errors"), TRUTH),
    "evalscope_version": TEXT,
}

WITHOUT_EFFECT = frozenset(
    ("dataset_dir", "dataset_hub", "debug", "enable_progress_tracker", "rerun_review", "seed", "stream")
)
"""Keys that change no number for files on this machine: hub, order of prints, seeds that nothing draws from."""

ONLY: Mapping[str, Collection[Any]] = {
    "model_task": ("text_generation",),
    "analysis_report": (False,),
    "chat_template": (None,),
    "collect_perf": (False,),
    "dry_run": (False,),
    "use_sandbox": (False,),
    "sandbox_type": ("docker", None),
    "sandbox_manager_config": ({}, None),
}
"""Keys that pass with the value that asks for nothing."""

BODY = (
    *("top_k", "top_p", "seed", "frequency_penalty", "presence_penalty", "repetition_penalty", "logit_bias"),
    *("logprobs", "top_logprobs", "reasoning_effort"),
)
"""Fields of a request that the framework sends as they are."""

_KIND_NAMES = {
    str: "a text",
    list: "a list",
    tuple: "a tuple",
    dict: "names and values",
    Path: "a path",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}
_SAFE = re.compile(r"[^A-Za-z0-9._-]")
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
_EMPTY = "EMPTY"


class EvalType:
    """Where a model is, as `eval_type` says it."""

    CHECKPOINT = "llm_ckpt"
    SERVICE = "openai_api"
    MOCK_LLM = "mock_llm"


class EvalBackend:
    """Who evaluates, as `eval_backend` says it."""

    NATIVE = "Native"
    VLM_EVAL_KIT = "VLMEvalKit"


class JudgeStrategy:
    """Which rows a judge is asked about, as `judge_strategy` says it."""

    AUTO = "auto"
    RULE = "rule"
    LLM = "llm"
    LLM_RECALL = "llm_recall"


class TaskConfig(SimpleNamespace):
    """A task; its keys are attributes, with EvalScope's names and defaults (docs/kits/evalscope.md)."""

    def __init__(self, **keys: Any) -> None:
        """Take the keys.

        Raises:
            UsageError: A key is unknown, or asks for something that has no counterpart here.

        Example:
            >>> TaskConfig(model="qwen-vl-plus", limit=5).limit
            5
        """
        super().__init__(**{**DEFAULTS, **keys})
        self.check()

    def update(self, other: "TaskConfig | Mapping[str, Any]") -> None:
        """Take further keys over.

        Raises:
            UsageError: As for a new one.
        """
        vars(self).update(vars(other) if isinstance(other, TaskConfig) else other)
        self.check()

    def check(self) -> None:
        """Look at the keys again: attributes can be set to anything.

        Raises:
            UsageError: As for a new one.
        """
        check_keys(vars(self), KINDS, WITHOUT_EFFECT, ONLY, "TaskConfig")

    def to_dict(self) -> dict[str, Any]:
        """Give all keys but those that hold a secret."""
        keys = {name: value for name, value in vars(self).items() if name != "api_key"}
        for name in ("judge", "judge_model_args", "eval_config"):
            keys[name] = _without_keys(keys[name])
        return keys

    @classmethod
    def from_dict(cls, keys: Mapping[str, Any]) -> "TaskConfig":
        """Take the keys of a mapping.

        Raises:
            UsageError: As for a new one.
        """
        return cls(**{str(name): value for name, value in keys.items()})

    @classmethod
    def from_yaml(cls, path: str | Path) -> "TaskConfig":
        """Read a YAML or JSON file.

        Raises:
            UsageError: As for a new one, or there is no such file.
        """
        if not Path(path).is_file():
            raise build_missing_path_error(Path(path))
        return cls.from_dict(read_mapping_file(str(path)))

    from_json = from_yaml


def parse_task_config(task_cfg: object) -> TaskConfig:
    """Read a task in any of its forms.

    Args:
        task_cfg: A `TaskConfig`, a mapping of its keys, or a YAML or JSON file.

    Raises:
        UsageError: It is none of these, or a key is refused.
    """
    if isinstance(task_cfg, TaskConfig):
        return task_cfg
    if isinstance(task_cfg, Mapping):
        return TaskConfig.from_dict(task_cfg)
    if isinstance(task_cfg, str | Path) and Path(task_cfg).suffix in FILES:
        return TaskConfig.from_yaml(task_cfg)
    raise UsageError(f"task_cfg: expected a TaskConfig, a dict, or a {', '.join(FILES)} file {show(task_cfg)}.")


def is_task(given: Mapping[str, Any]) -> bool:
    """Tell a task of EvalScope from one of ours (docs/run.md).

    Example:
        >>> is_task({"eval_backend": "VLMEvalKit", "eval_config": {}}), is_task({"models": [], "datasets": []})
        (True, False)
    """
    names = set(given)
    if names & {"eval_type", "eval_backend", "eval_config", "dataset_args"}:
        return True
    return {"model", "datasets"} <= names <= {*DEFAULTS, *WITHOUT_EFFECT, *ONLY}


def check_keys(
    keys: Mapping[str, Any],
    known: Kinds,
    without_effect: Collection[str],
    only: Mapping[str, Collection[Any]],
    where: str,
) -> None:
    """Refuse what has no counterpart.

    Args:
        keys: Values by key.
        known: Keys that mean something here.
        without_effect: Keys that pass whatever their value.
        only: Keys that pass with one of these values.
        where: What has the keys, for messages.

    Raises:
        UsageError: A key is unknown, or its value is of another kind or has no counterpart.
    """
    for key, value in keys.items():
        if key in without_effect:
            continue
        if key in known:
            _check_kind(value, known[key], f"{where}.{key}")
        elif key not in only:
            hint = suggest_spelling(str(key), [*known, *without_effect, *only])
            raise UsageError(f"{where} has no key {key!r} here.{hint} Known: {', '.join(known) or 'none'}.")
        elif value not in only[key]:
            raise UsageError(f"{where}.{key}: has no counterpart here {show(value)}. Leave it out.")


def _check_kind(value: Any, kinds: tuple[type, ...], where: str) -> None:
    # True is a number to Python.
    right = isinstance(value, kinds) and (not isinstance(value, bool) or bool in kinds)
    if value is not None and kinds and not right:
        expected = " or ".join(_KIND_NAMES[kind] for kind in kinds if kind is not int or float not in kinds)
        raise UsageError(f"{where}: expected {expected} {show(value)}.")


def texts_in(value: Any, where: str) -> list[str]:
    """Read a list of texts, or one text.

    Raises:
        UsageError: It is something else.
    """
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list | tuple) or not all(isinstance(one, str) and one for one in values):
        raise UsageError(f"{where}: expected a list of names {show(value)}.")
    return [*values]


def mapping_in(value: Any, where: str) -> dict[str, Any]:
    """Read a value that holds names and values; None holds none.

    Raises:
        UsageError: It is something else.
    """
    if value is None or isinstance(value, Mapping):
        return dict(value or {})
    raise UsageError(f"{where}: expected names and values {show(value)}.")


def safe_name(model: str) -> str:
    """Name a model's folder: the last part of its path, everything unusual replaced.

    Parity: modelscope/evalscope 1.3.0 evalscope/utils/io_utils.py:safe_filename.

    Example:
        >>> safe_name("Qwen/Qwen2.5-VL 7B")
        'Qwen2.5-VL_7B'
    """
    text = unicodedata.normalize("NFKD", os.path.basename(model)).encode("ascii", "ignore").decode()
    return _SAFE.sub("_", text)


def key_variable(value: Any, variable: str, keys: dict[str, str]) -> str:
    """Say which environment variable holds a service's key.

    Args:
        value: The key as the task has it; `$NAME` names a variable itself, None takes `variable` if it is set.
        variable: Where the key is to stand.
        keys: Collects what the variables have to hold.

    Returns:
        The variable.

    Example:
        >>> keys = {}
        >>> key_variable("$MY_KEY", "KEY", keys), key_variable("sk-1", "KEY", keys), keys
        ('MY_KEY', 'KEY', {'KEY': 'sk-1'})
    """
    if named := _VARIABLE.fullmatch(str(value)):
        return named[1]
    if value or variable not in os.environ:
        # A service that wants no key gets the framework's word for none, never a key that was meant for another.
        keys[variable] = str(value or _EMPTY)
    return variable


def _without_keys(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _without_keys(v) for k, v in value.items() if k not in ("api_key", "key", "OPENAI_API_KEY")}
    return [_without_keys(one) for one in value] if isinstance(value, list) else value
