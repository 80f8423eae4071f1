"""What MMTrustEval's recipes share: the chains of a row, what a log holds already, the numbers of rows.

Rules are run on the prediction. What a chat model, a classifier or a service said is taken from the log that the
row was read from, where its column stands; without it the row cannot be scored here.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from mmconvert.errors import Error, RowError, UsageError, got
from mmscore.class_labels import label_pair
from mmscore.kits.mmtrusteval.chains import Chain, Link, chain_of
from mmscore.kits.mmtrusteval.evaluators import ALONE, Sample, Setting, UnconnectedError, no_chat_model, no_classifier
from mmscore.kits.mmtrusteval.measures import COLUMN, MEASURES, measure
from mmscore.kits.mmtrusteval.releases import KIT, REFUSAL_PHRASES, VERSIONS
from mmscore.kits.mmtrusteval.task_log import SAMPLES, TOTAL
from mmscore.kits.mmtrusteval.task_scores import TASK_SCORES, task_scores
from mmscore.kits.mmtrusteval.tasks import TASKS, Config, Task, task_of
from mmscore.metrics.mmtrust_box_iou import mmtrust_box_iou
from mmscore.parsed import UNPARSED, Parsed
from mmscore.recipe import Facts, Item, Metrics, Recipe, Row, read_label
from mmscore.scored import Scored
from mmscore.stats import Estimate

ChainsOf = Callable[[str | None, str], Sequence[Chain]]
"""(dataset, version) -> the chains that score its rows."""

FORMAT = "mmtrust"
EXTRA = "extra"
LEAVE_OUT = "Leave --recipe out."
BOXES, MEAN, ACCURACY = "iou_judge", "pred_mean", "accuracy_score"


def built(configs: Sequence[Config], setting: Setting, version: str) -> tuple[Chain, ...]:
    """Build chains for rows.

    Args:
        configs: As in `evaluator_seq_cfgs`.
        setting: What evaluators work with.
        version: Of the recipe; one that is a release decides on the refusal phrases.

    Raises:
        UsageError: There is none, a chain is wrong, or a metric has weights for samples: rows have no fixed
            place here.
    """
    if version in REFUSAL_PHRASES:
        setting = replace(setting, release=version)
    chains = tuple(chain_of(config, setting) for config in configs)
    if not chains or not all(chain.links for chain in chains):
        raise UsageError("evaluator_seq_cfgs: a chain has no evaluator. Name one.")
    if any("sample_weight" in settings for chain in chains for settings in chain.metrics.values()):
        raise UsageError("metrics_cfg: sample_weight goes by the place of a sample, and rows have none. Leave it out.")
    return chains


def chain_recipe(
    configs: Sequence[Config],
    *,
    summary: str = "Chains of evaluators as MMTrustEval runs them",
    setting: Setting = ALONE,
    parity: str = KIT,
    versions: Mapping[str, str] = VERSIONS,
) -> Recipe:
    """Make a recipe of one's own chains, to stand as `RECIPE` in a file named by `--recipe file.py@RECIPE`.

    Args:
        configs: As in `evaluator_seq_cfgs`.
        summary: What it scores, in a line.
        setting: What evaluators work with; a version that is a release decides on the refusal phrases.
        parity: Whose numbers it gives.
        versions: Version -> what it follows.

    Raises:
        UsageError: A chain is wrong.

    Example:
        >>> recipe = chain_recipe([{"rule_yes_or_no_eval": {"metrics_cfg": {"pred_mean": {}}}}])
        >>> item = Item(prediction="Yes.")
        >>> recipe.metrics(item, recipe.parse(item, "2025.03"), "2025.03")
        {'rule_yes_or_no_eval:pred_no_op': 1.0}
    """
    chains = {version: built(configs, setting, version) for version in versions}
    every = [chain for version in chains.values() for chain in version]
    connected = setting.ask is not no_chat_model or setting.classify is not no_classifier
    labelled = any(chain.labelled for chain in every) or (
        connected and any(link.evaluator.columns in ("labels", "extras") for chain in every for link in chain.links)
    )
    return recipe_of(
        lambda dataset, version: chains[version], summary, labelled=labelled, parity=parity, versions=versions
    )


def recipe_of(
    chains_of: ChainsOf,
    summary: str,
    *,
    labelled: bool,
    parity: str = KIT,
    versions: Mapping[str, str] = VERSIONS,
    default_for: Callable[[Facts], str | None] = lambda facts: None,
    judge: str | None = None,
) -> Recipe:
    """Make a recipe whose chains follow from the dataset of a row.

    Args:
        chains_of: Gives the chains.
        summary: What it scores, in a line.
        labelled: The chains look at references.
        parity: Whose numbers it gives.
        versions: Version -> what it follows.
        default_for: When it offers itself.
        judge: Name of the judge that is asked about rows in which the log lacks a column.
    """
    label = ("label",) if labelled else ()

    def parse(item: Item, version: str) -> Parsed:
        try:
            return parsed_by(chains_of(item.dataset, version)[0], item)
        except UnconnectedError:
            if judge is None:
                raise
            return UNPARSED

    def metrics(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
        try:
            return outputs_of(chains_of(item.dataset, version), item)
        except UnconnectedError:
            if judge is None:
                raise
            return {}

    def reduce(scored: Scored, version: str) -> Metrics:
        return _numbers(scored, chains_of, version)

    return Recipe(
        summary=summary,
        parity=parity,
        versions=versions,
        columns=("dataset", EXTRA, *label),
        parse=parse,
        metrics=metrics,
        reduce=reduce,
        table=lambda scored, version: _published(scored, reduce(scored, version)),
        keep=("dataset", "prediction", EXTRA, *label),
        default_for=default_for,
        judges=(judge,) if judge else (),
        needs_judge=judge is not None,
    )


def task_chains(fits: Callable[[Task], bool], setting: Setting = ALONE) -> ChainsOf:
    """Give the chains of the kit's own tasks, by the name of the dataset.

    Args:
        fits: Tells the tasks that the recipe is for.
        setting: What evaluators work with.

    Returns:
        Function that raises UsageError for a dataset of no such task.
    """

    @cache
    def chains_of(dataset: str | None, version: str) -> Sequence[Chain]:
        task = task_of(dataset)
        if not fits(task):
            raise UsageError(f"dataset: {dataset} is of task {task.number}, which another recipe scores. {LEAVE_OUT}")
        return built(task.chains, setting, version)

    return chains_of


def offered(*, labelled: bool) -> Callable[[Facts], str | None]:
    """Offer a recipe for files that hold datasets of the kit's tasks, all with references or all without."""

    def default_for(facts: Facts) -> str | None:
        known = bool(facts.datasets) and all(n in TASKS and TASKS[n].labelled == labelled for n in facts.datasets)
        return f"a task of {KIT}" if known and facts.formats == {FORMAT} else None

    return default_for


