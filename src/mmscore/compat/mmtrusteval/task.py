"""MMTrustEval's task files and `--cfg-options`."""

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from mmconvert.core.errors import UsageError, build_missing_path_error, show, suggest_spelling
from mmconvert.core.text.yaml import read_mapping_file
from mmscore.kits.mmtrusteval.connections import CLASSIFIERS

DEFAULTS: Mapping[str, Any] = {"max_new_tokens": 50, "do_sample": False}
"""Settings of a generation that the framework's runner adds where a task has none."""

_BRACKETS = {"[": "]", "(": ")"}
_WORDS = {"true": True, "false": False}


class Task(msgspec.Struct, frozen=True):
    """What the framework's runner reads in a task file.

    Attributes:
        model_id: Id of a registered chat model, or name of a model that `mmscore predict` knows.
        dataset_id: Id of a registered dataset, or name of the one that `--input` gives.
        log_file: JSON file of the results.
        method_cfg: One method id -> its settings; {} for none.
        dataset_cfg: Settings of the dataset's class.
        generation_kwargs: Settings of the model's responses.
        evaluator_seq_cfgs: Chains: evaluator id -> its settings.
        classifiers: Evaluator id -> where its classifier or service is; a key of ours.
    """

    model_id: str
    dataset_id: str
    log_file: str
    method_cfg: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict)
    dataset_cfg: Mapping[str, Any] = msgspec.field(default_factory=dict)
    generation_kwargs: Mapping[str, Any] = msgspec.field(default_factory=dict)
    evaluator_seq_cfgs: Sequence[Mapping[str, Any]] = ()
    classifiers: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        """Refuse values of other types, and several methods.

        Raises:
            UsageError: See above.
        """
        for name in ("model_id", "dataset_id", "log_file"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise UsageError(f"{name}: expected a text {show(getattr(self, name))}.")
        for name in ("method_cfg", "dataset_cfg", "generation_kwargs"):
            if not isinstance(getattr(self, name), Mapping):
                raise UsageError(f"{name}: expected names and values {show(getattr(self, name))}.")
        if len(self.method_cfg) > 1:
            raise UsageError(f"method_cfg: one method a task {show(list(self.method_cfg))}. Run a task for each.")
        chains = self.evaluator_seq_cfgs
        if not isinstance(chains, list | tuple) or not chains:
            raise UsageError(f"evaluator_seq_cfgs: expected a list of chains {show(chains)}.")

    def recipe_options(self) -> dict[str, Any]:
        """Give what the task asks of the scorer."""
        connected = {} if self.classifiers is None else {CLASSIFIERS: self.classifiers}
        return {"evaluator_seq_cfgs": list(self.evaluator_seq_cfgs), **connected}


def read_task(path: str | Path, options: Sequence[str] = ()) -> Task:
    """Read a task file.

    Args:
        path: YAML or JSON.
        options: `KEY=VALUE` each, as behind `--cfg-options`.

    Raises:
        UsageError: The file is missing or no such file, or a key is unknown, missing or of a wrong type.

    Parity: thu-ml/MMTrustEval@a067801 run_task.py, but that a dotted key leaves its siblings alone.
    """
    if not Path(path).is_file():
        raise build_missing_path_error(Path(path))
    values = merged(read_mapping_file(str(path)), options)
    try:
        return task_of(values)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def task_of(values: Mapping[str, Any]) -> Task:
    """Read what a task file holds; an empty key counts as missing.

    Raises:
        UsageError: A key is unknown, missing or of a wrong type.
    """
    known = list(Task.__struct_fields__)
    for name in values:
        if name not in known:
            raise UsageError(f"a task has no {name!r}.{suggest_spelling(str(name), known)} Known: {', '.join(known)}.")
    given = {name: value for name, value in values.items() if value is not None}
    if missing := [name for name in known[:3] if name not in given]:
        raise UsageError(f"{missing[0]} is missing. Write it, or give --cfg-options {missing[0]}=...")
    settings = given.get("generation_kwargs", {})
    return Task(
        **given | {"generation_kwargs": {**DEFAULTS, **settings} if isinstance(settings, Mapping) else settings}
    )


def merged(values: Mapping[str, Any], options: Sequence[str]) -> dict[str, Any]:
    """Put `--cfg-options` into a task.

    Args:
        values: What stands in the file.
        options: `KEY=VALUE` each; a dot leads into a mapping, whose other keys stay.

    Raises:
        UsageError: An option has no `=`, leads into what is no mapping, or its brackets do not fit.

    Example:
        >>> merged({"dataset_cfg": {"x": 1, "y": 2}}, ["dataset_cfg.y=3", "model_id=gpt-4o"])
        {'dataset_cfg': {'x': 1, 'y': 3}, 'model_id': 'gpt-4o'}
    """
    made = copy.deepcopy(dict(values))
    for option in options:
        key, equals, text = option.partition("=")
        if not equals or not key:
            raise UsageError(f"--cfg-options: expected KEY=VALUE {show(option)}.")
        *outer, last = key.split(".")
        place = made
        for name in outer:
            inner = {} if place.get(name) is None else place[name]
            if not isinstance(inner, dict):
                raise UsageError(f"--cfg-options {key}: {name} is not a mapping {show(inner)}. Give it as a whole.")
            place[name] = inner
            place = inner
        place[last] = option_value(text)
    return made


def option_value(text: str) -> Any:
    """Read a value of `--cfg-options`: a number, a truth value, None, a list, a tuple, or a text.

    Args:
        text: As on the command line; `a,b` and `[a,b]` are lists, `(a,b)` is a tuple, and they may be nested.

    Raises:
        UsageError: Brackets do not fit.

    Parity: thu-ml/MMTrustEval@a067801 mmte/utils/utils.py:DictAction, but that blanks inside a text stay.

    Example:
        >>> option_value("1"), option_value("False"), option_value("[(1, 2.5), [a b], None]")
        (1, False, [(1, 2.5), ['a b'], None])
    """
    text = text.strip().strip("'\"").strip()
    pieces = _items(text)
    if len(pieces) > 1:
        return _values(pieces)
    if text[:1] in _BRACKETS and text.endswith(_BRACKETS[text[0]]):
        values = _values(_items(text[1:-1]))
        return tuple(values) if text[0] == "(" else values
    return _single(text)


def _values(pieces: Sequence[str]) -> list[Any]:
    # As behind the last item of a Python list, a comma may stand at the end.
    return [option_value(piece) for piece in (pieces if pieces[-1] else pieces[:-1])]


def _items(text: str) -> list[str]:
    """Cut a text at the commas that stand in no brackets."""
    items, depth = [""], 0
    for character in text:
        depth += (character in "[(") - (character in "])")
        if depth < 0:
            break
        if character == "," and depth == 0:
            items.append("")
        else:
            items[-1] += character
    if depth != 0:
        raise UsageError(f"--cfg-options: brackets do not fit {show(text)}.")
    return items


def _single(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None if text == "None" else _WORDS.get(text.lower(), text)
