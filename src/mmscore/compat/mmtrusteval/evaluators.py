"""MMTrustEval's evaluators as classes: a user's own, the framework's fourteen, and chains of both."""

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import Any

from mmconvert.core.errors import RowError, UsageError, show
from mmscore.compat.mmtrusteval.classes import check_id, made_of
from mmscore.compat.mmtrusteval.registry import registry
from mmscore.kits.mmtrusteval.chains import METRICS_CFG, read_chain
from mmscore.kits.mmtrusteval.evaluators import EVALUATORS, Ask, EvaluatorContext, Settings, refuse_chat_model
from mmscore.kits.mmtrusteval.measures import COLUMN, MEASURES, compute_measure

Column = Sequence[Any] | None
Columns = tuple[Sequence[Any], Column, Column]
"""Predictions, references, extras."""

supported_metrics: dict[str, Callable[..., Any]] = {
    name: (lambda y_true, y_pred, _name=name, **kwargs: compute_measure(_name, y_true, y_pred, kwargs))
    for name in MEASURES
}
"""Metric id -> (references, predictions, settings) -> its value; a user's own may be put in."""


class BaseEvaluator:
    """Turns responses into values, and values into numbers.

    Attributes:
        evaluator_ids: Ids that the class serves.
        evaluator_id: The one of this object.
        metrics_cfg: Metric id -> its settings.

    Parity: thu-ml/MMTrustEval@a067801 mmte/evaluators/base.py:BaseEvaluator.
    """

    evaluator_ids: Sequence[str] = ()

    def __init__(self, evaluator_id: str, metrics_cfg: Mapping[str, Settings]) -> None:
        """Check ids.

        Raises:
            UsageError: The class does not serve the id, or a metric is unknown.
        """
        self.evaluator_id = check_id(evaluator_id, self.evaluator_ids, "evaluator")
        if not isinstance(metrics_cfg, Mapping):
            raise UsageError(f"{evaluator_id}: metrics_cfg: expected metrics with their settings {show(metrics_cfg)}.")
        for metric in metrics_cfg:
            check_id(metric, tuple(supported_metrics), "metric")
        self.metrics_cfg = metrics_cfg

    def process(self, preds: Sequence[Any], labels: Column = None, extras: Column = None, **kwargs: Any) -> Columns:
        """Process all samples; as it stands here, leave them as they are."""
        return preds, labels, extras

    def eval(self, preds: Sequence[Any], labels: Column = None, extras: Column = None, **kwargs: Any) -> dict[str, Any]:
        """Process all samples and compute the metrics of the configuration, in its order."""
        preds, labels, _ = self.process(preds, labels, extras)
        return {name: supported_metrics[name](labels, preds, **own) for name, own in self.metrics_cfg.items()}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call `eval`."""
        return self.eval(*args, **kwargs)


class KitEvaluator(BaseEvaluator):
    """One of the framework's own evaluators."""

    evaluator_ids = tuple(EVALUATORS)

    def __init__(
        self,
        evaluator_id: str,
        metrics_cfg: Mapping[str, Settings],
        *,
        setting: EvaluatorContext | None = None,
        **kwargs: Any,
    ) -> None:
        """Read the settings.

        Args:
            evaluator_id: The id.
            metrics_cfg: Metric id -> its settings.
            setting: Whom to ask; None asks registered chat models, and no classifier.
            kwargs: The evaluator's own settings.

        Raises:
            UsageError: A setting is unknown, missing or wrong.
        """
        super().__init__(evaluator_id, metrics_cfg)
        config = {evaluator_id: {**kwargs, METRICS_CFG: {}}}
        self._link = read_chain(config, setting or EvaluatorContext(ask=registered_chat())).links[0]

    def process(self, preds: Sequence[Any], labels: Column = None, extras: Column = None, **kwargs: Any) -> Columns:
        """Process every sample, in order; references and extras stay as they are.

        Raises:
            RowError: A sample is of another type than the evaluator takes, or a column is missing.
            Error: A chat model or a classifier is needed and not connected.
        """
        return self._link.process_all(preds, labels, extras), labels, extras


registry.register("evaluator", KitEvaluator, built_in=True)