def _fields(extra: str | None) -> Mapping[str, Any]:
    try:
        fields = json.loads(extra or "{}")
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise RowError("extra.json", EXTRA, f"expected a JSON object {got(extra)}. Write the column as one.")
    return fields


@dataclass(frozen=True, slots=True)
class _Row:
    """One row as a chain sees it.

    Attributes:
        sample: Prediction, reference, and the sample's extra.
        logged: Columns of the log that it was read from.
    """

    sample: Sample
    logged: Mapping[str, Any]

    def made_by(self, link: Link, pred: Any) -> Any:
        """Run one evaluator; rules always, others only where the log has no word of theirs."""
        if link.evaluator.outside and link.column in self.logged:
            return self.logged[link.column]
        return link.process(self.sample._replace(pred=pred))


def _row(item: Item, chain: Chain) -> _Row:
    logged = _fields(item.extra) if chain.asks else {}
    label = read_label(item) if chain.asks or chain.labelled else None
    if label is None and chain.labelled:
        raise RowError("label.missing", "label", f"the row has no reference {got(None)}. Give --answers.")
    return _Row(Sample(item.prediction, label, logged.get(EXTRA)), logged)


def parsed_by(chain: Chain, item: Item) -> Parsed:
    """Say what the last evaluator of a chain read; a place is one in the prediction only.

    Raises:
        RowError: The row is of another type than an evaluator takes.
        UnconnectedError: Somebody has to be asked.
    """
    row, pred = _row(item, chain), item.prediction
    *before, last = chain.links
    for link in before:
        pred = row.made_by(link, pred)
    if last.read is None:
        return Parsed(str(row.made_by(last, pred)), last.key)
    parsed = last.read(pred)
    return replace(parsed, span=None) if before else parsed


