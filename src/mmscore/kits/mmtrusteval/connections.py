"""Who classifies for MMTrustEval's chains: folders of weights and services, as the options of a recipe name them."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from msgspec.structs import replace

from mmconvert.core.errors import UsageError, show, suggest_spelling
from mmconvert.core.extras import require_extra
from mmscore.kits.mmtrusteval.evaluators import Classify, EvaluatorContext, Settings, UnconnectedError
from mmscore.kits.mmtrusteval.local_classifiers import load_harmbench, load_longformer
from mmscore.kits.mmtrusteval.score_services import connect_moderation, connect_perspective

CLASSIFIERS = "classifiers"
"""Option of the recipes: evaluator id -> where its classifier or service is."""

PLACES: Mapping[str, Mapping[str, bool]] = {
    "classifer_reject_eval": {"folder": True, "device": False},
    "classifer_follow_instruction_eval": {"folder": True, "device": False},
    "harmbenchmodel_eval": {"folder": True, "prompt": True, "device": False},
    "openai_moderation_api_eval": {"url": True, "key_env": False, "model": False},
    "google_perspective_api_eval": {"url": True, "key_env": False},
}
"""Evaluator id -> what says where it is, and whether that must be there; see the functions of the same names."""

_OPENERS: Mapping[str, Callable[..., Classify]] = {
    "classifer_reject_eval": load_longformer,
    "classifer_follow_instruction_eval": load_longformer,
    "harmbenchmodel_eval": load_harmbench,
    "openai_moderation_api_eval": connect_moderation,
    "google_perspective_api_eval": connect_perspective,
}


def connect_classifiers(places: Any) -> Classify:
    """Connect classifiers and services; each is opened when the first row needs it.

    Args:
        places: The option `CLASSIFIERS`.

    Raises:
        UsageError: An evaluator or a setting is unknown, missing or no text.

    Example:
        >>> classify = connect_classifiers({"openai_moderation_api_eval": {"url": "https://example.org/v1/moderations"}})
    """
    if not isinstance(places, Mapping) or not places:
        raise UsageError(f"{CLASSIFIERS}: expected evaluators and where each is {show(places)}.")
    for evaluator, place in places.items():
        if evaluator not in PLACES:
            hint = suggest_spelling(str(evaluator), PLACES)
            raise UsageError(f"{CLASSIFIERS}: no evaluator {evaluator!r}.{hint} Known: {', '.join(PLACES)}.")
        known = PLACES[evaluator]
        if not isinstance(place, Mapping):
            raise UsageError(f"{CLASSIFIERS}, {evaluator}: expected {', '.join(known)} by name {show(place)}.")
        for name, value in place.items():
            if name not in known:
                hint = suggest_spelling(str(name), known)
                raise UsageError(f"{CLASSIFIERS}, {evaluator}: no setting {name!r}.{hint} Known: {', '.join(known)}.")
            if not isinstance(value, str):
                raise UsageError(f"{CLASSIFIERS}, {evaluator}, {name}: expected a text {show(value)}.")
        if missing := [name for name, needed in known.items() if needed and name not in place]:
            raise UsageError(f"{CLASSIFIERS}, {evaluator}: {missing[0]} is missing. Give its location.")
    return combine_classifiers({evaluator: _open_when_needed(evaluator, place) for evaluator, place in places.items()})


def add_classifiers(setting: EvaluatorContext, options: Mapping[str, Any]) -> EvaluatorContext:
    """Connect what the options of a recipe name; without such an option nothing changes.

    Raises:
        UsageError: As `connect_classifiers`.
    """
    return replace(setting, classify=connect_classifiers(options[CLASSIFIERS])) if CLASSIFIERS in options else setting


def _open_when_needed(evaluator: str, place: Mapping[str, str]) -> Classify:
    def classify(name: str, pred: Any, label: Any, settings: Settings) -> float:
        return _open_classifier(evaluator, frozenset(place.items()))(name, pred, label, settings)

    return classify


@cache
def _open_classifier(evaluator: str, place: frozenset[tuple[str, str]]) -> Classify:
    with require_extra("infer", evaluator):
        return _OPENERS[evaluator](**dict(place))


def combine_classifiers(functions: Mapping[str, Classify]) -> Classify:
    """Put classifiers for several evaluators together.

    Args:
        functions: Evaluator id -> who classifies for it.

    Example:
        >>> combine_classifiers({"harmbenchmodel_eval": lambda *_: 1.0})("harmbenchmodel_eval", "a", "b", {})
        1.0
    """

    def classify(evaluator: str, pred: Any, label: Any, settings: Settings) -> float:
        if evaluator not in functions:
            raise UnconnectedError(f"{evaluator} has no classifier. Connected: {', '.join(functions)}.")
        return functions[evaluator](evaluator, pred, label, settings)

    return classify
