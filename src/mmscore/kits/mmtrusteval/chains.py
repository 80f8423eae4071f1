"""Chains of MMTrustEval's evaluators: each works on what the one before it made."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from mmconvert.core.errors import UsageError, show, suggest_spelling
from mmscore.kits.mmtrusteval.evaluators import ALONE, EVALUATORS, Evaluator, EvaluatorContext, Process, Read, Settings
from mmscore.kits.mmtrusteval.measures import COLUMN, check_settings, find_measure

METRICS_CFG = "metrics_cfg"


class Link(msgspec.Struct, frozen=True):
    """One evaluator of a chain.

    Attributes:
        key: Ids of the chain up to here, joined by `->`.
        evaluator: What it is.
        process: What it makes of a sample.
        read: What it reads in a text, by which rule; None where it only compares.
    """

    key: str
    evaluator: Evaluator
    process: Process
    read: Read | None = None

    @property
    def column(self) -> str:
        """Key of its outputs in the framework's log."""
        return f"{self.key}:{COLUMN}"

    def process_all(
        self, preds: Sequence[Any], labels: Sequence[Any] | None, extras: Sequence[Any] | None
    ) -> list[Any]:
        """Process every sample, in order.

        Raises:
            RowError: A sample is of another type than the evaluator takes, or a column is missing.
        """
        return [self.process(sample) for sample in self.evaluator.iterate_samples(preds, labels, extras)]


class Chain(msgspec.Struct, frozen=True):
    """Evaluators in order, and the metrics of the last.

    Attributes:
        links: The evaluators.
        metrics: Metric id -> its settings, of the last evaluator.
        config: The configuration that it was read from.
        labelled: A rule or a metric compares with references; whoever is asked may have answered already.
        asks: A chat model, a classifier or a service is among the evaluators.
    """

    links: tuple[Link, ...]
    metrics: Mapping[str, Settings]
    config: Mapping[str, Any]
    labelled: bool
    asks: bool

    @property
    def settings(self) -> list[tuple[str, Mapping[str, Any]]]:
        """What the evaluators' outputs depend on: their ids and settings, metrics left out."""
        known = self.config.items()
        return [(name, {k: v for k, v in own.items() if k != METRICS_CFG}) for name, own in known]

    @property
    def key(self) -> str:
        """Ids of all evaluators joined by `->`; empty for none."""
        return self.links[-1].key if self.links else ""


def read_chain(config: Any, setting: EvaluatorContext = ALONE) -> Chain:
    """Read one entry of `evaluator_seq_cfgs`.

    Args:
        config: Evaluator id -> its settings, `metrics_cfg` among them, in the order of the chain. The metrics
            of all but the last are checked and not computed.
        setting: What evaluators work with.

    Raises:
        UsageError: An evaluator, a metric or a setting is unknown or missing.

    Parity: thu-ml/MMTrustEval@a067801 mmte/evaluators/base.py:SequentialEvaluator.

    Example:
        >>> fuzzy = {"fuzzy_match": True, "metrics_cfg": {"pred_mean": {}}}
        >>> chain = read_chain({"rule_score_eval": {"metrics_cfg": {}}, "rule_contain_eval": fuzzy})
        >>> [link.key for link in chain.links]
        ['rule_score_eval', 'rule_score_eval->rule_contain_eval']
    """
    if not isinstance(config, Mapping):
        raise UsageError(f"evaluator_seq_cfgs: expected evaluators with their settings {show(config)}.")
    links: list[Link] = []
    metrics: Mapping[str, Settings] = {}
    for name, settings in config.items():
        if name not in EVALUATORS:
            hint = suggest_spelling(str(name), EVALUATORS)
            raise UsageError(f"evaluator_seq_cfgs: no evaluator {name!r}.{hint} Known: {', '.join(EVALUATORS)}.")
        evaluator = EVALUATORS[name]
        metrics = _check_settings(name, settings, evaluator)
        own = {key: value for key, value in settings.items() if key != METRICS_CFG}
        key = f"{links[-1].key}->{name}" if links else name
        read = evaluator.read(own, setting) if evaluator.read else None
        links.append(Link(key, evaluator, evaluator.build(own, setting), read))
    for name, settings in metrics.items():
        check_settings(name, settings, find_measure(name).settings)
    compares = any(link.evaluator.columns == "labels" and not link.evaluator.outside for link in links)
    labelled = compares or any(find_measure(name).labelled for name in metrics)
    return Chain(tuple(links), metrics, config, labelled, any(link.evaluator.outside for link in links))


def _check_settings(name: str, settings: Any, evaluator: Evaluator) -> Mapping[str, Settings]:
    check_settings(name, settings, evaluator.settings | {METRICS_CFG})
    missing = sorted((evaluator.required | {METRICS_CFG}) - settings.keys())
    if missing:
        raise UsageError(f"{name}: {missing[0]} is missing. Write {METRICS_CFG}: {{}} for no metrics.")
    metrics = settings[METRICS_CFG]
    if not isinstance(metrics, Mapping):
        raise UsageError(f"{name}: {METRICS_CFG}: expected metrics with their settings {show(metrics)}.")
    for metric in metrics:
        find_measure(metric)
    return metrics