def outputs_of(chains: Sequence[Chain], item: Item) -> Mapping[str, float]:
    """Give every number that an evaluator makes, by its column in the kit's log, and whether a box is hit.

    Raises:
        RowError: The row is of another type than an evaluator takes, or lacks its reference.
        UnconnectedError: Somebody has to be asked.
    """
    outputs: dict[str, float] = {}
    for chain in chains:
        row, pred = _row(item, chain), item.prediction
        for link in chain.links:
            pred = row.made_by(link, pred)
            if isinstance(pred, int | float):
                outputs[link.column] = float(pred)
        if BOXES in chain.metrics:
            outputs[f"{chain.key}:{BOXES}"] = mmtrust_box_iou([row.sample.label], [pred]) / 100
    return outputs


def _numbers(scored: Scored, chains_of: ChainsOf, version: str) -> Metrics:
    """Compute the metrics of each chain over the rows that it scores."""
    datasets = np.array(scored.column("dataset"), dtype=object)
    found: dict[str, tuple[Chain, Any]] = {}
    for dataset in dict.fromkeys(datasets.tolist()):
        for chain in chains_of(dataset, version):
            known, mask = found.get(chain.key, (chain, np.zeros(len(scored), np.bool_)))
            if known.config != chain.config:
                raise Error(f"{chain.key}: has other settings in some datasets of the file. Score each on its own.")
            found[chain.key] = chain, mask | (datasets == dataset)
    metrics: dict[str, Estimate] = {}
    for chain, mask in found.values():
        metrics |= _estimates(chain, scored.where(mask))
    return metrics


def _estimates(chain: Chain, rows: Scored) -> Metrics:
    link = chain.links[-1]
    values = rows.scores.get(link.column, np.full(len(rows), math.nan))
    said, true = _plain(values), _labels(rows) if chain.labelled else None
    estimates: dict[str, Estimate] = {}
    for name, settings in chain.metrics.items():
        known = MEASURES[name]
        if name == COLUMN:
            continue
        if name == BOXES:
            estimate = rows.mean(f"{chain.key}:{BOXES}").scaled(100, "percent")
        elif name == MEAN and not np.isnan(values).any():
            estimate = rows.mean(link.column)
        elif name == ACCURACY and not settings:
            estimate = rows.with_scores(right=label_pair(true, said).right()).mean("right")
        else:
            value = measure(name, true, said, settings)
            if isinstance(value, np.ndarray):
                raise Error(f"{chain.key}:{name}: is one number a label. Choose an average.")
            estimate = Estimate(value, len(rows))
        unit = known.unit or link.evaluator.unit
        estimates[f"{chain.key}:{name}"] = replace(estimate, unit=unit, higher_is_better=known.higher_is_better)
    return estimates


def _labels(rows: Scored) -> list[Any]:
    texts = rows.column("label")
    values = {text: read_label(Item(label=text)) for text in dict.fromkeys(texts)}
    return [values[text] for text in texts]


def _plain(values: Any) -> list[float]:
    """Give whole numbers as such: as labels, 1 and 1.0 are two texts."""
    whole = bool(np.all(np.isfinite(values)) and np.all(values == np.trunc(values)))
    numbers: list[float] = (values.astype(np.int64) if whole else values).tolist()
    return numbers


def _published(scored: Scored, metrics: Metrics) -> Sequence[Row]:
    """Lay out what the kit's score script reads in the log of each dataset.

    Raises:
        Error: A script refuses the log.
    """
    rows: list[Row] = []
    for dataset, part in scored.split("dataset"):
        task = TASKS[dataset].number if dataset in TASKS else ""
        if task in TASK_SCORES:
            log = {TOTAL: {name: estimate.value for name, estimate in metrics.items()}, SAMPLES: _samples(part)}
            rows += [{"task": task, "log": name, **found} for name, found in task_scores(task, {dataset: log}).items()]
    return rows


def _samples(scored: Scored) -> list[dict[str, Any]]:
    said = zip(scored.column("prediction"), map(_fields, scored.column(EXTRA)), strict=True)
    samples = [{"pred": pred, EXTRA: fields.get(EXTRA)} for pred, fields in said]
    for name, values in scored.scores.items():
        for sample, value in zip(samples, _plain(values), strict=True):
            sample[name] = value
    return samples
