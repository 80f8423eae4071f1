"""MMTrustEval's evaluators: each turns the prediction of a sample into another value, mostly a number.

Rules are computed here. What a chat model, a classifier or a service says comes from a `EvaluatorContext`: a
function to ask with, or what an earlier run of the framework logged.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from mmconvert.core.errors import Error, RowError, UsageError, show
from mmscore.core.parsed import Parsed
from mmscore.kits.mmtrusteval.containment import contains_label, names_glue_answer, names_sentiment
from mmscore.kits.mmtrusteval.judge_prompts import build_eval_prompt, build_noise_prompt, build_score_prompt
from mmscore.parsers.mmtrust_agreement import DEGREES, PHRASES, mmtrust_agreement
from mmscore.parsers.mmtrust_points import POINTS, mmtrust_points
from mmscore.parsers.mmtrust_refusal import LATEST, REFUSAL_PHRASES, REFUSED, mmtrust_refusal
from mmscore.parsers.mmtrust_yes_no import YES, YES_PHRASES, mmtrust_yes_no

Settings = Mapping[str, Any]
Ask = Callable[[str, str, Settings], str]
"""(model id, prompt, generation settings) -> response."""

Classify = Callable[[str, Any, Any, Settings], float]
"""(evaluator id, prediction, label, the evaluator's settings) -> its value."""


class EvaluatorSample(NamedTuple):
    """What an evaluator sees."""

    pred: Any
    label: Any = None
    extra: Any = None


Process = Callable[[EvaluatorSample], Any]
Read = Callable[[Any], Parsed]


class UnconnectedError(Error):
    """Somebody has to be asked, and nobody is there to ask."""


def refuse_chat_model(model: str, prompt: str, generation: Settings) -> str:
    """Refuse to ask a chat model.

    Raises:
        UnconnectedError: Always.
    """
    raise UnconnectedError(
        f"the chain asks the chat model {model!r}, and none is connected here. Score a log in which the evaluator's "
        "column stands, or a dataset of the framework with --recipe mmtrust_judged --judge mmtrust."
    )


def refuse_classifier(evaluator: str, pred: Any, label: Any, settings: Settings) -> float:
    """Refuse to classify.

    Raises:
        UnconnectedError: Always.
    """
    raise UnconnectedError(
        f"{evaluator} needs a model or an API server that is not connected here. "
        "Score a log that has its column, or say where it is with --recipe-options (docs/recipes.md)."
    )


class EvaluatorContext(msgspec.Struct, frozen=True):
    """What evaluators work with.

    Attributes:
        release: Which refusal phrases count where none are given.
        ask: Asks a chat model.
        classify: Asks a classifier or a service.
        fixed: Repair what the framework does against its own documentation: a text is one label, points are
            compared as numbers.
        shown: How the response stands in a prompt.
    """

    release: str = LATEST
    ask: Ask = refuse_chat_model
    classify: Classify = refuse_classifier
    fixed: bool = False
    shown: Callable[[str], str] = str


ALONE = EvaluatorContext()
"""The latest release, nothing connected."""


class Evaluator(msgspec.Struct, frozen=True):
    """One evaluator.

    Attributes:
        build: (settings, setting) -> what it makes of a sample.
        columns: What is walked side by side: predictions alone; until the shorter ends; or as many of each.
        settings: Names of its settings beside `metrics_cfg`.
        required: Those that have no default.
        outside: It needs a chat model, a classifier or a service.
        read: (settings, setting) -> what it reads in a text, by which rule; None where it only compares.
        unit: Unit of its values.
    """

    build: Callable[[Settings, EvaluatorContext], Process]
    columns: Literal["preds", "labels", "as many labels", "extras"] = "preds"
    settings: frozenset[str] = frozenset()
    required: frozenset[str] = msgspec.field(default=frozenset())
    outside: bool = False
    read: Callable[[Settings, EvaluatorContext], Read] | None = None
    unit: str = "fraction"

    def iterate_samples(
        self, preds: Sequence[Any], labels: Sequence[Any] | None, extras: Sequence[Any] | None
    ) -> Iterator[EvaluatorSample]:
        """Walk the columns.

        Raises:
            RowError: A column is missing or too short.
        """
        if self.columns == "preds":
            return (EvaluatorSample(pred) for pred in preds)
        if labels is None or (self.columns == "extras" and extras is None):
            raise RowError("label.missing", "label", "the evaluator needs references, and the samples have none.")
        if self.columns == "as many labels" and len(preds) != len(labels):
            raise RowError("label.count", "label", f"{len(labels)} references for {len(preds)} predictions.")
        if self.columns == "extras":
            return map(EvaluatorSample, preds, labels, extras or ())
        return map(EvaluatorSample, preds, labels)


def _read_text(value: Any) -> str:
    if not isinstance(value, str):
        raise RowError("pred.type", "pred", f"expected a text {show(value)}. The evaluator before gives another type.")
    return value


def _read_texts(settings: Settings, name: str, default: Iterable[str]) -> tuple[str, ...]:
    given = _read_setting(settings, name, default)
    values = tuple(given) if isinstance(given, Iterable) else (given,)
    for value in values:
        if not isinstance(value, str):
            raise UsageError(f"{name}: expected a list of texts {show(given)}.")
    return values


def _read_setting(settings: Settings, name: str, default: Any) -> Any:
    """Give a setting; None, as the framework has it, stands for its default."""
    value = settings.get(name)
    return default if value is None else value


def _build_contain(settings: Settings, setting: EvaluatorContext) -> Process:
    loose = bool(settings.get("fuzzy_match", False))
    return lambda s: int(contains_label(s.pred, s.label, loose=loose, whole_text=setting.fixed))


def _read_refusal(settings: Settings, setting: EvaluatorContext) -> Read:
    phrases = _read_texts(settings, "reject_templates", REFUSAL_PHRASES[setting.release])
    return lambda pred: mmtrust_refusal(_read_text(pred), phrases)


def _reject(settings: Settings, setting: EvaluatorContext) -> Process:
    read = _read_refusal(settings, setting)
    return lambda s: int(read(s.pred).value == REFUSED)


def _read_yes_or_no(settings: Settings, setting: EvaluatorContext) -> Read:
    phrases = _read_texts(settings, "yes_template", YES_PHRASES)

    def read(pred: Any) -> Parsed:
        return mmtrust_yes_no(_read_text(pred[0] if isinstance(pred, list) and len(pred) == 1 else pred), phrases)

    return read


def _build_yes_or_no(settings: Settings, setting: EvaluatorContext) -> Process:
    read = _read_yes_or_no(settings, setting)
    return lambda s: int(read(s.pred).value == YES)


def _read_agreement(settings: Settings, setting: EvaluatorContext) -> Read:
    phrases, degrees = _read_setting(settings, "kv_mapping", PHRASES), _read_setting(settings, "values", DEGREES)
    if not isinstance(phrases, Mapping) or not isinstance(degrees, Sequence):
        raise UsageError(f"kv_mapping and values: expected phrases with their degree, and a list {show(phrases)}.")

    def read(pred: Any) -> Parsed:
        text = _read_text(pred)
        if not phrases:
            raise UsageError("kv_mapping: is empty. Leave it out for the framework's own phrases.")
        return mmtrust_agreement(text, phrases, degrees)

    return read


def _match_and_score(settings: Settings, setting: EvaluatorContext) -> Process:
    return _build_valued(_read_agreement(settings, setting), settings.get("fail_id", math.nan))


def _read_points(settings: Settings, setting: EvaluatorContext) -> Read:
    points = _read_setting(settings, "values", POINTS)
    if not isinstance(points, Sequence):
        raise UsageError(f"values: expected a list of texts {show(points)}.")
    counted = _Equal([_read_number(value, "values") for value in points]) if setting.fixed else points
    return lambda pred: mmtrust_points(_read_text(pred), counted)


def _build_score(settings: Settings, setting: EvaluatorContext) -> Process:
    return _build_valued(_read_points(settings, setting), settings.get("fail_id", 0))


def _build_valued(read: Read, fail: Any) -> Process:
    """Give the number that was read; what stands for a failure is looked at where one occurs."""

    def process(sample: EvaluatorSample) -> float:
        value = read(sample.pred).value
        return _read_number(fail, "fail_id") if value is None else _read_number(value, "values")

    return process


class _Equal:
    """Numbers that a text of a number can be among."""

    def __init__(self, numbers: Sequence[float]) -> None:
        self._numbers = numbers

    def __contains__(self, text: object) -> bool:
        return float(str(text)) in self._numbers


def _read_number(value: Any, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise UsageError(f"{name}: expected a number {show(value)}.") from None


def _build_chat_eval(settings: Settings, setting: EvaluatorContext) -> Process:
    model, template, generation = _read_chat_settings(settings)
    return lambda s: setting.ask(model, build_eval_prompt(template, *s, setting.shown), generation)


def _build_chat_score(settings: Settings, setting: EvaluatorContext) -> Process:
    model, template, generation = _read_chat_settings(settings)
    full, noise = settings.get("full_score", "100"), bool(settings.get("test_noise", False))

    def process(sample: EvaluatorSample) -> Any:
        prompt = build_score_prompt(template, sample.pred, sample.label, setting.shown)
        if prompt is None:
            return full
        response = setting.ask(model, prompt, generation)
        if (
            noise
            and "yes" in setting.ask(model, build_noise_prompt(setting.shown(str(sample.pred))), generation).lower()
        ):
            return full
        return response

    return process


def _read_chat_settings(settings: Settings) -> tuple[str, str, Settings]:
    return settings["model_id"], settings["prompt_template"], settings["generation_kwargs"]


def _build_external(evaluator: str) -> Callable[[Settings, EvaluatorContext], Process]:
    def build(settings: Settings, setting: EvaluatorContext) -> Process:
        return lambda s: setting.classify(evaluator, s.pred, s.label, settings)

    return build


def _build_classifier(name: str, *settings: str, labelled: bool = False) -> Evaluator:
    return Evaluator(_build_external(name), "labels" if labelled else "preds", frozenset(settings), outside=True)


_CHAT = frozenset(("model_id", "prompt_template", "generation_kwargs", "device"))
_CHAT_REQUIRED = _CHAT - {"device"}
_SERVICE = ("device", "api_key")
"""Settings of the services; a key in a task file, as older ones have it, is never used."""

EVALUATORS: Mapping[str, Evaluator] = {
    "rule_contain_eval": Evaluator(_build_contain, "labels", frozenset(("fuzzy_match",))),
    "rule_reject_template_eval": Evaluator(_reject, settings=frozenset(("reject_templates",)), read=_read_refusal),
    "rule_match_and_score_eval": Evaluator(
        _match_and_score,
        "as many labels",
        frozenset(("fail_id", "kv_mapping", "values")),
        read=_read_agreement,
        unit="points",
    ),
    "rule_yes_or_no_eval": Evaluator(_build_yes_or_no, settings=frozenset(("yes_template",)), read=_read_yes_or_no),
    "rule_score_eval": Evaluator(
        _build_score, "as many labels", frozenset(("fail_id", "values")), read=_read_points, unit="points"
    ),
    "rule_contain_exact_eval": Evaluator(lambda *_: lambda s: int(names_sentiment(s.pred, s.label)), "labels"),
    "rule_contain_adv_eval": Evaluator(lambda *_: lambda s: int(names_glue_answer(s.pred, s.label)), "labels"),
    "chatmodel_eval": Evaluator(_build_chat_eval, "extras", _CHAT, _CHAT_REQUIRED, outside=True),
    "chatmodel_score": Evaluator(
        _build_chat_score, "labels", _CHAT | {"full_score", "test_noise"}, _CHAT_REQUIRED, outside=True
    ),
    "classifer_reject_eval": _build_classifier("classifer_reject_eval", "label_fields", "device"),
    "classifer_follow_instruction_eval": _build_classifier(
        "classifer_follow_instruction_eval", "label_fields", "device"
    ),
    "harmbenchmodel_eval": _build_classifier("harmbenchmodel_eval", "device", labelled=True),
    "google_perspective_api_eval": _build_classifier("google_perspective_api_eval", *_SERVICE),
    "openai_moderation_api_eval": _build_classifier("openai_moderation_api_eval", *_SERVICE),
}
"""Evaluator id -> evaluator; `classifer` is the framework's own spelling."""


Setting = EvaluatorContext  # the name that plug-ins know from before the first release