class SequentialEvaluator:
    """Evaluators in a row: each works on what the one before it made, the last gives the numbers.

    Attributes:
        evaluator_seq: The evaluators.
        keyname_prefix_seq: Ids up to each of them, joined by `->`.

    Parity: thu-ml/MMTrustEval@a067801 mmte/evaluators/base.py:SequentialEvaluator.

    Example:
        >>> chain = SequentialEvaluator({"rule_yes_or_no_eval": {"metrics_cfg": {"accuracy_score": {}}}})
        >>> chain(["Yes.", "no"], [1, 1])
        {'rule_yes_or_no_eval:accuracy_score': 0.5}
    """

    def __init__(
        self, evaluator_seq_cfg: Mapping[str, Mapping[str, Any]], setting: EvaluatorContext | None = None
    ) -> None:
        """Make the evaluators.

        Args:
            evaluator_seq_cfg: Evaluator id -> its settings, `metrics_cfg` among them.
            setting: As `KitEvaluator`.

        Raises:
            UsageError: An id, a metric or a setting is unknown, missing or wrong.
        """
        if not isinstance(evaluator_seq_cfg, Mapping):
            raise UsageError(f"evaluator_seq_cfgs: expected evaluators with their settings {show(evaluator_seq_cfg)}.")
        self.evaluator_seq = [_made(name, own, setting) for name, own in evaluator_seq_cfg.items()]
        self.keyname_prefix_seq = self.create_sequence_list(list(evaluator_seq_cfg))

    @staticmethod
    def create_sequence_list(input_list: Sequence[str]) -> list[str]:
        """Join names up to each of them.

        Example:
            >>> SequentialEvaluator.create_sequence_list(["a", "b"])
            ['a', 'a->b']
        """
        return list(accumulate(input_list, lambda before, name: f"{before}->{name}"))

    def eval(self, preds: Sequence[Any], labels: Column = None, extras: Column = None, **kwargs: Any) -> dict[str, Any]:
        """Run the chain over all samples.

        Returns:
            `a:pred_no_op` -> what each evaluator but the last made; then `a->b:metric` -> its value.

        Raises:
            RowError: A value is of a type that an evaluator or a metric does not take.
            Error: Somebody has to be asked and is not connected.
        """
        found: dict[str, Any] = {}
        for prefix, evaluator in zip(self.keyname_prefix_seq[:-1], self.evaluator_seq[:-1], strict=True):
            with _named(prefix):
                preds, labels, extras = evaluator.process(preds, labels, extras)
            found[f"{prefix}:{COLUMN}"] = preds
        for prefix, evaluator in zip(self.keyname_prefix_seq[-1:], self.evaluator_seq[-1:], strict=True):
            with _named(prefix):
                found |= {f"{prefix}:{name}": value for name, value in evaluator(preds, labels, extras).items()}
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Call `eval`."""
        return self.eval(*args, **kwargs)


@contextlib.contextmanager
def _named(prefix: str) -> Iterator[None]:
    """Name the evaluator whose input is refused."""
    try:
        yield
    except RowError as error:
        raise RowError(error.code, error.field, f"{prefix}, {error.field}: {error.message}") from None


def _made(name: str, settings: Any, setting: EvaluatorContext | None) -> Any:
    made = registry.get_evaluator_class(name)
    if not isinstance(settings, Mapping) or METRICS_CFG not in settings:
        raise UsageError(
            f"{name}: {METRICS_CFG} is missing {show(settings)}. Write {METRICS_CFG}: {{}} for no metrics."
        )
    whom = {"setting": setting} if issubclass(made, KitEvaluator) else {}
    return made_of(made, name, name, {**settings, **whom})


def registered_chat() -> Ask:
    """Give who asks registered chat models; each is opened once, and asked the same question once.

    Returns:
        Function that raises UnconnectedError for an id without a class.
    """

    @cache
    def opened(model_id: str) -> Any:
        model = registry.found("chatmodel", model_id)
        return None if model is None else model(model_id)

    @cache
    def response(model_id: str, prompt: str, generation: str) -> str:
        turns = [{"role": "user", "content": prompt}]
        said = opened(model_id).chat(turns, **json.loads(generation))
        return str(getattr(said, "content", said))

    def ask(model_id: str, prompt: str, generation: Settings) -> str:
        if opened(model_id) is None:
            return refuse_chat_model(model_id, prompt, generation)
        return response(model_id, prompt, json.dumps(generation))

    return ask
